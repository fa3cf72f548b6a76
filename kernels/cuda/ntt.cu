// Low-degree extension of columns: evaluations on a coset of a two-adic subgroup to coefficients to evaluations on others.
//
// A polynomial of n coefficients is reduced down a binary tree: block b of a level holds it modulo x^m - r, and its
// children modulo x^(m/2) -/+ sqrt(r). Leaves come out in bit-reversed order, and the subtree below block z of level k is
// the evaluation on the z-th coset of the 2^k times larger subgroup: an extension sends the same coefficients down 2^k
// subtrees. The way up is the inverse. Four levels at a time, a block multiplies its 16 parts by 1, c, ... c^15 and takes
// a 16-point transform, in which every root is a power of two; c depends on the block alone.
//
// A pass takes a tile of 4096 words of one column through up to twelve levels, 16 words a thread, exchanged in shared
// memory between transforms. Work is numbered by tile, then by column, and each thread block takes a run of it, so that
// it makes a tile's powers of c once for many columns. Between passes words are not canonical.
#include "batch.cuh"
#include "dft.cuh"

constexpr int THREADS = 256;
constexpr int LOG_TILE = 12;
constexpr u32 TILE = 1 << LOG_TILE;
constexpr u32 BUFFER = TILE + TILE / 16;  // words of a tile with one of padding after every 16
constexpr u32 RISES = 16;         // words of a table that `fill_rises` makes
constexpr u32 STRIDED = 16 * 16 + 16;  // most words of the tables of a strided pass
constexpr int MAX_THREADS = 1024;  // of a block that transforms a column by itself

extern __shared__ u64 shared[];

// A word for w^exponent, w of order 2^32, from a table of w^i and w^(2^16 i) for i < 2^16.
__device__ __forceinline__ u64 root_power(const u64* roots, u32 exponent) {
    return field::mul_word(roots[exponent & 0xffff], roots[0x10000 + (exponent >> 16)]);
}

// The exponent, for w of order 2^32, of c on the way down at block `block` of a level, for steps of LOG_RADIX levels:
// c has order 2^(level + LOG_RADIX) to the power of the block's number in reverse.
template <int LOG_RADIX>
__device__ __forceinline__ u32 block_exponent(u64 block) {
    return __brev((u32)block) >> LOG_RADIX;
}

// rises[j] = scale base^j for j < 16.
__device__ __forceinline__ void fill_rises(u64* rises, u64 base, u64 scale) {
    if (threadIdx.x < 16) rises[threadIdx.x] = field::mul(field::power(base, threadIdx.x), scale);
}

// table[j * blocks + i] = c^(+/- j) rises[j] for the c of block first + i, `blocks` of them.
template <int LOG_RADIX, bool UP>
__device__ __forceinline__ void fill(u64* table, const u64* roots, const u64* rises, u64 first, u32 blocks) {
    for (u32 i = threadIdx.x; i < blocks << LOG_RADIX; i += THREADS) {
        u32 j = i / blocks;
        u32 exponent = block_exponent<LOG_RADIX>(first + i % blocks) * j;
        table[i] = field::mul_word(root_power(roots, UP ? 0 - exponent : exponent), rises[j]);
    }
}

// The pairs (tile, column) that fall to this thread block, in order of tiles.
struct Units {
    u64 left, tile, column, columns;
    bool first = true;  // of this tile's

    __device__ __forceinline__ Units(u64 tiles, u64 columns) : columns(columns) {
        u64 start = tiles * columns * blockIdx.x / gridDim.x;
        left = tiles * columns * (blockIdx.x + 1) / gridDim.x - start;
        tile = start / columns;
        column = start % columns;
    }
    __device__ __forceinline__ void next() {
        left--;
        first = ++column == columns;
        if (first) {
            column = 0;
            tile++;
        }
    }
};

__device__ __forceinline__ u32 padded(u32 i) { return i + (i >> 4); }

// Parts times powers of c and down; x[i] for part i % RADIX of local block i / RADIX, of `blocks` in the table.
template <int LOG_RADIX>
__device__ __forceinline__ void down(u64 (&x)[16], const u64* table, u32 blocks, u32 first, u32 step) {
    constexpr int RADIX = 1 << LOG_RADIX;
#pragma unroll
    for (int group = 0; group < 16 / RADIX; group++) {
        u64 y[RADIX];
        y[0] = x[group * RADIX];
        if constexpr (RADIX > 1) {
#pragma unroll
            for (int j = 1; j < RADIX; j++)
                y[j] = field::mul_word(x[group * RADIX + j], table[j * blocks + first + group * step]);
            dft<LOG_RADIX>(y);
        }
#pragma unroll
        for (int j = 0; j < RADIX; j++) x[group * RADIX + j] = y[j];
    }
}

