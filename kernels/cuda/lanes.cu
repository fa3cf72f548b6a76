// Fills the cells of lanes that are copies; what the kinds are stands in kernels/lanes.py.
typedef unsigned int u32;
typedef unsigned long long u64;

enum Kind { ONE, CLOCK, ENTRY, LOW, HIGH, RECENT, OLD_LOW, OLD_HIGH };

constexpr u64 SLOT_B = 1, SLOT_D = 3;  // of rs2 and rd, as in graphprover/vm/buses.py

struct Cell {
    u64 kind, slot;
    const u64* source;
    u64* target;
};

// What the access at the time t left in a register; 0 for the time 0.
__device__ __forceinline__ u64 old(u64 t, const u64* a, const u64* b, const u64* c) {
    if (t == 0) return 0;
    const u64* values = (t & 3) == SLOT_D ? c : (t & 3) == SLOT_B ? b : a;
    return values[(t >> 2) - 1];
}

// Thread by lane and, in the grid's second dimension, cell.
extern "C" __global__ void fill_lanes(
    const Cell* cells, const u32* cycles, const u32* entries, const u64* a, const u64* b, const u64* c, u64 far,
    u64 lanes) {
    u64 lane = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
    Cell cell = cells[blockIdx.y];
    u64 cycle = cycles[lane], word = 1;
    if (cell.kind == CLOCK) {
        word = cycle + 1;
    } else if (cell.kind == ENTRY) {
        word = cell.source[entries[lane]];
    } else if (cell.kind != ONE) {
        word = cell.source[cycle];
        u64 now = 4 * (cycle + 1) + cell.slot;
        switch (cell.kind) {
            case LOW: word &= 0xffffffffull; break;
            case HIGH: word >>= 32; break;
            case RECENT: word = now - word > far ? now - 1 : word; break;
            case OLD_LOW: word = old(word, a, b, c) & 0xffffffffull; break;
            default: word = old(word, a, b, c) >> 32;
        }
    }
    cell.target[lane] = word;
}
