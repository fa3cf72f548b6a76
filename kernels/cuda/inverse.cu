// Batch inversion by Montgomery's trick (Mathematics of Computation 48, 1987): each thread multiplies up its words, the
// block multiplies up its threads, and one inversion serves the block.
#include "inverse.cuh"

constexpr int THREADS = 256, WORDS = 16, ELEMENTS = 8;  // words and extension elements of a thread

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

// The same for vectors (3, count) of extension elements.
extern "C" __global__ void __launch_bounds__(THREADS, 2) ext_inverse(
    const u64* source, u64* target, u64 count, u64* first_zero) {
    u64 first = (u64)blockIdx.x * (THREADS * ELEMENTS) + threadIdx.x;
    Ext c[ELEMENTS];
    u64 norms[ELEMENTS];
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        u64 i = first + k * THREADS;
        Adjugate a = adjugate(i < count ? ext::load(source, count, i) : ext::ONE);
        c[k] = a.c;
        norms[k] = a.norm;
        if (a.norm == 0) report_zero(first_zero, i);
    }
    block::invert(norms);
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        u64 i = first + k * THREADS;
        if (i < count) ext::store(target, count, i, ext::scale(c[k], norms[k]));
    }
}
