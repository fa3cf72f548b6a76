// Proof of work: the smallest nonce.
#include "keccak.cuh"

constexpr int THREADS = 128;

// best = min(best, the smallest nonce in [start, stop) with no bit of `mask` in the last word of
// Keccak-256(seed || nonce)). Threads take nonces in rising order and stop at the best one known.
extern "C" __global__ void __launch_bounds__(THREADS, 5) grind(
    u64 seed_0, u64 seed_1, u64 seed_2, u64 seed_3, u64 mask, u64 start, u64 stop, u64* best) {
    u64 step = (u64)gridDim.x * THREADS;
    for (u64 nonce = start + (u64)blockIdx.x * THREADS + threadIdx.x; nonce < stop; nonce += step) {
        if (nonce >= *(volatile u64*)best) return;
        u64 state[25];
        keccak::clear(state);
        state[0] = seed_0;
        state[1] = seed_1;
        state[2] = seed_2;
        state[3] = seed_3;
        state[4] = nonce;
        keccak::finish(state, keccak::DIGEST + 1);
        if (!(state[keccak::DIGEST - 1] & mask)) {
            atomicMin(best, nonce);
            return;
        }
    }
}
