// Computes the cells of lanes; lanes.py defines the code, and its numbers are defines.
#include "batch.cuh"
#include "field.cuh"

struct Sources {
    u64 address[MOST_SOURCES];
};

// 1 / x of each; 0 for 0.
__device__ __forceinline__ void invert(u64 (&x)[LANES_EACH]) {
    u64 before[LANES_EACH], product = 1;
#pragma unroll
    for (int i = 0; i < LANES_EACH; i++) {
        before[i] = product;
        product = field::mul(product, x[i] ? x[i] : 1);
    }
    product = field::inverse(product);
#pragma unroll
    for (int i = LANES_EACH - 1; i >= 0; i--) {
        u64 inverse = field::mul(product, before[i]);
        product = field::mul(product, x[i] ? x[i] : 1);
        x[i] = x[i] ? inverse : 0;
    }
}

// For i in 0 .. LANES_EACH - 1.
#define ALL(statement) _Pragma("unroll") for (int i = 0; i < LANES_EACH; i++) statement; break

struct Trace {
    u64 first;  // its first block
    const ulonglong2* code;
    u64 instructions;
    u64 word;   // the first lane's word in sources of lanes
    u64 count;  // of executing lanes
    u64 lanes, height, first_clock;
    u64* main;
    u64 stride;  // words from a column to the next
};

struct Traces {
    Trace items[batch::ITEMS];
};

// A trace has blocks by LANES_EACH times their threads' lanes, of `lanes`; the first `count` of them execute. A thread
// has several, so that an instruction is decoded once for them and none of their loads waits for another. Registers are
// in shared memory, behind the code, so that an instruction can name any.
extern "C" __global__ void __launch_bounds__(LANES_THREADS) fill_lanes(Sources sources, Traces traces, u64 items) {
    const Trace& trace = batch::item_at(traces.items, items, blockIdx.x);
    u64 instructions = trace.instructions, count = trace.count, lanes = trace.lanes, height = trace.height;
    u64 word = trace.word, first_clock = trace.first_clock, stride = trace.stride;
    u64* main = trace.main;
    extern __shared__ ulonglong2 shared[];
    for (u32 k = threadIdx.x; k < instructions; k += LANES_THREADS) shared[k] = trace.code[k];
    __syncthreads();
    u64* registers = (u64*)(shared + instructions) + threadIdx.x;
    u64 begin = (blockIdx.x - trace.first) * (LANES_EACH * LANES_THREADS);
    bool idle = begin >= count;  // all of them

    u64 lane[LANES_EACH], place[LANES_EACH];
    u32 among[LANES_EACH];  // the lanes of its row
    bool executes[LANES_EACH];
#pragma unroll
    for (int i = 0; i < LANES_EACH; i++) {
        u64 number = begin + i * LANES_THREADS + threadIdx.x;
        executes[i] = number < count;
        lane[i] = word + (executes[i] ? number : count - 1);
        among[i] = (u32)number / (u32)height;
        place[i] = number < lanes ? number - among[i] * height : height;
    }

    for (u32 k = 0; k < instructions; k++) {
        ulonglong2 words = shared[k];
        u32 instruction = (u32)words.x, op = instruction & 255, d = instruction >> 8 & 255, b = instruction >> 24;
        u64 immediate = words.y;
        if (idle && op != OP_STORE) continue;
        const u64* left = registers + (instruction >> 16 & 255) * (LANES_EACH * LANES_THREADS);
        u64 x[LANES_EACH];
#pragma unroll
        for (int i = 0; i < LANES_EACH; i++) x[i] = left[i * LANES_THREADS];
        if (op == OP_STORE) {
            u64 mask = ~0ull >> b, column = (u32)immediate, step = immediate >> 32;
#pragma unroll
            for (int i = 0; i < LANES_EACH; i++)
                if (place[i] < height)
                    main[(column + among[i] * step) * stride + place[i]] = executes[i] ? x[i] >> d & mask : 0;
            continue;
        }
        u64 result[LANES_EACH];
        if (op <= OP_AT_NARROW) {
            u64 source = sources.address[immediate % MOST_SOURCES], offset = immediate >> LOG_SOURCES;
            const u64* wide = (const u64*)source;
            const u32* narrow = (const u32*)source;
            switch (op) {
                case OP_CONSTANT: ALL(result[i] = immediate);
                case OP_LANE: ALL(result[i] = wide[lane[i]]);
                case OP_LANE_NARROW: ALL(result[i] = narrow[lane[i]]);
                case OP_CLOCK: ALL(result[i] = first_clock + narrow[lane[i]]);
                case OP_AT: ALL(result[i] = wide[x[i] + offset]);
                default: ALL(result[i] = narrow[x[i] + offset]);
            }
        } else {
            u64 y[LANES_EACH];
            const u64* right = registers + b * (LANES_EACH * LANES_THREADS);
#pragma unroll
            for (int i = 0; i < LANES_EACH; i++) y[i] = b == IMMEDIATE ? immediate : right[i * LANES_THREADS];
            switch (op) {
                case OP_ADD: ALL(result[i] = x[i] + y[i]);
                case OP_SUB: ALL(result[i] = x[i] - y[i]);
                case OP_MUL: ALL(result[i] = x[i] * y[i]);
                case OP_DIV: ALL(result[i] = x[i] / y[i]);
                case OP_AND: ALL(result[i] = x[i] & y[i]);
                case OP_OR: ALL(result[i] = x[i] | y[i]);
                case OP_XOR: ALL(result[i] = x[i] ^ y[i]);
                case OP_LEFT: ALL(result[i] = x[i] << y[i]);
                case OP_RIGHT: ALL(result[i] = x[i] >> y[i]);
                case OP_EQUAL: ALL(result[i] = x[i] == y[i]);
                case OP_LESS: ALL(result[i] = x[i] < y[i]);
                case OP_FIELD_SUB: ALL(result[i] = field::sub(x[i], y[i]));
                case OP_RECENT: ALL(result[i] = y[i] - x[i] > FAR ? y[i] - 1 : x[i]);
                case OP_INVERSE:
                    invert(x);
                    ALL(result[i] = x[i]);
                default: {
                    const u64* other = registers + immediate * (LANES_EACH * LANES_THREADS);
                    ALL(result[i] = x[i] ? y[i] : other[i * LANES_THREADS]);
                }
            }
        }
        u64* target = registers + d * (LANES_EACH * LANES_THREADS);
#pragma unroll
        for (int i = 0; i < LANES_EACH; i++) target[i * LANES_THREADS] = result[i];
    }
}
