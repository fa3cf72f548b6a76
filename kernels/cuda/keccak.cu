// Leaves of a Merkle tree: the digest of every row of several matrices, column by column, a row a thread.
#include "keccak.cuh"

constexpr int THREADS = 128;

// digests[row] = Keccak-256 of word `row` stride of each of the columns, whose addresses are given.
extern "C" __global__ void __launch_bounds__(THREADS, 5) hash_rows(
    const u64* const* columns, u64 count, u64 stride, u64* digests, u64 rows) {
    for (u64 row = (u64)blockIdx.x * THREADS + threadIdx.x; row < rows; row += (u64)gridDim.x * THREADS) {
        u64 state[25];
        keccak::clear(state);
        u64 place = row * stride, left = count;
        const u64* const* next = columns;
        for (; left >= keccak::RATE; left -= keccak::RATE, next += keccak::RATE) {
#pragma unroll
            for (int i = 0; i < keccak::RATE; i++) state[i] ^= next[i][place];
            keccak::permute(state);
        }
#pragma unroll
        for (int i = 0; i < keccak::RATE - 1; i++)
            if (i < left) state[i] ^= next[i][place];
        keccak::finish(state, left);
        keccak::store_digest(state, digests + keccak::DIGEST * row);
    }
}
