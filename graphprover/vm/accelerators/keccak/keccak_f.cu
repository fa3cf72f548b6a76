// Traces of the tables of Keccak-f from the states before calls; first columns and the tables' constants are defines.
#include "keccak.cuh"

constexpr u64 SPREAD = 0x0001000100010001;  // the bits of a class of a word, as digits of 16 bits
// The highest 16 bits of a product of digits with a factor are their number in base 11, turned by some places.
__constant__ u64 FACTORS[4] = {FACTOR_0, FACTOR_1, FACTOR_2, FACTOR_3};

__device__ __forceinline__ u64 spread(u64 word, int c) { return word >> c & SPREAD; }

__device__ __forceinline__ u64 number(u64 digits, int by = 0) { return digits * FACTORS[by] >> 48; }

// The constant that the state of a block's row has from the round before.
__device__ __forceinline__ u64 constant_of(int row) { return row < 2 ? 0 : keccak::ROUND_CONSTANTS[row - 2]; }

// By how many places rho turns a chunk.
__device__ __forceinline__ int turn(int word, int c) { return (c + keccak::rotation(word)) >> 4 & 3; }

__device__ __forceinline__ void load(u64 (&state)[25], const u64* states, u64 stride, u64 call) {
#pragma unroll
    for (int word = 0; word < 25; word++) state[word] = states[word * stride + call];
}

// Applies rho and pi.
__device__ __forceinline__ void move(const u64 (&theta)[25], u64 (&moved)[25]) {
#pragma unroll
    for (int word = 0; word < 25; word++) {
        constexpr int ROWS_OF_STATE = 5;
        int x = word % ROWS_OF_STATE, y = word / ROWS_OF_STATE;
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = keccak::rotated(theta[word], keccak::rotation(word));
    }
}

// The words after rho and pi from which chi leads to the state.
__device__ __forceinline__ void before_chi(const u64 (&state)[25], u64 (&moved)[25]) {
#pragma unroll
    for (int y = 0; y < 25; y += 5)
#pragma unroll
        for (int x = 0; x < 5; x++) {
            u64 a = state[x + y], one = state[(x + 1) % 5 + y], two = state[(x + 2) % 5 + y];
            u64 three = state[(x + 3) % 5 + y], four = state[(x + 4) % 5 + y];
            moved[x + y] = a ^ (~one & (two ^ (~three & (four ^ (~a & (one ^ (~two & three)))))));
        }
}

// The parities C of a state, and the state after theta in its place.
__device__ __forceinline__ void apply_theta(u64 (&state)[25], u64 (&parity)[5]) {
#pragma unroll
    for (int x = 0; x < 5; x++)
        parity[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
#pragma unroll
    for (int word = 0; word < 25; word++)
        state[word] ^= parity[(word + 4) % 5] ^ keccak::rotated(parity[(word + 1) % 5], 1);
}

// Row 0 of a block: the words from which rho, pi and chi lead to the state, in its place, and no parities.
__device__ __forceinline__ void begin(u64 (&state)[25], u64 (&parity)[5]) {
    u64 moved[25];
    before_chi(state, moved);
#pragma unroll
    for (int word = 0; word < 25; word++) {
        int x = word % 5, y = word / 5, turns = keccak::rotation(word);
        state[word] = keccak::rotated(moved[y + 5 * ((2 * x + 3 * y) % 5)], (64 - turns) % 64);
    }
#pragma unroll
    for (int x = 0; x < 5; x++) parity[x] = 0;
}

// Thread by row: neighbours write neighbouring words of each column. `states` and `clocks` begin at the first call.
extern "C" __global__ void __launch_bounds__(128) fill_keccak_rounds(
    const u64* states, u64 stride, const u64* clocks, u64 calls, u64* main, u64 rows) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows) return;
    u64 call = at / ROUND_ROWS, state[25] = {}, parity[5] = {}, clock = 0, iota = 0;
    int row = (int)(at % ROUND_ROWS);
    bool on = call < calls;
    if (on) {
        load(state, states, stride, call);
        clock = clocks[call];
        if (row == 0) {
            begin(state, parity);
        } else {
            keccak::permute(state, row - 1);
            apply_theta(state, parity);
        }
        iota = parity[4] ^ constant_of(row);
    }
    u64* column = main + at;
    column[CALL * rows] = clock;
