// Fourier transforms of 2, 4, 8 or 16 words in the registers of one thread.
//
// In Goldilocks every root of unity of order up to 64 is a power of two, since 2 has order 192: a transform this small
// has no multiplications, only shifts. Its numbers are 96 bits wide and signed meanwhile, so that sums need no reduction.
#pragma once
#include "field.cuh"

// The integer w0 + 2^32 w1 + 2^64 w2, w2 signed.
struct Wide {
    u32 w0, w1, w2;
};

__device__ __forceinline__ Wide operator+(Wide x, Wide y) {
    Wide z;
    asm("add.cc.u32 %0, %3, %6;\n\taddc.cc.u32 %1, %4, %7;\n\taddc.u32 %2, %5, %8;"
        : "=&r"(z.w0), "=&r"(z.w1), "=&r"(z.w2)
        : "r"(x.w0), "r"(x.w1), "r"(x.w2), "r"(y.w0), "r"(y.w1), "r"(y.w2));
    return z;
}

__device__ __forceinline__ Wide operator-(Wide x, Wide y) {
    Wide z;
    asm("sub.cc.u32 %0, %3, %6;\n\tsubc.cc.u32 %1, %4, %7;\n\tsubc.u32 %2, %5, %8;"
        : "=&r"(z.w0), "=&r"(z.w1), "=&r"(z.w2)
        : "r"(x.w0), "r"(x.w1), "r"(x.w2), "r"(y.w0), "r"(y.w1), "r"(y.w2));
    return z;
}

__device__ __forceinline__ u32 sign(u32 x) { return (u32)((int)x >> 31); }

// x 2^shift mod p, below 2^65 in magnitude, for 0 <= shift < 96, |x| 2^(shift mod 32) < 2^95.
__device__ __forceinline__ Wide shifted(Wide x, int shift) {
    if (shift == 0) return x;
    int bits = shift % 32;
    u32 u0 = x.w0 << bits;
    u32 u1 = __funnelshift_l(x.w0, x.w1, bits);
    u32 u2 = __funnelshift_l(x.w1, x.w2, bits);
    u32 s2 = sign(u2);
    if (shift < 32)  // 2^64 = 2^32 - 1
        return Wide{u0, u1, 0} + Wide{0, u2, s2} - Wide{u2, s2, s2};
    if (shift < 64) {  // u0 2^32 + u1 (2^32 - 1) - u2
        Wide sum = Wide{u1, 0, 0} + Wide{u2, s2, s2};
        return Wide{0, u0, 0} + Wide{0, u1, 0} - sum;
    }
    // u0 (2^32 - 1) - u1 - u2 2^32
    return Wide{0, u0, 0} - (Wide{u0, 0, 0} + Wide{u1, 0, 0}) - Wide{0, u2, s2};
}

// A word for 0 <= x < 2^96.
__device__ __forceinline__ u64 reduce(Wide x) { return field::reduce((u64)x.w1 << 32 | x.w0, x.w2); }

// k for which 2^k is the twiddle of a node at any level of the tree of a transform: w^rev(node), w of order 16.
__device__ constexpr int node_exponent(int node) {
    constexpr int exponents[8] = {0, 48, 120, 168, 156, 12, 84, 132};
    return exponents[node];
}

__device__ constexpr int reversed(int index, int bits) {
    int result = 0;
    for (int i = 0; i < bits; i++) result |= (index >> i & 1) << (bits - 1 - i);
    return result;
}

// x[c] becomes sum over j of x[j] w^(j rev(c)), w the root of order 2^LOG; words to words.
template <int LOG>
__device__ __forceinline__ void dft(u64 (&x)[1 << LOG]) {
    constexpr int SIZE = 1 << LOG;
    Wide v[SIZE];
#pragma unroll
    for (int i = 0; i < SIZE; i++) v[i] = {(u32)x[i], (u32)(x[i] >> 32), 0};
    // Every result has x[0] as a summand, and all others together are above -64 p: adding 64 p makes them positive.
    v[0] = v[0] + Wide{64, 0u - 64, 63};
#pragma unroll
    for (int level = 0; level < LOG; level++) {
        int half = SIZE >> (level + 1);
#pragma unroll
        for (int pair = 0; pair < SIZE / 2; pair++) {
            int node = pair / half, i = 2 * half * node + pair % half;
            int exponent = node_exponent(node);
            Wide a = v[i], b = shifted(v[i + half], exponent % 96);
            v[i] = exponent < 96 ? a + b : a - b;  // 2^96 = -1
            v[i + half] = exponent < 96 ? a - b : a + b;
        }
    }
#pragma unroll
    for (int i = 0; i < SIZE; i++) x[i] = reduce(v[i]);
}

// The inverse without its factor 1 / 2^LOG: x[j] becomes sum over k of x[k] w^(-j k), both in natural order.
template <int LOG>
__device__ __forceinline__ void inverse_dft(u64 (&x)[1 << LOG]) {
    constexpr int SIZE = 1 << LOG;
    u64 y[SIZE];
#pragma unroll
    for (int i = 0; i < SIZE; i++) y[i] = x[i];
    dft<LOG>(y);
#pragma unroll
    for (int j = 0; j < SIZE; j++) x[j] = y[reversed((SIZE - j) % SIZE, LOG)];
}
