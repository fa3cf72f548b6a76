// The rows of segments in a trace of `machine`, and the numbers and memory cells that they look up. First columns are
// defines.
//
// A thread has a row, and adds up the words of its segment up to there: at most 128, a few on average. So threads share
// nothing, and neighbours write neighbouring words of each column.
#include "ext.cuh"

// Thread by part of a block: its four quarters, and the end after a last block. The rows of segments begin at `start`;
// columns that a row does not have are zeros before. `cells`: (3, size).
extern "C" __global__ void __launch_bounds__(128) fill_segments(
    const u64* words, const u32* owners, const u32* firsts, const u64* places, const u32* numbers, const u32* digests,
    u64 blocks, const u64* cells, u64 size, u64* main, u64 rows, u64 start) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 block = i / PARTS, part = i % PARTS;
    if (block >= blocks) return;
    u32 segment = owners[block];
    u64 begins = firsts[segment];
    bool last = block + 1 == blocks || owners[block + 1] != segment, end = part == QUARTERS;
    if (end && !last) return;
    u64 row = start + QUARTERS * block + segment + part;
    u64* column = main + row;
    const u32* of = numbers + NUMBERS * segment;
    u32 kind = of[0], counter = of[1], base = of[2], absent = of[3], asked = of[4];
    bool parent = kind & KIND_PARENT, weighted = kind & KIND_WEIGHTED, read = kind & KIND_READ;
    bool split = kind & KIND_SPLIT, root = last && kind & KIND_WHOLE;
    Ext span = {counter, 1, 0};  // the first chunk, and the chunks of both children
    if (parent) {
        span = {counter, base, absent};
        counter = base = absent = asked = 0;
    }
    if (!last) absent = 0;
    u64 done = QUARTERS * WORDS * (block - begins) + WORDS * part;  // words before the row
    u64 address = base + STRIDE * done;
    const u64* own = words + QUARTERS * WORDS * begins;
#pragma unroll
    for (int k = 0; k < 4; k++) column[(COLUMN_WEIGHTED + k) * rows] = kind >> k & 1;
#pragma unroll
    for (int k = 0; k < 3; k++) column[(COLUMN_ABSENT + k) * rows] = absent >> k & 1;
    column[COLUMN_NUMBER * rows] = block;
    column[COLUMN_COUNTER * rows] = counter;
    column[COLUMN_BASE * rows] = base;
    column[COLUMN_AT * rows] = address;
    Ext sums[2] = {};
    if (weighted) {
        u64 count = end ? done : done + WORDS;
#pragma unroll 1
        for (u64 word = 0; word < count; word++)
#pragma unroll
            for (int point = 0; point < 2; point++) {
                Ext weight = ext::load(cells, size, base + STRIDE * word + point);
                sums[point] = ext::add(sums[point], ext::scale(weight, own[word]));
            }
    }
#pragma unroll
    for (int point = 0; point < 2; point++) ext::store(column + (COLUMN_SUM + 3 * point) * rows, rows, 0, sums[point]);
    if (end || parent) {
        Ext place = {places[3 * segment], places[3 * segment + 1], places[3 * segment + 2]};
        ext::store(column + COLUMN_PLACE * rows, rows, 0, place);
        ext::store(column + COLUMN_SPAN * rows, rows, 0, span);
    }
    if (end) {
        column[(root ? COLUMN_WHOLE : COLUMN_INNER) * rows] = 1;
        column[COLUMN_ASKED * rows] = asked;
#pragma unroll
        for (int k = 0; k < 8; k++) column[(COLUMN_DIGEST + k) * rows] = digests[8 * segment + k];
        return;
    }
    column[(COLUMN_QUARTER + part) * rows] = 1;
    column[COLUMN_BEGIN * rows] = done == 0;
    column[COLUMN_LAST * rows] = last;
    column[COLUMN_ROOT * rows] = root;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        u64 word = own[done + i];
#pragma unroll
        for (int k = 0; k < 4; k++) column[(COLUMN_HALF + 4 * i + k) * rows] = word >> 16 * k & 0xFFFF;
#pragma unroll
        for (int point = 0; point < 2; point++) {
            u64 at = address + STRIDE * i + point;
            column[(COLUMN_AT + 2 * i + point) * rows] = at;
            if (parent) continue;
            Ext weight = {read && point == 0 ? word : 0, 0, 0};
            if (split && point == 1) weight = {word & 0xFFFFFFFF, word >> 32, 0};
            if (weighted) weight = ext::load(cells, size, at);
            ext::store(column + (COLUMN_WEIGHT + 3 * (2 * i + point)) * rows, rows, 0, weight);
        }
    }
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
    u32 segment = owners[i / (QUARTERS * WORDS)], kind = numbers[NUMBERS * segment];
    u64 at = i - QUARTERS * WORDS * (u64)firsts[segment], address = numbers[NUMBERS * segment + 2] + STRIDE * at;
    if (kind & (KIND_WEIGHTED | KIND_READ)) atomicAdd(counts + address, 1ull);
    if (kind & (KIND_WEIGHTED | KIND_SPLIT)) atomicAdd(counts + address + 1, 1ull);
}

// Adds how often each number occurs; thread by number.
extern "C" __global__ void __launch_bounds__(128) count_numbers(const u32* numbers, u64 count, u64* counts) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(counts + numbers[i], 1ull);
}