#pragma unroll
    for (int j = 0; j < 5; j++) {
        column[(STEP + j) * rows] = on && j == row % 5;
        column[(TURN + j) * rows] = on && j == row / 5;
    }
#pragma unroll
    for (int i = 0; i < 5; i++) column[(IOTA + i) * rows] = number(spread(iota, (1 << i) - 1));
#pragma unroll
    for (int x = 0; x < 5; x++) {
#pragma unroll 4
        for (int c = 0; c < 16; c++) column[(PARITY + 16 * x + c) * rows] = number(spread(parity[x], c));
        column[(PARITY_TURNED + x) * rows] = number(spread(parity[x], 15), 1);
    }
    u64* copy = column + TURNED * rows;
#pragma unroll
    for (int word = 0; word < 25; word++) {
#pragma unroll 4
        for (int c = 0; c < 16; c++) {
            u64 digits = spread(state[word], c);
            column[(THETA + 16 * word + c) * rows] = number(digits);
            if (int by = turn(word, c)) {
                *copy = number(digits, by);
                copy += rows;
            }
        }
    }
}

// Thread by row, as above.
extern "C" __global__ void __launch_bounds__(128) fill_keccak_planes(
    const u64* states, u64 stride, const u64* clocks, u64 calls, u64* main, u64 rows) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows) return;
    u64 call = at / PLANE_ROWS, clock = 0, parity[5] = {}, words[5] = {};
    int row = (int)(at % PLANE_ROWS), plane = row % 5;
    bool on = call < calls, after = on && row >= 5;
    if (on) {
        u64 state[25], moved[25];
        load(state, states, stride, call);
        clock = clocks[call];
        keccak::permute(state, after ? 23 : 0);
        apply_theta(state, parity);
        move(state, moved);
#pragma unroll
        for (int word = 0; word < 25; word++)
            if (plane == word / 5) words[word % 5] = after ? moved[word] : state[word];
    }
    u64* column = main + at;
    column[ON * rows] = on;
    column[AFTER * rows] = after;
    column[PLANE_CALL * rows] = clock;
    column[PLANE * rows] = on ? plane : 0;
    u64 last = after && plane == 0 ? keccak::ROUND_CONSTANTS[23] : 0;
#pragma unroll
    for (int x = 0; x < 5; x++) {
        u64 shifted = keccak::rotated(parity[(x + 1) % 5], 1), left = parity[(x + 4) % 5];
#pragma unroll 4
        for (int c = 0; c < 16; c++) {
            u64 digits = 2 * spread(words[x], c);
            if (after) {
                digits += spread(words[(x + 1) % 5], c) + 3 * spread(words[(x + 2) % 5], c);
                if (x == 0) digits += 2 * spread(last, c);
            } else {
                digits += 2 * (spread(left, c) + spread(shifted, c));
            }
            u64 bits = digits >> 1 & SPREAD;
            column[(SUM + 16 * x + c) * rows] = number(digits);
            column[(LOW + 16 * x + c) * rows] = bits & 0x10001;
            column[(HIGH + 16 * x + c) * rows] = bits >> 32;
        }
    }
}

// T of a step and what its row has: `moved` is T of the step before after rho and pi, `state` is of the call.
__device__ __forceinline__ void reach_step(u64 (&state)[25], u64 (&moved)[25], u64 (&parity)[5], int step) {
    if (step == 0) {
        before_chi(state, moved);
    } else {
        keccak::permute(state, step - 1);
        apply_theta(state, parity);
        move(state, moved);
#pragma unroll
        for (int word = 0; word < 25; word++) {
            int x = word % 5, y = word - x;
            state[word] = moved[word] ^ (~moved[y + (x + 1) % 5] & moved[y + (x + 2) % 5]);
        }
        state[0] ^= constant_of(step + 1);
    }
    apply_theta(state, parity);
}

