// Fills the cells of lanes that are copies; lanes.py says what the kinds are. They, slots and limbs are defines.
typedef unsigned int u32;
typedef unsigned long long u64;

struct Cell {
    u64 kind, slot;
    const void* source;
    const u32* at;
    u64* target;
};

// Thread by lane and, in the grid's second dimension, cell.
extern "C" __global__ void fill_lanes(const Cell* cells, const u32* cycles, u64 lanes, u64 first_clock) {
    u64 lane = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
    Cell cell = cells[blockIdx.y];
    u64 place = cell.at ? cell.at[lane] : lane, word = 1;
    if (cell.kind == KIND_CLOCK || cell.kind == KIND_RECENT_CLOCK) {
        word = ((const u32*)cell.source)[place];
        if (cell.kind == KIND_CLOCK) word += first_clock;
        else if (word) word = SLOTS * word + SLOT_MEMORY;
    } else if (cell.kind != KIND_ONE) {
        word = ((const u64*)cell.source)[place];
        if (cell.kind == KIND_LOW) word &= LIMB_MASK;
        if (cell.kind == KIND_HIGH) word >>= LIMB_BITS;
    }
    if (cell.kind == KIND_RECENT || cell.kind == KIND_RECENT_CLOCK) {
        u64 now = SLOTS * (first_clock + cycles[lane]) + cell.slot;
        if (now - word > FAR) word = now - 1;
    }
    cell.target[lane] = word;
}
