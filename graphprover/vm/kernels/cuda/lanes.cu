// Fills the cells of lanes that are copies; lanes.py says what the kinds are. They, slots and limbs are defines.
typedef unsigned int u32;
typedef unsigned long long u64;

struct Cell {
    u64 kind, slot;
    const u64* source;
    u64* target;
};

// What was accessed before the cycles began: when, and what that left in a register.
struct Held {
    const u64 *times, *values;
    u64 count;
};

// What the access at the time t left in a register.
__device__ __forceinline__ u64 old(u64 t, const u64* a, const u64* b, const u64* d, u64 first_clock, Held held) {
    if (t >> LOG_SLOTS < first_clock) {
        for (u64 i = 0; i < held.count; i++)
            if (held.times[i] == t) return held.values[i];
        return 0;
    }
    u64 slot = t & (SLOTS - 1);
    const u64* values = slot == SLOT_D ? d : slot == SLOT_B ? b : a;
    return values[(t >> LOG_SLOTS) - first_clock];
}

// Thread by lane and, in the grid's second dimension, cell.
extern "C" __global__ void fill_lanes(
    const Cell* cells, const u32* cycles, const u32* entries, const u64* a, const u64* b, const u64* d, u64 lanes,
    u64 first_clock, const u64* held_times, const u64* held_values, u64 held_count) {
    u64 lane = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
    Cell cell = cells[blockIdx.y];
    Held held = {held_times, held_values, held_count};
    u64 cycle = cycles[lane], clock = first_clock + cycle, word = 1;
    if (cell.kind == KIND_CLOCK) {
        word = clock;
    } else if (cell.kind == KIND_ENTRY) {
        word = cell.source[entries[lane]];
    } else if (cell.kind != KIND_ONE) {
        word = cell.source[cycle];
        u64 now = SLOTS * clock + cell.slot;
        switch (cell.kind) {
            case KIND_LOW: word &= LIMB_MASK; break;
            case KIND_HIGH: word >>= LIMB_BITS; break;
            case KIND_RECENT: word = now - word > FAR ? now - 1 : word; break;
            case KIND_OLD_LOW: word = old(word, a, b, d, first_clock, held) & LIMB_MASK; break;
            case KIND_OLD_HIGH: word = old(word, a, b, d, first_clock, held) >> LIMB_BITS; break;
        }
    }
    cell.target[lane] = word;
}