// Up, and parts times powers of 1/c; part 0 too if FACTOR. Children are in natural order if NATURAL.
template <int LOG_RADIX, bool NATURAL, bool FACTOR>
__device__ __forceinline__ void up(u64 (&x)[16], const u64* table, u32 blocks, u32 first, u32 step) {
    constexpr int RADIX = 1 << LOG_RADIX;
#pragma unroll
    for (int group = 0; group < 16 / RADIX; group++) {
        u64 y[RADIX];
#pragma unroll
        for (int j = 0; j < RADIX; j++) y[j] = x[group * RADIX + (NATURAL ? j : reversed(j, LOG_RADIX))];
        inverse_dft<LOG_RADIX>(y);
#pragma unroll
        for (int j = 0; j < RADIX; j++)
            x[group * RADIX + j] =
                j || FACTOR ? field::mul_word(y[j], table[j * blocks + first + group * step]) : y[j];
    }
}

// The last LEVELS levels, in place and canonical, below blocks z of 2^log_cosets: columns' words from z 2^log_size.
// Coefficient i is scaled by shift^i.
template <int LEVELS>
__device__ __forceinline__ void down_bottom(
    u64* data, u64 stride, u64 columns, u64 log_size, u64 log_cosets, u64 shift, const u64* roots) {
    constexpr int ODD = LEVELS - 8;
    u64 *buffer = shared, *table_a = shared + BUFFER, *table_b = table_a + 16, *table_c = table_b + 256;
    u64* rises = table_c + TILE;
    fill_rises(rises, field::squared(shift, 8), 1);
    fill_rises(rises + 16, field::squared(shift, 4), 1);
    fill_rises(rises + 32, shift, 1);
    u32 t = threadIdx.x;
    for (Units unit(1ull << (log_size + log_cosets - LOG_TILE), columns); unit.left; unit.next()) {
        u64 tile = unit.tile;
        u64* words = data + unit.column * stride + tile * TILE;
        u64 x[16];
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = words[i * 256 + t];
        __syncthreads();
        if (unit.first) {
            fill<ODD, false>(table_a, roots, rises, tile << (4 - ODD), 1 << (4 - ODD));
            fill<4, false>(table_b, roots, rises + 16, tile << 4, 16);
            fill<4, false>(table_c, roots, rises + 32, tile << 8, 256);
            __syncthreads();
        }
        down<ODD>(x, table_a, 1 << (4 - ODD), 0, 1);
#pragma unroll
        for (int i = 0; i < 16; i++) buffer[padded(i * 256 + t)] = x[i];
        __syncthreads();
        u32 base = (t & 0xf0) << 4 | (t & 15);
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = buffer[padded(base) + 17 * i];
        down<4>(x, table_b, 16, t >> 4, 0);
#pragma unroll
        for (int i = 0; i < 16; i++) buffer[padded(base) + 17 * i] = x[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = buffer[17 * t + i];
        down<4>(x, table_c, 256, t, 0);
#pragma unroll
        for (int i = 0; i < 16; i++) buffer[17 * t + i] = field::canonical(x[i]);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) words[i * 256 + t] = buffer[padded(i * 256 + t)];
    }
}

