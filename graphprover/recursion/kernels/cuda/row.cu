// The trace of opened rows, and the numbers and memory cells that it looks up. First columns are defines.
//
// A thread has a row, and adds up the words of its segment up to there: at most 128, a few on average. So threads share
// nothing, and neighbours write neighbouring words of each column.
#include "ext.cuh"

// Thread by row; rows beyond the blocks are zeros. `cells`: (3, size).
extern "C" __global__ void __launch_bounds__(128) fill_row(
    const u64* words, const u32* owners, const u32* firsts, const u64* places, const u32* numbers, const u32* digests,
    u64 blocks, const u64* cells, u64 size, u64* main, u64 rows) {
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    u64* column = main + row;
    u64 block = row / BLOCK_ROWS;
    if (block >= blocks) {
#pragma unroll 1
        for (int k = 0; k < WIDTH; k++) column[k * rows] = 0;
        return;
    }
    u32 segment = owners[block];
    u64 begins = firsts[segment];
    const u32* of = numbers + NUMBERS * segment;
    u32 kind = of[0], counter = of[1], base = of[2], absent = of[3], asked = of[4];
    bool parent = kind & KIND_PARENT;
    Ext child = {};  // of a parent: the chunks of this row's child, the first of them, the first chunk of the parent
    if (parent) {
        child = {row % BLOCK_ROWS ? absent : base, (u64)counter + (row % BLOCK_ROWS ? base : 0), counter};
        counter = base = absent = 0;
    }
    u64 at = row - BLOCK_ROWS * begins;  // of the segment's rows
    const u64* own = words + BLOCK_ROWS * WORDS * begins;
    bool upper = row % BLOCK_ROWS, last = block + 1 == blocks || owners[block + 1] != segment, ends = upper && last;
    bool weighted = kind & KIND_WEIGHTED, read = kind & KIND_READ, split = kind & KIND_SPLIT;
    bool whole = kind & KIND_WHOLE;
    column[COLUMN_WEIGHTED * rows] = weighted;
    column[COLUMN_READ * rows] = read;
    column[COLUMN_SPLIT * rows] = split;
    column[COLUMN_PARENT * rows] = parent;
    column[COLUMN_UPPER * rows] = upper;
    column[COLUMN_BEGIN * rows] = at == 0;
    column[COLUMN_WHOLE * rows] = ends && whole;
    column[COLUMN_INNER * rows] = ends && !whole;
    column[COLUMN_NUMBER * rows] = block;
#pragma unroll
    for (int k = 0; k < 3; k++) column[(COLUMN_TREE + k) * rows] = places[3 * segment + k];
    column[COLUMN_COUNTER * rows] = counter;
    column[COLUMN_BASE * rows] = base;
    column[COLUMN_ADDRESS * rows] = base + STRIDE * WORDS * at;
    column[COLUMN_ABSENT * rows] = last ? absent : 0;
    column[COLUMN_SHORT * rows] = last && absent >= WORDS;
    column[COLUMN_ASKED * rows] = ends ? asked : 0;
    Ext sums[2] = {};
    if (weighted) {
#pragma unroll 1
        for (u64 i = 0; i < WORDS * (at + 1); i++)
#pragma unroll
            for (int point = 0; point < 2; point++) {
                Ext weight = ext::load(cells, size, base + STRIDE * i + point);
                sums[point] = ext::add(sums[point], ext::scale(weight, own[i]));
            }
    }
#pragma unroll
    for (int point = 0; point < 2; point++) ext::store(column + (COLUMN_SUM + 3 * point) * rows, rows, 0, sums[point]);
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        u64 word = own[WORDS * at + i];
#pragma unroll
        for (int k = 0; k < 4; k++) column[(COLUMN_HALF + 4 * i + k) * rows] = word >> 16 * k & 0xFFFF;
#pragma unroll
        for (int point = 0; point < 2; point++) {
            Ext weight = {read && point == 0 ? word : 0, 0, 0};
            if (split && point == 1) weight = {word & 0xFFFFFFFF, word >> 32, 0};
            if (parent && point == 0 && i == 0) weight = child;
            if (weighted) weight = ext::load(cells, size, base + STRIDE * (WORDS * at + i) + point);
            ext::store(column + (COLUMN_WEIGHT + 3 * (WORDS * point + i)) * rows, rows, 0, weight);
        }
    }
#pragma unroll
    for (int k = 0; k < 8; k++) column[(COLUMN_DIGEST + k) * rows] = ends ? digests[8 * segment + k] : 0;
}

// Adds how often each number of 16 bits is looked up; thread by word.
extern "C" __global__ void __launch_bounds__(128) count_halves(const u64* words, u64 count, u64* counts) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u64 word = words[i];
#pragma unroll
    for (int k = 0; k < 4; k++) atomicAdd(counts + (word >> 16 * k & 0xFFFF), 1ull);
}

// Adds how often each memory cell is looked up; thread by word.
extern "C" __global__ void __launch_bounds__(128) count_cells(
    const u32* owners, const u32* firsts, const u32* numbers, u64 count, u64* counts) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32 segment = owners[i / (BLOCK_ROWS * WORDS)], kind = numbers[NUMBERS * segment];
    u64 at = i - BLOCK_ROWS * WORDS * (u64)firsts[segment], address = numbers[NUMBERS * segment + 2] + STRIDE * at;
    if (kind & (KIND_WEIGHTED | KIND_READ)) atomicAdd(counts + address, 1ull);
    if (kind & (KIND_WEIGHTED | KIND_SPLIT)) atomicAdd(counts + address + 1, 1ull);
}

// Adds how often each number occurs; thread by number.
extern "C" __global__ void __launch_bounds__(128) count_numbers(const u32* numbers, u64 count, u64* counts) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(counts + numbers[i], 1ull);
}
