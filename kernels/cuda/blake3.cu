// Leaves of a Merkle tree: the digest of every row of several matrices, column by column, a row a thread.
//
// Two floors of n rows of w words: 8 w n bytes read and 32 n written; n ceil(w / 8) compressions, and n for every chunk
// after the first. On an H200 the compressions take longer, whatever w.
#include "blake3.cuh"

constexpr int THREADS = 128;
constexpr int UNROLLED = 2;  // later rounds in the code; with all six, an H100 takes 6 % longer

struct Columns {
    const u64* address[blake3::CHUNK];
};

// Words [first, first + 8) of the row at `place`, zero from word `count`. A domain has no more than 2^32 points.
template <class Addresses>
__device__ __forceinline__ void read(
    u64 (&words)[blake3::BLOCK], const Addresses& columns, u32 first, u32 count, u32 place) {
    const u64* const* column = &columns[first];
#pragma unroll
    for (int i = 0; i < blake3::BLOCK; i++) words[i] = 0;
    if (first + blake3::BLOCK <= count) {
#pragma unroll
        for (int i = 0; i < blake3::BLOCK; i++) words[i] = __ldg(column[i] + place);
    } else {
#pragma unroll
        for (int i = 0; i < blake3::BLOCK - 1; i++)
            if (first + i < count) words[i] = __ldg(column[i] + place);
    }
}

// The chaining value of words [first, last) of the row at `place`, which are a chunk, or with the flags 0 a part of one
// that `chain` is the value before. The flag `start` marks its start, `end` its end. A block is read while the one before
// it is compressed.
template <class Addresses>
__device__ __forceinline__ void hash_chunk(
    u32 (&chain)[8], const Addresses& columns, u32 first, u32 last, u32 place, u32 chunk, u32 start, u32 end) {
    u64 words[blake3::BLOCK];
    read(words, columns, first, last, place);
    if (start) blake3::start(chain);
    u32 flags = start;
#pragma unroll 1
    for (bool more = true; more; flags = 0) {
        u32 block[16], bytes = 8 * blake3::BLOCK;
#pragma unroll
        for (int i = 0; i < blake3::BLOCK; i++) blake3::split(words[i], block, i);
        more = first + blake3::BLOCK < last;
        if (!more) {
            bytes = 8 * (last - first);
            flags |= end;
        }
        first += blake3::BLOCK;
        asm volatile("" : "+r"(place));  // as if it changed: then the multipliers compute the addresses, not the ALU
        if (more) read(words, columns, first, last, place);
        blake3::compress<UNROLLED>(chain, block, chunk, bytes, flags);
    }
}

// digests[row] = BLAKE3 of word `row` stride of each of the `count` columns, at most those of a chunk.
extern "C" __global__ void __launch_bounds__(THREADS, blake3::RESIDENT) hash_rows(
    const __grid_constant__ Columns columns, u64 count, u64 stride, u64* digests, u64 rows) {
    u64 row = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    u32 chain[8];
    hash_chunk(chain, columns.address, 0, count, row * stride, 0, blake3::START, blake3::END | blake3::ROOT);
    store_digest(blake3::digest(chain), digests + DIGEST * row);
}

// The chaining value of two chunks, or of the trees over them: of the value at `place` of a thread's stack and `chain`.
__device__ __forceinline__ void join(u32 (&chain)[8], const u32* stack, u32 place, u32 flags) {
    u32 block[16];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        block[i] = stack[(8 * place + i) * THREADS];
        block[8 + i] = chain[i];
    }
    blake3::start(chain);
    blake3::compress<UNROLLED>(chain, block, 0, 8 * blake3::BLOCK, flags);
}

// The same for more columns than those of a chunk. The shared memory of a block holds the stacks of its threads: of
// chaining values of whole trees of chunks, the larger the lower, at most one for each bit of the number of chunks
// before the last.
extern "C" __global__ void __launch_bounds__(THREADS, blake3::RESIDENT) hash_long_rows(
    const u64* const* columns, u64 count, u64 stride, u64* digests, u64 rows) {
    extern __shared__ u32 stacks[];
    u64 row = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    u32 chain[8], height = 0, *stack = stacks + threadIdx.x;
    for (u64 chunk = 0, first = 0; first < count; chunk++, first += blake3::CHUNK) {
        u64 last = first + blake3::CHUNK < count ? first + blake3::CHUNK : count;
        hash_chunk(chain, columns, first, last, row * stride, chunk, blake3::START, blake3::END);
        // Trees of equal size join, and after the last chunk all do.
        u64 trees = chunk + 1;
        while (last == count ? height > 0 : trees % 2 == 0) {
            height--;
            join(chain, stack, height, last == count && !height ? blake3::PARENT | blake3::ROOT : blake3::PARENT);
            trees /= 2;
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (last < count) stack[(8 * height + i) * THREADS] = chain[i];
        height++;
    }
    store_digest(blake3::digest(chain), digests + DIGEST * row);
}

// The same for a piece of the columns, [begin, begin + count) of `all`, whose address is the first one's. Between pieces
// `states`, (values, 8, rows), have a row's stack and, inside of a chunk, the chaining value before its next block.
// `begin` is a multiple of the words of a block, and so is `count`, unless the piece is the last one.
extern "C" __global__ void __launch_bounds__(THREADS, blake3::RESIDENT) absorb_rows(
    const u64* const* columns, u64 begin, u64 count, u64 all, u32* states, u64* digests, u64 rows) {
    extern __shared__ u32 stacks[];
    u64 row = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    u32 chain[8], *stack = stacks + threadIdx.x;
    u64 stop = begin + count, chunk = begin / blake3::CHUNK;
    u32 height = __popcll(chunk);
    for (u32 i = 0; i < 8 * height; i++) stack[i * THREADS] = states[i * rows + row];
    if (begin % blake3::CHUNK) {
#pragma unroll
        for (int i = 0; i < 8; i++) chain[i] = states[(8 * height + i) * rows + row];
    }
    for (u64 first = begin; first < stop; chunk++) {
        u64 end = (chunk + 1) * blake3::CHUNK < all ? (chunk + 1) * blake3::CHUNK : all, last = end < stop ? end : stop;
        bool only = all <= blake3::CHUNK;
        u32 flags = last < end ? 0 : only ? blake3::END | blake3::ROOT : blake3::END;
        u32 start = first % blake3::CHUNK ? 0 : blake3::START;
        hash_chunk(chain, columns, first - begin, last - begin, row, chunk, start, flags);
        first = last;
        if (last < end) break;  // the piece ends inside of a chunk
        u64 trees = chunk + 1;
        while (last == all ? height > 0 : trees % 2 == 0) {
            height--;
            join(chain, stack, height, last == all && !height ? blake3::PARENT | blake3::ROOT : blake3::PARENT);
            trees /= 2;
        }
        if (last < all) {
#pragma unroll
            for (int i = 0; i < 8; i++) stack[(8 * height + i) * THREADS] = chain[i];
            height++;
        }
    }
    if (stop == all) {
        store_digest(blake3::digest(chain), digests + DIGEST * row);
        return;
    }
    for (u32 i = 0; i < 8 * height; i++) states[i * rows + row] = stack[i * THREADS];
    if (stop % blake3::CHUNK) {
#pragma unroll
        for (int i = 0; i < 8; i++) states[(8 * height + i) * rows + row] = chain[i];
    }
}
