// One launch for many tables: its blocks, or threads, are shared out among items in order.
#pragma once
#include "field.cuh"

namespace batch {

constexpr int ITEMS = 64;  // of one launch, whose descriptions are a parameter; `kernels/cuda/multi_table.py` gives them

// The last of `count` items that begins at or before `index`; they are in the order of `first`, and the first has 0.
template <typename Item>
__device__ __forceinline__ const Item& item_at(const Item* items, u64 count, u64 index) {
    u32 low = 0, high = (u32)count;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (items[middle].first <= index) low = middle;
        else high = middle;
    }
    return items[low];
}

}  // namespace batch
