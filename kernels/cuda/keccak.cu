// Leaves of a Merkle tree: the digest of every row of several matrices, column by column, a row a thread.
#include "keccak.cuh"

constexpr int THREADS = 128;

constexpr int FEW = 128;  // columns with their addresses in a parameter, which saves an upload

struct Columns {
    const u64* address[FEW];
};

// digests[row] = Keccak-256 of word `row` stride of each of the `count` columns: `many`, or `few` if that is null. Or a
// piece of that: with `states`, (25, rows), a row begins there unless `begins`, and is stored there unless it `ends`.
extern "C" __global__ void __launch_bounds__(THREADS, keccak::RESIDENT) hash_rows(
    const __grid_constant__ Columns few, const u64* const* many, u64 count, u64 stride, u64* digests, u64 rows,
    u64* states, u64 begins, u64 ends) {
    const u64* const* columns = many ? many : few.address;
    for (u64 row = (u64)blockIdx.x * THREADS + threadIdx.x; row < rows; row += (u64)gridDim.x * THREADS) {
        u64 state[25];
        if (begins) {
            keccak::clear(state);
        } else {
#pragma unroll
            for (int i = 0; i < 25; i++) state[i] = states[i * rows + row];
        }
        u64 place = row * stride, left = count;
        const u64* const* next = columns;
        for (; left >= keccak::RATE; left -= keccak::RATE, next += keccak::RATE) {
#pragma unroll
            for (int i = 0; i < keccak::RATE; i++) state[i] ^= next[i][place];
            keccak::permute(state);
        }
        if (!ends) {
#pragma unroll
            for (int i = 0; i < 25; i++) states[i * rows + row] = state[i];
            continue;
        }
#pragma unroll
        for (int i = 0; i < keccak::RATE - 1; i++)
            if (i < left) state[i] ^= next[i][place];
        keccak::finish(state, left);
        store_digest(keccak::digest(state), digests + DIGEST * row);
    }
}
