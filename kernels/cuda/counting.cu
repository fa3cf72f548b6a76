// How often the rows of a trace ask for each number; what keys and terms are stands in kernels/cpu/counting.py.
#include "field.cuh"

constexpr int KEY = 5, TERM = 2;  // words

// Thread by row and, in the grid's second dimension, key.
extern "C" __global__ void count_keys(
    const u64* main, u64 columns, u64 rows, const u64* keys, const u64* terms, u64* counts) {
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const u64* key = keys + KEY * blockIdx.y;
    u64 begin = blockIdx.y ? key[-KEY] : 0, flag = key[2];
    if (flag < columns && main[flag * rows + row] == 0) return;
    u64 number = key[1];
    for (u64 t = begin; t < key[0]; t++)
        number = field::add(number, field::mul(main[terms[TERM * t] * rows + row], terms[TERM * t + 1]));
    if (number < key[4]) atomicAdd(counts + key[3] + number, 1ull);
}
