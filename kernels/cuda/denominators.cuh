// 1 / (z - x) over the points x of a domain, the norms of a block's points inverted together.
#pragma once
#include "domain.cuh"
#include "inverse.cuh"

namespace denominators {

constexpr int THREADS = 256, ELEMENTS = 8;  // points of a thread

// Calls finish(i, x, 1 / (z - x)) for the points of this block; x = 7 w^rev(i) by `points`, and none of them is z.
template <typename Finish>
__device__ __forceinline__ void invert(Products points, Ext z, u64 count, Finish finish) {
    u64 first = (u64)blockIdx.x * (THREADS * ELEMENTS) + threadIdx.x;
    Ext c[ELEMENTS];
    u64 norms[ELEMENTS];
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        u64 i = first + k * THREADS;
        u64 x = domain::at(points, i < count ? i : 0);
        Adjugate a = adjugate({field::sub(z.a0, x), z.a1, z.a2});
        c[k] = a.c;
        norms[k] = a.norm;
    }
    block::invert(norms);
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        u64 i = first + k * THREADS;
        if (i < count) finish(i, domain::at(points, i), ext::scale(c[k], norms[k]));
    }
}

}  // namespace denominators
