// 1 / (z - x) over the points x of domains, the norms of a block's points inverted together.
#pragma once
#include "batch.cuh"
#include "domain.cuh"
#include "inverse.cuh"

// The domain of one point.
struct Domain {
    u64 first;    // of its blocks
    u64* target;  // (3, count)
    u64 count;    // of x
};

struct Domains {
    Domain of[batch::ITEMS];
};

// The point of one domain.
struct Point {
    u64 z[3], factor[3];
};

// Apart from the domains, because a proof of the same shape has other points over the same domains.
struct Points {
    Point of[batch::ITEMS];
};

namespace denominators {

constexpr int THREADS = 256, ELEMENTS = 8;  // points of a thread

// Calls finish(domain, point, i, x, 1 / (z - x)) for the elements of this block; x = 7 w^rev(i) by `powers`, the same
// for all domains, and none of them is z.
template <typename Finish>
__device__ __forceinline__ void invert(
    Products powers, const Domains& domains, const Points& points, u64 domain_count, Finish finish) {
    const Domain& domain = batch::item_at(domains.of, domain_count, blockIdx.x);
    const Point& point = points.of[&domain - domains.of];
    Ext z = {point.z[0], point.z[1], point.z[2]};
    u64 first = (blockIdx.x - domain.first) * (THREADS * ELEMENTS) + threadIdx.x, count = domain.count;
    Ext c[ELEMENTS];
    u64 norms[ELEMENTS];
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        u64 i = first + k * THREADS;
        u64 x = domain::at(powers, i < count ? i : 0);
        Adjugate a = adjugate({field::sub(z.a0, x), z.a1, z.a2});
        c[k] = a.c;
        norms[k] = a.norm;
    }
    block::invert(norms);
#pragma unroll
    for (int k = 0; k < ELEMENTS; k++) {
        u64 i = first + k * THREADS;
        if (i < count) finish(domain, point, i, domain::at(powers, i), ext::scale(c[k], norms[k]));
    }
}

}  // namespace denominators
