// FRI folds. A codeword is (3, N) on a subgroup in bit-reversed order: neighbours are the values at s and -s, of which a
// fold at beta makes f(s)/2 + f(-s)/2 + beta (f(s) - f(-s)) / (2 s); a fold by 2^k is k of them at beta, beta^2, ...
// Source: ``fold_matrix`` in p3-fri/src/two_adic_pcs.rs.
#include "domain.cuh"
#include "ext.cuh"

constexpr int THREADS = 256;

// x / 2: the even one of x and x + p, halved.
__device__ __forceinline__ u64 half(u64 x) { return (x >> 1) + (x & 1 ? (field::P + 1) / 2 : 0); }

// Elements i of the fold of (3, size 2^LOG_ARITY), plus beta^(2^LOG_ARITY) times joining (3, size), if there is one.
// `factors` are 1 / (2 s) of the pairs.
template <int LOG_ARITY>
__device__ __forceinline__ void fold(
    const u64* codeword, Products factors, Ext beta, const u64* joining, u64* target, u64 size) {
    constexpr int ARITY = 1 << LOG_ARITY;
    u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= size) return;
    Ext x[ARITY];
#pragma unroll
    for (int k = 0; k < ARITY / 2; k++) {
        const ulonglong2* pairs = (const ulonglong2*)codeword + (i * (ARITY / 2) + k);
        ulonglong2 a0 = pairs[0], a1 = pairs[size * (ARITY / 2)], a2 = pairs[2 * size * (ARITY / 2)];
        x[2 * k] = {a0.x, a1.x, a2.x};
        x[2 * k + 1] = {a0.y, a1.y, a2.y};
    }
#pragma unroll
    for (int count = ARITY / 2; count; count /= 2) {
#pragma unroll
        for (int k = 0; k < count; k++) {
            Ext odd = ext::scale(ext::sub(x[2 * k], x[2 * k + 1]), domain::at(factors, i * count + k));
            Ext even = ext::add(x[2 * k], x[2 * k + 1]);
            x[k] = ext::add({half(even.a0), half(even.a1), half(even.a2)}, ext::mul(odd, beta));
        }
        beta = ext::mul(beta, beta);
    }
    if (joining) x[0] = ext::add(x[0], ext::mul(beta, ext::load(joining, size, i)));
    ext::store(target, size, i, x[0]);
}

#define FOLD(LOG_ARITY)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS) fold_##LOG_ARITY(                                       \
        const u64* codeword, const u64* fine, const u64* coarse, u64 b0, u64 b1, u64 b2, const u64* joining,      \
        u64* target, u64 size) {                                                                                  \
        fold<LOG_ARITY>(codeword, {fine, coarse}, {b0, b1, b2}, joining, target, size);                           \
    }

FOLD(1)
FOLD(2)
FOLD(3)
