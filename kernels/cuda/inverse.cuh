// Inverses of extension elements: x with adjugate c has the base norm x c, so that 1/x = c / norm. The norms of a
// block's elements are inverted together.
#pragma once
#include "block.cuh"
#include "sums.cuh"

struct Adjugate {
    Ext c;
    u64 norm;  // zero for x = 0 only
};

// The columns of the matrix of multiplication by x are x, x X, x X^2; c is the first row of cofactors.
__device__ __forceinline__ Adjugate adjugate(Ext x) {
    u64 s = field::add(x.a0, x.a2), t = field::add(x.a1, x.a2);
    Ext c = {field::sub(field::mul(s, s), field::mul(x.a1, t)), field::sub(field::mul(x.a2, t), field::mul(x.a1, s)),
             field::sub(field::mul(x.a1, x.a1), field::mul(x.a2, s))};
    Sum norm = {};
    sums::accumulate(norm, x.a0, c.a0);
    sums::accumulate(norm, x.a2, c.a1);
    sums::accumulate(norm, x.a1, c.a2);
    return {c, sums::total(norm)};
}

// The smallest index at which something was zero.
__device__ __forceinline__ void report_zero(u64* first_zero, u64 index) { atomicMin(first_zero, index); }