// Thread by row, as above.
extern "C" __global__ void __launch_bounds__(128) fill_keccak_classes(
    const u64* states, u64 stride, const u64* clocks, u64 calls, u64* main, u64 rows) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows) return;
    u64 call = at / CLASS_ROWS, theta[25] = {}, moved[25] = {}, parity[5] = {}, clock = 0, constant = 0;
    int row = (int)(at % CLASS_ROWS), step = row / 16, c = row % 16;
    bool on = call < calls;
    if (on) {
        load(theta, states, stride, call);
        clock = clocks[call];
        reach_step(theta, moved, parity, step);
        constant = constant_of(step + 1);
    }
    u64* column = main + at;
    column[CLASSES_ON * rows] = on;
    for (int i = 1; i < STEP_BASE; i++) {
        column[(CLASSES_STEP + i - 1) * rows] = on && step % STEP_BASE == i;
        column[(CLASSES_TURN + i - 1) * rows] = on && step / STEP_BASE == i;
    }
    for (int i = 1; i < 16; i++) column[(CLASSES_REACHED + i - 1) * rows] = on && c >= i;
    column[CLASSES_CALL * rows] = clock;
    column[CLASSES_CONSTANT * rows] = number(spread(constant, c));
    column[CLASSES_IOTA * rows] = number(spread(parity[4] ^ constant, c));
#pragma unroll
    for (int x = 0; x < 5; x++) {
        u64 digits = spread(parity[x], c);
        column[(CLASSES_PARITY + x) * rows] = number(digits);
        column[(CLASSES_PARITY_TURNED + x) * rows] = number(digits, c == 15);
        column[(CLASSES_SHIFTED + x) * rows] = number(spread(keccak::rotated(parity[x], 1), c));
    }
#pragma unroll
    for (int word = 0; word < 25; word++) {
        u64 digits = spread(theta[word], c);
        column[(CLASSES_THETA + word) * rows] = number(digits);
        column[(CLASSES_MOVED + word) * rows] = number(spread(moved[word], c));
        if (word) column[(CLASSES_TURNED + word - 1) * rows] = number(digits, turn(word, c));
    }
}

// The bits of the classes from `c` on of a limb's two halves, of which `c` is the lowest.
__device__ __forceinline__ u64 from_class(u32 limb, int c) { return (limb & 0xffff) >> c | limb >> 16 >> c << 16; }

// Thread by row, as above.
extern "C" __global__ void __launch_bounds__(128) fill_keccak_limbs(
    const u64* states, u64 stride, const u64* clocks, u64 calls, u64* main, u64 rows) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows) return;
    u64 call = at / LIMB_ROWS, clock = 0, parity[5] = {}, words[5] = {}, theta[5] = {};
    int block = (int)(at % LIMB_ROWS) / LIMB_BLOCK, plane = block % 5, left = 15 - (int)(at % LIMB_ROWS) % LIMB_BLOCK;
    bool on = call < calls, after = on && block >= 5;
    if (on) {
        u64 state[25];
        load(state, states, stride, call);
        clock = clocks[call];
        if (after) keccak::permute(state);
#pragma unroll
        for (int word = 0; word < 25; word++)
            if (plane == word / 5) words[word % 5] = state[word];
        apply_theta(state, parity);
#pragma unroll
        for (int word = 0; word < 25; word++)
            if (plane == word / 5) theta[word % 5] = state[word];
    }
    u64* column = main + at;
    column[LIMBS_ON * rows] = on && left >= 0;
    column[LIMBS_ENDS * rows] = on && left < 0;
    column[LIMBS_AFTER * rows] = after;
    column[LIMBS_CALL * rows] = clock;
    column[LIMBS_PLANE * rows] = on ? plane : 0;
    column[LIMBS_OF_CLASS * rows] = !on ? 0 : left >= 0 ? left : MINUS_ONE;
#pragma unroll
    for (int x = 0; x < 5; x++) {
        u64 shifted = keccak::rotated(parity[(x + 1) % 5], 1), digits = 0;
        if (left >= 0) digits = 2 * (spread(theta[x], left) + spread(parity[(x + 4) % 5], left) + spread(shifted, left));
        column[(LIMBS_SUM + x) * rows] = number(digits);
        column[(LIMBS_LOW + x) * rows] = from_class((u32)words[x], left + 1);
        column[(LIMBS_HIGH + x) * rows] = from_class(words[x] >> 32, left + 1);
    }
}

// Some of the counts of a tag, which a block counts in shared memory.
struct Counts {
    u32* found;
    u32 first;

    __device__ __forceinline__ void add(u64 digits) const {
        u32 i = (u32)number(digits) - first;
        if (i < COUNTED) atomicAdd(found + i, 1u);
    }
};

