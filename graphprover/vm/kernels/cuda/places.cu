// Copies parts of columns into a trace, a block each: its source, its place in the trace, its rows.
#include "field.cuh"

extern "C" __global__ void place_columns(const u64* moves, u64* main) {
    const u64* move = moves + 3 * blockIdx.x;
    const u64* source = (const u64*)move[0];
    u64* target = main + move[1];
    for (u64 row = threadIdx.x; row < move[2]; row += blockDim.x) target[row] = source[row];
}
