// How often the rows of a trace ask for each number; keys.py says what keys and terms are, and their words are defines.
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
