// The calls that hash the segments of opened rows, and the digests of segments. Kinds and uses are defines.
//
// A chunk is a chain of at most 16 calls, so a thread has a chunk. The parents of a row follow when all chunks have their
// digests: the last segment of the row is the whole one, and its thread has all of them.
#include "blake3.cuh"

constexpr int UNROLLED = 2;  // later rounds in the code

// Arrays that both kernels write; as parameters of a kernel they are four pointers.
struct Calls {
    u32 *values, *blocks, *parameters, *uses;
};

// Writes a call, and replaces the chaining value by the one after it.
__device__ __forceinline__ void put_call(
    const Calls& calls, u64 call, u32 (&chain)[8], const u32 (&block)[16], u32 counter, u32 bytes, u32 flags, u32 use) {
    u32* parameters = calls.parameters + 4 * call;
#pragma unroll
    for (int i = 0; i < 8; i++) calls.values[8 * call + i] = chain[i];
#pragma unroll
    for (int i = 0; i < 16; i++) calls.blocks[16 * call + i] = block[i];
    parameters[0] = counter;
    parameters[1] = 0;
    parameters[2] = bytes;
    parameters[3] = flags;
    calls.uses[call] = use;
    blake3::compress<UNROLLED>(chain, block, counter, bytes, flags);
}

// Thread by segment, of which chunks have something to do.
extern "C" __global__ void __launch_bounds__(32) hash_chunks(
    const u32* firsts, const u32* numbers, u64 segments, const u64* words, u64 blocks, Calls calls, u32* digests) {
    u64 segment = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (segment >= segments) return;
    const u32* of = numbers + NUMBERS * segment;
    u32 kind = of[0], counter = of[1], absent = of[3];
    if (kind & KIND_PARENT) return;
    u64 first = firsts[segment], end = segment + 1 == segments ? blocks : firsts[segment + 1];
    u32 chain[8], flags = blake3::START;
    blake3::start(chain);
#pragma unroll 1
    for (u64 call = first; call < end; call++, flags = 0) {
        u32 block[16], bytes = 8 * blake3::BLOCK, use = USE_PART | USE_CHAIN;
#pragma unroll
        for (int i = 0; i < blake3::BLOCK; i++) blake3::split(words[blake3::BLOCK * call + i], block, i);
        if (call + 1 == end) {
            bytes -= 8 * absent;
            flags |= kind & KIND_WHOLE ? blake3::END | blake3::ROOT : blake3::END;
            use = USE_PART;
        }
        put_call(calls, call, chain, block, counter, bytes, flags, use);
    }
#pragma unroll
    for (int i = 0; i < 8; i++) digests[8 * segment + i] = chain[i];
}

// Thread by segment, of which the last one of a row with parents has all of these. A chunk is before the first one.
extern "C" __global__ void __launch_bounds__(32) hash_parents(
    const u32* firsts, const u32* numbers, u64 segments, const u32* children, Calls calls, u32* digests) {
    u64 whole = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (whole >= segments) return;
    u32 kind = numbers[NUMBERS * whole];
    if (!(kind & KIND_PARENT) || !(kind & KIND_WHOLE)) return;
    u64 first = whole;
    while (numbers[NUMBERS * (first - 1)] & KIND_PARENT) first--;
#pragma unroll 1
    for (u64 segment = first; segment <= whole; segment++) {
        u32 chain[8], block[16];
        u64 left = children[2 * segment], right = children[2 * segment + 1];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            block[i] = digests[8 * left + i];
            block[8 + i] = digests[8 * right + i];
        }
        u32 flags = segment == whole ? blake3::PARENT | blake3::ROOT : blake3::PARENT;
        blake3::start(chain);
        put_call(calls, firsts[segment], chain, block, 0, 8 * blake3::BLOCK, flags, USE_PART);
#pragma unroll
        for (int i = 0; i < 8; i++) digests[8 * segment + i] = chain[i];
    }
}