__device__ __forceinline__ u64 chi(const u64 (&moved)[25], int word, int c) {
    int row = word - word % 5;
    return 2 * spread(moved[word], c) + spread(moved[row + (word + 1) % 5], c) +
           3 * spread(moved[row + (word + 2) % 5], c);
}

// Counts the lookups of one row of a block that have the tag: `moved` is of the row before. Narrow tables look up the
// constant in all classes, and the state after the permutation as they do the one before.
__device__ __forceinline__ void count_row(
    const Counts& counts, int tag, int row, bool narrow, const u64 (&moved)[25], const u64 (&theta)[25],
    const u64 (&parity)[5]) {
    u64 constant = constant_of(row);
#pragma unroll 1
    for (int c = 0; c < 16; c++) {
        bool iota = narrow || (c & (c + 1)) == 0;  // classes with bits of constants: 0, 1, 3, 7, 15
        if (tag == SECOND && iota) counts.add(2 * (spread(parity[4], c) + spread(constant, c)));
        bool sums = tag == (c < 15 ? FIRST : FIRST_TURNED_1);
        bool halves = tag == HALVES && (row == 1 || row == ROUND_ROWS);
#pragma unroll
        for (int x = 0; x < 5; x++) {
            u64 left = parity[(x + 4) % 5], shifted = spread(keccak::rotated(parity[(x + 1) % 5], 1), c);
            u64 flip = spread(left, c) + shifted;
            if (sums) {
                u64 total = flip;
#pragma unroll
                for (int y = 0; y < 25; y += 5) total += spread(theta[x + y], c);
                counts.add(total);
            }
#pragma unroll
            for (int y = 0; y < 25; y += 5) {
                u64 with_iota = x + y == 0 ? spread(left ^ constant, c) + shifted : flip;
                if (tag < 4 && turn(x + y, c) == tag) counts.add(chi(moved, x + y, c) + 2 * with_iota);
                if (halves) counts.add(2 * (spread(theta[x + y], c) + flip));
            }
        }
    }
}

// Adds how often calls look up each number; thread by call, and by blockIdx.y a tag and some of its numbers.
extern "C" __global__ void __launch_bounds__(128) count_keccak_digits(
    const u64* states, u64 calls, u64* target, u64 narrow) {
    __shared__ u32 found[COUNTED];
    for (u32 i = threadIdx.x; i < COUNTED; i += blockDim.x) found[i] = 0;
    __syncthreads();
    int tag = blockIdx.y / PARTS, last = narrow ? ROUND_ROWS : ROUND_ROWS - 1;
    Counts counts = {found, (u32)(blockIdx.y % PARTS * COUNTED)};
    for (u64 call = (u64)blockIdx.x * blockDim.x + threadIdx.x; call < calls; call += (u64)gridDim.x * blockDim.x) {
        u64 state[25], moved[25], parity[5];
        load(state, states, calls, call);
        before_chi(state, moved);
#pragma unroll 1
        for (int row = 1; row <= last; row++) {
            apply_theta(state, parity);
            count_row(counts, tag, row, narrow, moved, state, parity);
            move(state, moved);
            if (row == last) break;
#pragma unroll
            for (int word = 0; word < 25; word++) {
                int x = word % 5, y = word - x;
                state[word] = moved[word] ^ (~moved[y + (x + 1) % 5] & moved[y + (x + 2) % 5]);
            }
            state[0] ^= constant_of(row + 1);
        }
        if (tag == HALVES && !narrow)
#pragma unroll 1
            for (int c = 0; c < 16; c++)
#pragma unroll
                for (int word = 0; word < 25; word++)
                    counts.add(chi(moved, word, c) + (word ? 0 : 2 * spread(keccak::ROUND_CONSTANTS[23], c)));
    }
    __syncthreads();
    u64* own = target + tag * NUMBERS + counts.first;
    for (u32 i = threadIdx.x; i < COUNTED && counts.first + i < NUMBERS; i += blockDim.x)
        if (found[i]) atomicAdd(own + i, (u64)found[i]);
}

// Thread by state: all rounds.
extern "C" __global__ void __launch_bounds__(128) permuted(const u64* states, u64* target, u64 calls) {
    u64 call = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (call >= calls) return;
    u64 state[25];
#pragma unroll
    for (int word = 0; word < 25; word++) state[word] = states[word * calls + call];
    keccak::permute(state);
#pragma unroll
    for (int word = 0; word < 25; word++) target[word * calls + call] = state[word];
}
