// Digests in registers and in memory.
#pragma once
#include "field.cuh"

constexpr int DIGEST = 4;  // words

struct Digest {
    u64 word[DIGEST];
};

__device__ __forceinline__ Digest load_digest(const u64* source) {
    const ulonglong2* pairs = reinterpret_cast<const ulonglong2*>(source);
    ulonglong2 low = pairs[0], high = pairs[1];
    return {low.x, low.y, high.x, high.y};
}

__device__ __forceinline__ void store_digest(const Digest& digest, u64* target) {
    ulonglong2* pairs = reinterpret_cast<ulonglong2*>(target);
    pairs[0] = make_ulonglong2(digest.word[0], digest.word[1]);
    pairs[1] = make_ulonglong2(digest.word[2], digest.word[3]);
}
