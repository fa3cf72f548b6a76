// Points of evaluation domains, and other products over the bits of an index, from two small tables.
#pragma once
#include "field.cuh"

struct Products {
    const u64 *fine, *coarse;
};

namespace domain {

constexpr int FINE = 12;  // bits of the index that the fine table takes; `kernels/cuda/domain.py` makes the tables

__device__ __forceinline__ u64 at(Products products, u64 i) {
    return field::mul(products.fine[i & ((1 << FINE) - 1)], products.coarse[i >> FINE]);
}

}  // namespace domain
