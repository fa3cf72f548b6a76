// Proof of work: the smallest nonce.
#include "hash.cuh"

constexpr int THREADS = 128;

// found[0] = min(found[0], the smallest nonce in [start, stop) with no bit of `mask` in the last word of
// H(seed || nonce)). Warps take `count` times 32 nonces in rising order, found[1] of which are taken, so that none works
// far beyond the one that is found.
extern "C" __global__ void __launch_bounds__(THREADS, hash::RESIDENT) grind(
    u64 seed_0, u64 seed_1, u64 seed_2, u64 seed_3, u64 mask, u64 start, u64 stop, u64 count, u64* found) {
    u32 lane = threadIdx.x % 32;
    Digest seed = {seed_0, seed_1, seed_2, seed_3};
    while (true) {
        u64 first;
        if (!lane) {
            u64 smallest = *(volatile u64*)found;
            first = start + atomicAdd(found + 1, 32 * count);
            if (first >= smallest) first = stop;
        }
        first = __shfl_sync(0xffffffff, first, 0);
        if (first >= stop) return;
#pragma unroll 1
        for (u64 nonce = first + lane; nonce < first + 32 * count; nonce += 32)
            if (!(hash::hash_nonce(seed, nonce) & mask) && nonce < stop) atomicMin(found, nonce);
    }
}
