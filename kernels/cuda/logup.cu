// The accumulator column of LogUp: for every row the sum of all fractions of the rows before. The generated kernels
// leave each row's sum in the column and each block's in `totals`.
#include "block.cuh"

constexpr int THREADS = 128;  // rows of a block here and in the generated kernels
constexpr int SCAN = 1024;

__device__ __forceinline__ Ext words(const u64* place) { return {place[0], place[1], place[2]}; }

__device__ __forceinline__ void put(u64* place, Ext x) { place[0] = x.a0, place[1] = x.a1, place[2] = x.a2; }

// totals (count + 1, 3): from `count` sums to the sums of those before each, and of all of them. One block.
extern "C" __global__ void __launch_bounds__(SCAN) scan_totals(u64* totals, u64 count) {
    Ext before = ext::ZERO;
    for (u64 first = 0; first < count; first += SCAN) {
        u64 i = first + threadIdx.x;
        Ext own = i < count ? words(totals + 3 * i) : ext::ZERO, all;
        Ext sum = block::running_sum(own, all);
        if (i < count) put(totals + 3 * i, ext::add(before, ext::sub(sum, own)));
        before = ext::add(before, all);
    }
    if (threadIdx.x == 0) put(totals + 3 * count, before);
}

// column (3, rows): from each row's sum to that of the rows before it.
extern "C" __global__ void __launch_bounds__(THREADS) accumulate(u64* column, u64 rows, const u64* totals) {
    u64 row = (u64)blockIdx.x * THREADS + threadIdx.x;
    Ext own = row < rows ? ext::load(column, rows, row) : ext::ZERO, all;
    Ext sum = ext::sub(block::running_sum(own, all), own);
    if (row < rows) ext::store(column, rows, row, ext::add(words(totals + 3 * blockIdx.x), sum));
}
