// Batch inversion by Montgomery's trick (Mathematics of Computation 48, 1987): each thread multiplies up its words, the
// block multiplies up its threads, and one inversion serves the block.
#include "inverse.cuh"

constexpr int THREADS = 256, WORDS = 16;  // of a thread

// target[i] = word for i < count.
extern "C" __global__ void __launch_bounds__(THREADS) fill(u64* target, u64 count, u64 word) {
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) target[i] = word;
}

// target[i] = 1 / source[i] for i < count; possibly the same array.
extern "C" __global__ void __launch_bounds__(THREADS) inverse(
    const u64* source, u64* target, u64 count, u64* first_zero) {
    u64 first = (u64)blockIdx.x * (THREADS * WORDS) + threadIdx.x;
    u64 x[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        u64 i = first + k * THREADS;
        x[k] = i < count ? source[i] : 1;
        if (x[k] == 0) report_zero(first_zero, i);
    }
    block::invert(x);
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        u64 i = first + k * THREADS;
        if (i < count) target[i] = x[k];
    }
}