// The last LEVELS levels up from blocks z of 2^log_chunks, each of 2^log_size words, of every column of the source, to
// rows columns rev(z) + column of the target.
template <int LEVELS>
__device__ __forceinline__ void up_bottom(
    const u64* source, u64 source_stride, u64* target, u64 target_stride, u64 columns, u64 log_size, u64 log_chunks,
    const u64* roots) {
    constexpr int ODD = LEVELS - 8;
    u64 *buffer = shared, *table_a = shared + BUFFER, *table_b = table_a + 16, *table_c = table_b + 256;
    u64* rises = table_c + TILE;
    fill_rises(rises, 1, 1);
    u32 t = threadIdx.x;
    u64 tiles = 1ull << (log_size - LOG_TILE);
    for (Units unit(tiles << log_chunks, columns); unit.left; unit.next()) {
        u64 tile = unit.tile;
        u64 row = columns * field::reverse_bits(tile / tiles, log_chunks) + unit.column;
        const u64* from = source + unit.column * source_stride + tile * TILE;
        u64* to = target + row * target_stride + tile % tiles * TILE;
        u64 x[16];
        __syncthreads();
        if (unit.first) {
            fill<ODD, true>(table_a, roots, rises, tile << (4 - ODD), 1 << (4 - ODD));
            fill<4, true>(table_b, roots, rises, tile << 4, 16);
            fill<4, true>(table_c, roots, rises, tile << 8, 256);
        }
#pragma unroll
        for (int i = 0; i < 16; i++) buffer[padded(i * 256 + t)] = from[i * 256 + t];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = buffer[17 * t + i];
        up<4, false, false>(x, table_c, 256, t, 0);
#pragma unroll
        for (int i = 0; i < 16; i++) buffer[17 * t + i] = x[i];
        __syncthreads();
        u32 base = (t & 0xf0) << 4 | (t & 15);
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = buffer[padded(base) + 17 * i];
        up<4, false, false>(x, table_b, 16, t >> 4, 0);
#pragma unroll
        for (int i = 0; i < 16; i++) buffer[padded(base) + 17 * i] = x[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = buffer[padded(i * 256 + t)];
        up<ODD, false, false>(x, table_a, 1 << (4 - ODD), 0, 1);
#pragma unroll
        for (int i = 0; i < 16; i++) to[i * 256 + t] = x[i];
    }
}

// The last LEVELS levels up from 2^log_size words in natural order.
//
// A tile is rows r0 ... r0 + W - 1 and those a multiple of 2^(log_size - LEVELS) further: the leaves of W blocks. The
// number of the block whose first leaf in natural order is row r is r in reverse.
template <int LEVELS>
__device__ __forceinline__ void up_natural(
    const u64* source, u64 source_stride, u64* target, u64 target_stride, u64 columns, u64 log_size,
    const u64* roots) {
    constexpr int ODD = LEVELS - 4, RADIX = 1 << ODD;
    constexpr u32 SIZE = 1 << LEVELS, WIDTH = TILE / SIZE;
    u64 *buffer = shared, *table_a = shared + BUFFER, *table_b = table_a + RADIX * WIDTH;
    u32 t = threadIdx.x;
    u64 step = 1ull << (log_size - LEVELS);
    for (Units unit(1ull << (log_size - LOG_TILE), columns); unit.left; unit.next()) {
        u64 r0 = unit.tile * WIDTH;
        const u64* from = source + unit.column * source_stride + r0 + t / WIDTH * step + t % WIDTH;
        u64* to = target + unit.column * target_stride;
        u64 x[16];
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = from[i * RADIX * step];
        __syncthreads();
        if (unit.first) {
            for (u32 i = t; i < TILE; i += THREADS) {
                u32 row = i % 256 / WIDTH * step + r0 + i % WIDTH;
                table_b[i] = root_power(roots, 0 - (row << (32 - log_size)) * (i / 256));
            }
            for (u32 i = t; i < RADIX * WIDTH; i += THREADS)
                table_a[i] = root_power(roots, 0 - ((u32)(r0 + i % WIDTH) << (36 - log_size)) * (i / WIDTH));
            __syncthreads();
        }
        up<4, true, false>(x, table_b, 256, t, 0);
#pragma unroll
        for (int i = 0; i < 16; i++) buffer[i * 256 + t] = x[i];
        __syncthreads();
        // 16 W columns of RADIX words, by (part of the first step, row): thread t takes column i / RADIX * 256 + t.
#pragma unroll
        for (int i = 0; i < 16; i++) {
            u32 pair = i / RADIX * 256 + t;
            x[i] = buffer[pair / WIDTH * 256 + i % RADIX * WIDTH + t % WIDTH];
        }
        up<ODD, true, false>(x, table_a, WIDTH, t % WIDTH, 0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            u32 pair = i / RADIX * 256 + t;
            buffer[t % WIDTH * (SIZE + 1) + i % RADIX * 16 + pair / WIDTH] = x[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            u32 place = i * 256 + t;
            u64 block = field::reverse_bits(r0 + place / SIZE, log_size - LEVELS);
            to[block * SIZE + place % SIZE] = buffer[place + place / SIZE];
        }
    }
}

// A tile of LEVELS = 4 or 8 levels above blocks of 2^log_stride words: all parts of 256 or 16 adjacent words.
//
// Thread t takes part i at lower(i) = base + (i << log_stride) of the last four levels, and at upper(i) of the four
// above them, which are in one block.
template <int LEVELS>
struct Strided {
    static constexpr int LOG_WORDS = LOG_TILE - LEVELS;
    u64 block, base, upper_base, log_stride;  // the first block at these levels

    __device__ __forceinline__ Strided(u64 tile, u64 log_stride) : log_stride(log_stride) {
        u32 t = threadIdx.x, word = t % (1 << LOG_WORDS), part = t >> LOG_WORDS;
        u64 first = tile << LOG_WORDS, mask = (1ull << log_stride) - 1;
        block = first >> log_stride;
        u64 place = first + word;
        base = ((((place >> log_stride) << LEVELS) + (LEVELS == 8 ? part << 4 : 0)) << log_stride) + (place & mask);
        upper_base = ((((place >> log_stride) << LEVELS) + part) << log_stride) + (place & mask);
    }
    __device__ __forceinline__ u64 lower(u64 i) const { return base + (i << log_stride); }
    __device__ __forceinline__ u64 upper(u64 i) const {
        return LEVELS == 8 ? upper_base + (i << (log_stride + 4)) : lower(i);
    }
};

// Powers of c for such a tile, in shared memory.
template <int LEVELS>
struct StridedTables {
    static constexpr u32 WORDS = LEVELS == 8 ? STRIDED : 256;
    u64* words;
    u32 log_stride;

    __device__ __forceinline__ StridedTables(u64* words, u64 log_stride) : words(words), log_stride(log_stride) {}
    // How many blocks one tile has in the lower four levels, and the number among them of this thread's.
    __device__ __forceinline__ u32 blocks() const { return LEVELS == 8 ? 16 : log_stride < 8 ? 256u >> log_stride : 1; }
    __device__ __forceinline__ u32 block() const {
        return LEVELS == 8 ? threadIdx.x >> 4 : log_stride < 8 ? threadIdx.x >> log_stride : 0;
    }
    template <bool UP>
    __device__ __forceinline__ void make(const u64* roots, const u64* rises, u64 block) const {
        if constexpr (LEVELS == 8) {
            fill<4, UP>(words, roots, rises, block << 4, 16);
            fill<4, UP>(words + 256, roots, rises + 16, block, 1);
        } else {
            fill<4, UP>(words, roots, rises, block, blocks());
        }
    }
    __device__ __forceinline__ void down_levels(u64 (&x)[16], u64* buffer) const {
        if constexpr (LEVELS == 8) {
            down<4>(x, words + 256, 1, 0, 0);
            exchange<true>(x, buffer);
        }
        down<4>(x, words, blocks(), block(), 0);
    }
    template <bool TOP>
    __device__ __forceinline__ void up_levels(u64 (&x)[16], u64* buffer) const {
        up<4, false, TOP && LEVELS == 4>(x, words, blocks(), block(), 0);
        if constexpr (LEVELS == 8) {
            exchange<false>(x, buffer);
            up<4, false, TOP>(x, words + 256, 1, 0, 0);
        }
    }
    // From upper parts to lower ones, or back.
    template <bool DOWN>
    __device__ __forceinline__ static void exchange(u64 (&x)[16], u64* buffer) {
        u32 t = threadIdx.x, lower = (t & 0xf0) << 4 | (t & 15);
#pragma unroll
        for (int i = 0; i < 16; i++) buffer[DOWN ? i * 256 + t : lower + i * 16] = x[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = buffer[DOWN ? lower + i * 16 : i * 256 + t];
    }
};

// LEVELS levels, in place, above blocks of 2^log_stride words: down as in `down_bottom` from 2^log_runs cosets in each
// column, up in 2^log_runs chunks as in the target of `up_bottom`.
template <int LEVELS, bool UP>
__device__ __forceinline__ void strided(
    u64* data, u64 stride, u64 columns, u64 log_size, u64 log_stride, u64 log_runs, u64 shift, const u64* roots) {
    u64 *buffer = shared, *rises = shared + TILE;
    StridedTables<LEVELS> tables(rises + 32, log_stride);
    u64 base = field::squared(shift, log_stride);
    fill_rises(rises, base, 1);
    fill_rises(rises + 16, field::squared(base, 4), 1);
    u64 tiles = 1ull << (log_size - LOG_TILE);
    for (Units unit(tiles << log_runs, columns); unit.left; unit.next()) {
        u64 run = unit.tile / tiles;
        u64* words = data + unit.column * stride + (run << log_size);
        if (UP) words = data + (columns * field::reverse_bits(run, log_runs) + unit.column) * stride;
        Strided<LEVELS> at(unit.tile % tiles, log_stride);
        u64 x[16];
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = words[UP ? at.lower(i) : at.upper(i)];
        __syncthreads();
        if (unit.first) {
            tables.template make<UP>(roots, rises, (run << (log_size - LEVELS - log_stride)) + at.block);
            __syncthreads();
        }
        if constexpr (UP)
            tables.template up_levels<false>(x, buffer);
        else
            tables.down_levels(x, buffer);
#pragma unroll
        for (int i = 0; i < 16; i++) words[UP ? at.upper(i) : at.lower(i)] = x[i];
    }
}

// The first LEVELS levels, up and down again: from the first 2^log_size words of a column, which are chunk
// rev(row / columns), to 2^log_cosets cosets from `first_coset` on.
template <int LEVELS>
__device__ __forceinline__ void turn(
    u64* data, u64 stride, u64 columns, u64 log_size, u64 log_chunks, u64 first_coset, u64 log_cosets, u64 shift,
    u64 scale, const u64* roots) {
    constexpr u32 WORDS = StridedTables<LEVELS>::WORDS;
    u64 log_stride = log_size - LEVELS;
    u64 *buffer = shared, *kept = buffer + TILE, *rises = kept + TILE;
    StridedTables<LEVELS> up_tables(rises + 64, log_stride);
    u64* down_words = rises + 64 + WORDS;
    u64 base = field::squared(shift, log_stride);
    fill_rises(rises, 1, LEVELS == 4 ? scale : 1);
    fill_rises(rises + 16, 1, scale);
    fill_rises(rises + 32, base, 1);
    fill_rises(rises + 48, field::squared(base, 4), 1);
    __syncthreads();
    for (u32 coset = 0; coset < 1u << log_cosets; coset++) {
        StridedTables<LEVELS> down_tables(down_words + coset * WORDS, log_stride);
        down_tables.template make<false>(roots, rises + 32, first_coset + coset);
    }
    u64 tiles = 1ull << (log_size - LOG_TILE);
    u32 t = threadIdx.x;
    for (Units unit(tiles << log_chunks, columns); unit.left; unit.next()) {
        u64 chunk = unit.tile / tiles;
        u64* words = data + (columns * field::reverse_bits(chunk, log_chunks) + unit.column) * stride;
        Strided<LEVELS> at(unit.tile % tiles, log_stride);
        u64 x[16];
#pragma unroll
        for (int i = 0; i < 16; i++) x[i] = words[at.lower(i)];
        __syncthreads();
        if (unit.first) {
            up_tables.template make<true>(roots, rises, chunk);
            __syncthreads();
        }
        // Each thread reads only its own words.
        up_tables.template up_levels<true>(x, kept);
#pragma unroll
        for (int i = 0; i < 16; i++) kept[i * 256 + t] = x[i];
        for (u32 coset = 0; coset < 1u << log_cosets; coset++) {
#pragma unroll
            for (int i = 0; i < 16; i++) x[i] = kept[i * 256 + t];
            if (coset) __syncthreads();
            StridedTables<LEVELS>(down_words + coset * WORDS, log_stride).down_levels(x, buffer);
#pragma unroll
            for (int i = 0; i < 16; i++) words[((first_coset + coset) << log_size) + at.lower(i)] = x[i];
        }
    }
}

// One matrix of columns of at most 4096 words.
struct Whole {
    u64 first;  // of its blocks
    const u64* source;
    u64 source_stride;
    u64* target;
    u64 target_stride, columns, log_size, log_chunks, scale;
};

struct Wholes {
    Whole of[batch::ITEMS];
};

#ifdef KERNEL_WHOLE
// All levels up and down, one column, chunk and coset a thread block: from a chunk of a column of the source to a coset
// of row columns rev(chunk) + column of the target.
extern "C" __global__ void __launch_bounds__(MAX_THREADS) whole_columns(
    const __grid_constant__ Wholes matrices, u64 count, u64 log_cosets, u64 natural, u64 shift,
    const u64* roots) {
    const Whole& m = batch::item_at(matrices.of, count, blockIdx.x);
    u32 log_size = (u32)m.log_size, size = 1u << log_size;
    u64 *x = shared, *shifts = shared + size;
    const u64* coarse = roots + 0x10000;
    bool fine = log_size + log_cosets > 16;  // some roots are no powers of the coarse one
    u64 unit = blockIdx.x - m.first, column = unit % m.columns;
    u32 coset = (u32)(unit / m.columns) & ((1u << log_cosets) - 1), chunk = (u32)(unit / m.columns >> log_cosets);
    const u64* from = m.source + column * m.source_stride + ((u64)chunk << log_size);
    u64* to = m.target + (m.columns * field::reverse_bits(chunk, m.log_chunks) + column) * m.target_stride;
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) x[natural ? field::reverse_bits(i, log_size) : i] = from[i];
    if (threadIdx.x < log_size) shifts[threadIdx.x] = field::squared(shift, threadIdx.x);
    for (u32 log_half = 0; log_half < log_size; log_half++) {
        __syncthreads();
        for (u32 pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
            u32 block = pair >> log_half, i = pair + (block << log_half), j = i + (1u << log_half);
            u32 exponent = block_exponent<1>(((u64)chunk << (log_size - 1 - log_half)) + block);
            u64 a = x[i], b = x[j];
            x[i] = field::add(a, b);
            x[j] = field::mul(field::sub(a, b), coarse[(0 - exponent) >> 16]);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) x[i] = field::mul(x[i], m.scale);
    for (int log_half = (int)log_size - 1; log_half >= 0; log_half--) {
        __syncthreads();
        for (u32 pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
            u32 block = pair >> log_half, i = pair + (block << log_half), j = i + (1u << log_half);
            u32 exponent = block_exponent<1>(((u64)coset << (log_size - 1 - log_half)) + block);
            u64 power = fine ? root_power(roots, exponent) : coarse[exponent >> 16];
            u64 c = field::mul_word(power, shifts[log_half]);
            u64 a = x[i], b = field::mul(x[j], c);
            x[i] = field::add(a, b);
            x[j] = field::sub(a, b);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) to[((u64)coset << log_size) + i] = x[i];
}
#endif

// Each kernel is a text of its own, so that they compile side by side: of these names one is defined, as the kernel's
// number of levels (`sources.ntt`).
#define NAME(name, levels) name##_##levels
#define NAMED(name, levels) NAME(name, levels)
#define KERNEL(name, levels) extern "C" __global__ void __launch_bounds__(THREADS, 3) NAMED(name, levels)

#ifdef KERNEL_DOWN_BOTTOM
KERNEL(down_bottom, KERNEL_DOWN_BOTTOM)(
    u64* data, u64 stride, u64 columns, u64 log_size, u64 log_cosets, u64 shift, const u64* roots) {
    down_bottom<KERNEL_DOWN_BOTTOM>(data, stride, columns, log_size, log_cosets, shift, roots);
}
#endif

#ifdef KERNEL_UP_BOTTOM
KERNEL(up_bottom, KERNEL_UP_BOTTOM)(
    const u64* source, u64 source_stride, u64* target, u64 target_stride, u64 columns, u64 log_size, u64 log_chunks,
    const u64* roots) {
    up_bottom<KERNEL_UP_BOTTOM>(source, source_stride, target, target_stride, columns, log_size, log_chunks, roots);
}
#endif

#ifdef KERNEL_UP_NATURAL
KERNEL(up_natural, KERNEL_UP_NATURAL)(
    const u64* source, u64 source_stride, u64* target, u64 target_stride, u64 columns, u64 log_size,
    const u64* roots) {
    up_natural<KERNEL_UP_NATURAL>(source, source_stride, target, target_stride, columns, log_size, roots);
}
#endif

#ifdef KERNEL_DOWN
KERNEL(down, KERNEL_DOWN)(
    u64* data, u64 stride, u64 columns, u64 log_size, u64 log_stride, u64 log_cosets, u64 shift, const u64* roots) {
    strided<KERNEL_DOWN, false>(data, stride, columns, log_size, log_stride, log_cosets, shift, roots);
}
#endif

#ifdef KERNEL_UP
KERNEL(up, KERNEL_UP)(
    u64* data, u64 stride, u64 columns, u64 log_size, u64 log_stride, u64 log_chunks, const u64* roots) {
    strided<KERNEL_UP, true>(data, stride, columns, log_size, log_stride, log_chunks, 1, roots);
}
#endif

#ifdef KERNEL_TURN
KERNEL(turn, KERNEL_TURN)(
    u64* data, u64 stride, u64 columns, u64 log_size, u64 log_chunks, u64 first_coset, u64 log_cosets, u64 shift,
    u64 scale, const u64* roots) {
    turn<KERNEL_TURN>(data, stride, columns, log_size, log_chunks, first_coset, log_cosets, shift, scale, roots);
}
#endif
