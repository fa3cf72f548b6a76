// The inputs of queries: elements of many arrays, gathered in one buffer.
typedef unsigned long long u64;

constexpr int THREADS = 128;

// Some rows of an array, whose element (i, j) is the word at address + i row_step + j column_step.
struct Part {
    const u64* address;
    u64 row_step, column_step, columns;
    u64 indices, rows;  // of these rows in the list of all: the first, how many
    u64 target, target_step;  // address of its first row, and distance of rows
};

// The part number blockIdx.x, by threads with consecutive columns.
extern "C" __global__ void __launch_bounds__(THREADS) gather(const Part* parts, const u64* indices, u64* target) {
    Part part = parts[blockIdx.x];
    for (u64 k = (u64)blockIdx.y * THREADS + threadIdx.x; k < part.rows * part.columns; k += (u64)gridDim.y * THREADS) {
        u64 i = k / part.columns, j = k % part.columns;
        target[part.target + i * part.target_step + j] =
            part.address[indices[part.indices + i] * part.row_step + j * part.column_step];
    }
}
