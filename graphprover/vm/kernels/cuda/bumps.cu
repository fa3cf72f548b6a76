// Finds the late accesses of a cycle range, and makes their bumps; bumps.py has the formats of sought accesses and
// bumps, and their words are defines.
#include "field.cuh"

constexpr u32 WARP = 32, WARPS = 8, THREADS = WARP * WARPS, ALL = 0xffffffffu;  // of a block, as in bumps.py

struct Accessed {
    const u32* order;
    const u64 *rows, *old, *fresh;  // rows of ROW_WORDS each
    const u64* time;
    const u64 *a_at, *b_at, *d_at, *offset;
    u64 first_clock;

    __device__ const u64* row(u64 cycle) const { return rows + ROW_WORDS * cycle; }

    __device__ u64 half(u64 cycle, u32 place) const { return ((const u32*)row(cycle))[place]; }
};

// The host calls, by number: accesses and further registers.
__constant__ unsigned char WORDS_OF[LISTED] = LIST_WORDS_OF, FURTHER_OF[LISTED] = LIST_FURTHER_OF;

// The access that a block checks: of a register, up to D, or of a word of memory.
struct Part {
    u64 first, last, access, slot, word, pointer, offset;
    u32 value, time;  // columns of rows, of a register's access
    const u64* registers_at;

    // ``starts``: for each sought access, the number of blocks for the ones before it.
    __device__ Part(const Accessed& run, const u64* sought, const u64* starts, u64 many) {
        u64 low = 0, high = many;
        while (high - low > 1) {
            u64 middle = (low + high) / 2;
            if (__ldg(starts + middle) <= blockIdx.x) low = middle;
            else high = middle;
        }
        const u64* words = sought + SOUGHT_WORDS * low;
        u64 end = __ldg(words + LAST);
        first = __ldg(words + FIRST) + (blockIdx.x - __ldg(starts + low)) * BLOCK_CYCLES;
        last = first + BLOCK_CYCLES < end ? first + BLOCK_CYCLES : end;
        access = __ldg(words + ACCESS);
        slot = __ldg(words + SLOT);
        word = access >= WORD ? access - WORD : access == M2;
        pointer = __ldg(words + POINTER);
        offset = __ldg(words + OFFSET);
        value = access == B ? ROW_B : access == D ? ROW_D : ROW_A;
        time = access == B ? ROW_T_B : access == D ? ROW_T_D : ROW_T_A;
        registers_at = access == B ? run.b_at : access == D ? run.d_at : run.a_at;
    }

    __device__ bool further() const { return access >= FURTHER && access < WORD; }

    __device__ u64 before(const Accessed& run, u64 cycle) const {
        if (access <= D) return run.row(cycle)[time];
        if (further()) return run.fresh[run.half(cycle, HALF_AT) + MOST_FURTHER + access - FURTHER];
        return run.time[run.half(cycle, HALF_AT) + word];
    }

    __device__ u64 now(const Accessed& run, u64 cycle) const { return SLOTS * (cycle + run.first_clock) + slot; }

    // Whether a host call of this number makes the access: calls of one chip may differ. Other instructions do.
    __device__ bool has(u64 number) const {
        if (access < FURTHER) return true;
        u64 listed = number - FIRST_NUMBER;
        return access < WORD ? access - FURTHER < FURTHER_OF[listed] : access - WORD < WORDS_OF[listed];
    }

    __device__ bool late(const Accessed& run, u64 i) const {
        if (i >= last) return false;
        u64 cycle = run.order[i];
        return has(run.row(cycle)[ROW_A]) && now(run, cycle) - before(run, cycle) > FAR;
    }
};

extern "C" __global__ void count_bumps(
    const __grid_constant__ Accessed run, const u64* sought, const u64* starts, u64 many, u32* counts) {
    __shared__ u32 total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    Part part(run, sought, starts, many);
    u32 own = 0;
    for (u64 i = part.first + threadIdx.x; i < part.last; i += THREADS) own += part.late(run, i);
    own = __reduce_add_sync(ALL, own);
    if (threadIdx.x % WARP == 0 && own) atomicAdd(&total, own);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// ``ends``: the number of bumps of a block and all blocks before it.
extern "C" __global__ void fill_bumps(const __grid_constant__ Accessed run, const u64* sought, const u64* starts,
                                      u64 many, const u32* ends, u64* bumps, u64 count) {
    __shared__ u32 of_warp[WARPS];
    u64 place = blockIdx.x ? ends[blockIdx.x - 1] : 0;
    if (place == ends[blockIdx.x]) return;
    Part part(run, sought, starts, many);
    for (u64 begin = part.first; begin < part.last; begin += THREADS) {
        u64 i = begin + threadIdx.x;
        bool late = part.late(run, i);
        u32 found = __ballot_sync(ALL, late), warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        if (lane == 0) of_warp[warp] = __popc(found);
        __syncthreads();
        u64 own = place + __popc(found & ((1u << lane) - 1));
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) {
            if (w < warp) own += of_warp[w];
            place += of_warp[w];
        }
        __syncthreads();
        if (!late || own >= count) continue;
        u64 cycle = run.order[i], entry = run.half(cycle, HALF_ENTRY), before = part.before(run, cycle);
        const u64* row = run.row(cycle);
        u64 at, value;
        if (part.access <= D) {
            at = part.registers_at[entry];
            value = row[part.value];
        } else if (part.further()) {
            at = REGISTER_BASE + A1 + part.access - FURTHER;
            value = run.fresh[run.half(cycle, HALF_AT) + part.access - FURTHER];
        } else {
            u64 access = run.half(cycle, HALF_AT);
            if (part.access >= WORD) {
                at = (part.pointer ? run.fresh[access + part.pointer - 1] : row[ROW_B]) + 8 * part.offset;
            } else {
                at = ((row[ROW_A] + run.offset[entry]) & ~7ull) + 8 * part.word;
            }
            value = run.old[access + part.word];
        }
        u64 step = part.now(run, cycle) - 2 - before;
        bumps[AT * count + own] = at;
        bumps[TIME * count + own] = before;
        bumps[LOW * count + own] = value & 0xffffffffu;
        bumps[HIGH * count + own] = value >> 32;
        bumps[STEP_LOW * count + own] = step & 0xffff;
        bumps[STEP_HIGH * count + own] = step >> 16;
    }
}
