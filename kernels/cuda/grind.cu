// Proof of work: the smallest nonce.
#include "keccak.cuh"

constexpr int THREADS = 128;

// found[0] = min(found[0], the smallest nonce in [start, stop) with no bit of `mask` in the last word of
// Keccak-256(seed || nonce)). Warps take nonces in rising order, found[1] of which are taken, so that none works far
// beyond the one that is found.
extern "C" __global__ void __launch_bounds__(THREADS, 5) grind(
    u64 seed_0, u64 seed_1, u64 seed_2, u64 seed_3, u64 mask, u64 start, u64 stop, u64* found) {
    u32 lane = threadIdx.x % 32;
    while (true) {
        u64 first = lane ? 0 : atomicAdd(found + 1, 32);
        u64 nonce = start + __shfl_sync(0xffffffff, first, 0) + lane;
        if (nonce - lane >= stop || nonce - lane >= *(volatile u64*)found) return;
        u64 state[25];
        keccak::clear(state);
        state[0] = seed_0;
        state[1] = seed_1;
        state[2] = seed_2;
        state[3] = seed_3;
        state[4] = nonce;
        keccak::finish(state, keccak::DIGEST + 1);
        if (nonce < stop && !(state[keccak::DIGEST - 1] & mask)) atomicMin(found, nonce);
    }
}
