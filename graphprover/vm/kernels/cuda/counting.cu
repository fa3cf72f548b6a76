// How often the rows of a trace ask for each number, and cycles meet each entry; keys.py says what keys and terms are,
// and their words are defines.
#include "field.cuh"

// Thread by row and, in the grid's second dimension, key.
extern "C" __global__ void count_keys(
    const u64* main, u64 columns, u64 rows, const u64* keys, const u64* terms, u64* counts) {
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const u64* key = keys + KEY_WORDS * blockIdx.y;
    u64 begin = blockIdx.y ? (key - KEY_WORDS)[TERMS_END] : 0, flag = key[FLAG];
    if (flag < columns && main[flag * rows + row] == 0) return;
    u64 number = key[CONSTANT];
    for (u64 t = begin; t < key[TERMS_END]; t++) {
        const u64* term = terms + TERM_WORDS * t;
        number = field::add(number, field::mul(main[term[COLUMN] * rows + row], term[WEIGHT]));
    }
    if (number < key[NUMBERS]) atomicAdd(counts + key[FIRST] + number, 1ull);
}

// Block by PIECE entries, of which few are different: they are counted in shared memory where they have a slot.
extern "C" __global__ void count_entries(const unsigned int* entries, u64 total, u64* counts) {
    __shared__ unsigned int owner[COUNT_SLOTS], number[COUNT_SLOTS];
    const unsigned int none = 0xffffffffu;
    for (unsigned int i = threadIdx.x; i < COUNT_SLOTS; i += blockDim.x) {
        owner[i] = none;
        number[i] = 0;
    }
    __syncthreads();
    u64 begin = (u64)blockIdx.x * COUNT_PIECE, end = begin + COUNT_PIECE < total ? begin + COUNT_PIECE : total;
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        unsigned int entry = entries[i], slot = entry % COUNT_SLOTS;
        unsigned int same = __match_any_sync(__activemask(), entry);
        if (__ffs(same) - 1 != threadIdx.x % 32) continue;
        unsigned int before = atomicCAS(owner + slot, none, entry);
        if (before == none || before == entry) atomicAdd(number + slot, __popc(same));
        else atomicAdd(counts + entry, (u64)__popc(same));
    }
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < COUNT_SLOTS; i += blockDim.x)
        if (number[i]) atomicAdd(counts + owner[i], (u64)number[i]);
}
