// Counts how often the rows of a trace look up each number, and cycles each entry; keys.py defines keys and terms, and
// their words are defines.
#include "batch.cuh"
#include "field.cuh"

constexpr u32 WARP = 32, ALL = 0xffffffffu, NONE = 0xffffffffu;

// Counts of a block, for places among all counts that it meets repeatedly: a place may use one slot, which belongs to
// the first place that claims it.
struct Slots {
    u32 owner[COUNT_SLOTS], number[COUNT_SLOTS];

    __device__ void clear() {
        for (u32 i = threadIdx.x; i < COUNT_SLOTS; i += blockDim.x) {
            owner[i] = NONE;
            number[i] = 0;
        }
        __syncthreads();
    }

    __device__ void add(u64* counts, u32 place, u32 many) {
        u32 slot = place % COUNT_SLOTS, before = atomicCAS(owner + slot, NONE, place);
        if (before == NONE || before == place) atomicAdd(number + slot, many);
        else atomicAdd(counts + place, (u64)many);
    }

    __device__ void flush(u64* counts) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < COUNT_SLOTS; i += blockDim.x)
            if (number[i]) atomicAdd(counts + owner[i], (u64)number[i]);
    }
};

struct Trace {
    u64 first;  // its first block
    const u64 *main, *keys, *terms;
    u64 columns, rows;
    u64 stride;  // words from a column to the next
};

struct Traces {
    Trace items[batch::ITEMS];
};

// A trace has blocks by key, and for each key by COUNT_KEYS rows. Many lanes look up one number, such as the time of a
// register's access before in a loop; so a warp counts all its lanes with the first lane's number at once.
extern "C" __global__ void count_keys(Traces traces, u64 count, u64* counts) {
    __shared__ Slots slots;
    slots.clear();
    const Trace& trace = batch::item_at(traces.items, count, blockIdx.x);
    const u64 *main = trace.main, *terms = trace.terms;
    u64 columns = trace.columns, rows = trace.rows, stride = trace.stride, parts = (rows + COUNT_KEYS - 1) / COUNT_KEYS;
    u64 own = blockIdx.x - trace.first, number_of_key = own / parts;
    const u64* key = trace.keys + KEY_WORDS * number_of_key;
    u64 first_term = number_of_key ? (key - KEY_WORDS)[TERMS_END] : 0, last_term = key[TERMS_END], flag = key[FLAG];
    u64 begin = own % parts * COUNT_KEYS, end = begin + COUNT_KEYS < rows ? begin + COUNT_KEYS : rows;
    for (u64 start = begin; start < end; start += COUNT_EACH * blockDim.x) {
        u64 number[COUNT_EACH], row[COUNT_EACH];
        bool asks[COUNT_EACH];
#pragma unroll
        for (int i = 0; i < COUNT_EACH; i++) {
            u64 own = start + i * blockDim.x + threadIdx.x;
            row[i] = own < end ? own : end - 1;
            asks[i] = own < end && (flag == columns || main[flag * stride + row[i]]);
            number[i] = key[CONSTANT];
        }
        for (u64 t = first_term; t < last_term; t++) {
            const u64* cells = main + terms[TERM_WORDS * t + COLUMN] * stride;
            u64 weight = terms[TERM_WORDS * t + WEIGHT];
#pragma unroll
            for (int i = 0; i < COUNT_EACH; i++)
                number[i] = field::add(number[i], weight == 1 ? cells[row[i]] : field::mul(cells[row[i]], weight));
        }
#pragma unroll
        for (int i = 0; i < COUNT_EACH; i++) {
            bool counted = asks[i] && number[i] < key[NUMBERS];
            u32 some = __ballot_sync(ALL, counted), place = (u32)(key[FIRST] + number[i]);
            if (!some) continue;
            u32 first = __ffs(some) - 1, wanted = __shfl_sync(ALL, place, first);
            u32 same = __ballot_sync(ALL, counted && place == wanted);
            if (threadIdx.x % WARP == first) slots.add(counts, place, __popc(same));
            else if (counted && !(same >> threadIdx.x % WARP & 1)) slots.add(counts, place, 1);
        }
    }
    slots.flush(counts);
}

// Block by COUNT_PIECE entries, `step` halves apart, of which few are different.
extern "C" __global__ void count_entries(const u32* entries, u64 step, u64 total, u64* counts) {
    __shared__ Slots slots;
    slots.clear();
    u64 begin = (u64)blockIdx.x * COUNT_PIECE, end = begin + COUNT_PIECE < total ? begin + COUNT_PIECE : total;
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        u32 entry = entries[step * i], same = __match_any_sync(__activemask(), entry);
        if (__ffs(same) - 1 == threadIdx.x % WARP) slots.add(counts, entry, __popc(same));
    }
    slots.flush(counts);
}
