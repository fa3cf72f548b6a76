// The rows of steps in a trace of `machine`, and the memory cells that they look up. First columns are defines.
#include "ext.cuh"

namespace {

struct Step {
    u64 flags;
    u64 at[4];  // addresses of the operands
};

// An address plus an offset mod p, which can be negative.
__device__ __forceinline__ u64 moved(u64 base, u64 offset) { return base + offset - (offset >> 63 ? field::P : 0); }

// `fields`: (7, instructions); `cells`: (3, size).
__device__ __forceinline__ Step decoded(
    const u64* fields, u64 instructions, u64 pc, u64 frame, const u64* cells, u64 size) {
    Step step;
    step.flags = fields[pc];
#pragma unroll
    for (int i = 0; i < 4; i++) step.at[i] = moved(frame, fields[(3 + i) * instructions + pc]);
    if (step.flags & GATE) step.at[1] = moved(cells[size + step.at[0]], fields[4 * instructions + pc]);
    if (step.flags & FROM_MEMORY) step.at[3] = moved(cells[step.at[0]], fields[6 * instructions + pc]);
    return step;
}

__device__ __forceinline__ bool uses(u64 flags, int operand) {
    return operand % 2 == 0 || flags & (operand == 1 ? USES_B : USES_D);
}

}  // namespace

// Thread by step.
extern "C" __global__ void __launch_bounds__(128) fill_steps(
    const u64* fields, u64 instructions, const u32* pcs, const u32* frames, const u32* asked, u64 steps,
    const u64* cells, u64 size, u64* main, u64 rows) {
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= steps) return;
    u64* column = main + row;
    u64 pc = pcs[row], frame = frames[row];
    Step step = decoded(fields, instructions, pc, frame, cells, size);
    column[COLUMN_ON * rows] = 1;
    column[COLUMN_PC * rows] = pc;
    column[COLUMN_FRAME * rows] = frame;
    column[COLUMN_ASKED * rows] = asked[row];
#pragma unroll
    for (int i = 0; i < FLAGS; i++) column[(COLUMN_FLAGS + i) * rows] = step.flags >> i & 1;
    column[COLUMN_K * rows] = fields[instructions + pc];
    column[COLUMN_L * rows] = fields[2 * instructions + pc];
    column[COLUMN_OFFSET_B * rows] = fields[4 * instructions + pc];
    column[COLUMN_OFFSET_D * rows] = fields[6 * instructions + pc];
#pragma unroll
    for (int operand = 0; operand < 4; operand++) {
        column[(COLUMN_AT + operand) * rows] = step.at[operand];
        Ext value = {};
        if (uses(step.flags, operand)) value = ext::load(cells, size, step.at[operand]);
        ext::store(column + (COLUMN_A + 3 * operand) * rows, rows, 0, value);
    }
}

// Adds how often each memory cell is looked up; thread by step.
extern "C" __global__ void __launch_bounds__(128) count_operands(
    const u64* fields, u64 instructions, const u32* pcs, const u32* frames, u64 steps, const u64* cells, u64 size,
    u64* counts) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= steps) return;
    Step step = decoded(fields, instructions, pcs[i], frames[i], cells, size);
#pragma unroll
    for (int operand = 0; operand < 4; operand++)
        if (uses(step.flags, operand)) atomicAdd(counts + step.at[operand], 1ull);
}
