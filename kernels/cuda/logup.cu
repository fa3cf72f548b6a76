// The accumulator column of LogUp: for every row the sum of all fractions of the rows before. The generated kernels
// leave each row's sum in the column and each block's in `totals`.
#include "batch.cuh"
#include "block.cuh"

constexpr int THREADS = 128;  // rows of a block here and in the generated kernels
constexpr int SCAN = 1024;

__device__ __forceinline__ Ext words(const u64* place) { return {place[0], place[1], place[2]}; }

__device__ __forceinline__ void put(u64* place, Ext x) { place[0] = x.a0, place[1] = x.a1, place[2] = x.a2; }

// One table's columns: the accumulator (3, rows), the sums of its blocks of rows (blocks, 3), and its terminal's address.
struct Table {
    u64 first;  // number of its first block among all tables' blocks
    u64* column;
    u64 rows;
    u64* totals;
    u64* terminal;
};

struct Tables {
    Table of[batch::ITEMS];
};

__device__ __forceinline__ u64 blocks_of(u64 rows) { return (rows + THREADS - 1) / THREADS; }

// Each table's totals: from the sums of blocks of rows to the sums of earlier blocks; the total is its terminal.
// A block a table.
extern "C" __global__ void __launch_bounds__(SCAN) scan_totals(const __grid_constant__ Tables tables) {
    const Table& table = tables.of[blockIdx.x];
    u64 count = blocks_of(table.rows);
    Ext before = ext::ZERO;
    for (u64 first = 0; first < count; first += SCAN) {
        u64 i = first + threadIdx.x;
        Ext own = i < count ? words(table.totals + 3 * i) : ext::ZERO, all;
        Ext sum = block::running_sum(own, all);
        if (i < count) put(table.totals + 3 * i, ext::add(before, ext::sub(sum, own)));
        before = ext::add(before, all);
    }
    if (threadIdx.x == 0) put(table.terminal, before);
}

// Each table's column: from each row's sum to the sum of the earlier rows. A block for each block of rows.
extern "C" __global__ void __launch_bounds__(THREADS) accumulate(const __grid_constant__ Tables tables, u64 count) {
    const Table& table = batch::item_at(tables.of, count, blockIdx.x);
    u64 number = blockIdx.x - table.first, row = number * THREADS + threadIdx.x;
    Ext own = row < table.rows ? ext::load(table.column, table.rows, row) : ext::ZERO, all;
    Ext sum = ext::sub(block::running_sum(own, all), own);
    if (row < table.rows) ext::store(table.column, table.rows, row, ext::add(words(table.totals + 3 * number), sum));
}
