// The trace of BLAKE3's compressions, and the pairs of bytes that it looks up. First columns are defines.
//
// A thread has a row. It runs the compression up to there, half of it on average: some 300 operations beside 183 words
// that it writes. So threads share nothing, and neighbours write neighbouring words of each column.
#include "blake3.cuh"

struct Call {
    u32 v[16], m[16];
};

// The words of a lane in one half of its G: operands and results of its xors, before the rotations.
struct Half {
    u32 old_b, old_d, a, c, xor_b, xor_d;
};

__device__ constexpr int to_columns(int place) {
    constexpr int LIST[16] = LIST_TO_COLUMNS;
    return LIST[place];
}

__device__ constexpr int to_diagonals(int place) {
    constexpr int LIST[16] = LIST_TO_DIAGONALS;
    return LIST[place];
}

// The lane of the row before that has a word of a lane.
__device__ constexpr int reflected(int word, int lane) { return (word - lane) & 3; }

__device__ __forceinline__ u32 turned(u32 word, int bits) { return __funnelshift_r(word, word, bits); }

// A call's state and block; zeros after the IV, if it is idle.
__device__ __forceinline__ void load(
    Call& of, const u32* values, const u32* blocks, const u32* parameters, u64 calls, u64 call) {
    bool on = call < calls;
#pragma unroll
    for (int i = 0; i < 8; i++) of.v[i] = on ? values[8 * call + i] : blake3::initial(i);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        of.v[8 + i] = blake3::initial(i);
        of.v[12 + i] = on ? parameters[4 * call + i] : 0;
    }
#pragma unroll
    for (int i = 0; i < 16; i++) of.m[i] = on ? blocks[16 * call + i] : 0;
}

// Takes a call to the row, whose position is above 0: the lanes' words a, b, c, d before their G are lane[j][0..3], and
// the row's message words `of.m`.
__device__ __forceinline__ void advance(Call& of, u32 (&lane)[LANES][4], int row) {
#pragma unroll 1
    for (int round = 0; round < (row - 1) / 2; round++) {
        blake3::apply_round(of.v, of.m);
        blake3::permute(of.m);
    }
    bool diagonals = row % 2 == 0;
    if (diagonals) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            blake3::mix(of.v[i], of.v[4 + i], of.v[8 + i], of.v[12 + i], of.m[2 * i], of.m[2 * i + 1]);
    }
#pragma unroll
    for (int j = 0; j < LANES; j++)
#pragma unroll
        for (int w = 0; w < 4; w++) lane[j][w] = diagonals ? of.v[4 * w + reflected(w, j)] : of.v[4 * w + j];
    u32 moved[16];
#pragma unroll
    for (int k = 0; k < 16; k++) moved[k] = of.m[to_diagonals(k)];
#pragma unroll
    for (int k = 0; k < 16; k++) of.m[k] = diagonals ? moved[k] : of.m[k];
}

// The next half of a lane's G, whose words it replaces.
__device__ __forceinline__ Half next_half(u32 (&words)[4], u32 message, int half) {
    Half found;
    found.old_b = words[1];
    found.old_d = words[3];
    found.a = words[0] + words[1] + message;
    found.xor_d = words[3] ^ found.a;
    words[3] = turned(found.xor_d, half ? 8 : 16);
    found.c = words[2] + words[3];
    found.xor_b = words[1] ^ found.c;
    words[1] = turned(found.xor_b, half ? 7 : 12);
    words[0] = found.a;
    words[2] = found.c;
    return found;
}

// The same in the last row: b ^ d, and after a choice of the first c also a ^ c.
__device__ __forceinline__ Half last_half(u32 (&words)[4], int half) {
    Half found;
    if (half == 0) {
        u32 xor_b = turned(words[0], 20);
        found = {words[1], words[3], words[1], words[1] ^ xor_b, xor_b, words[1] ^ words[3]};
    } else {
        u32 old_d = turned(words[1] ^ words[3], 16);
        found = {words[0], old_d, 0, words[2], words[0] ^ words[2], old_d};
    }
    return found;
}

// The words of a lane in row 0: the state before, as if diagonals had led there.
__device__ __forceinline__ Half first_half(const u32 (&v)[16], int lane, int half) {
    Half found = {};
    if (half == 1) {
        found.a = v[reflected(0, lane)];
        found.xor_b = turned(v[4 + reflected(1, lane)], 25);
        found.c = v[8 + reflected(2, lane)];
        found.xor_d = turned(v[12 + reflected(3, lane)], 24);
    }
    return found;
}

// The half of a lane's G in any row.
__device__ __forceinline__ Half half_of(Call& of, u32 (&words)[4], int row, int lane, int half) {
    if (row == 0) return first_half(of.v, lane, half);
    if (row == LAST) return last_half(words, half);
    return next_half(words, of.m[2 * lane + half], half);
}

// Thread by row, of calls and of idle calls after them.
extern "C" __global__ void __launch_bounds__(128) fill_blake3(
    const u32* values, const u32* blocks, const u32* parameters, const u32* uses, u64 calls, u64* main, u64 rows) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows) return;
    u64 number = at / ROWS;
    int row = (int)(at % ROWS);
    u32 use = number < calls ? uses[number] : 0;
    Call of;
    u32 lanes[LANES][4] = {};
    load(of, values, blocks, parameters, calls, number);
    u64* column = main + at;
    column[COLUMN_POSITION * rows] = row;
    column[COLUMN_FINAL * rows] = row == LAST;
    column[COLUMN_ODD * rows] = row % 2;
    column[COLUMN_NUMBER * rows] = number;
    column[COLUMN_NODE * rows] = (use & USE_NODE) != 0;
    column[COLUMN_PART * rows] = (use & USE_PART) != 0;
    column[COLUMN_CHAIN * rows] = (use & USE_CHAIN) != 0;
    if (row) {
        advance(of, lanes, row);
    } else {
        u32 moved[16];
#pragma unroll
        for (int k = 0; k < 16; k++) moved[to_columns(k)] = of.m[k];
#pragma unroll
        for (int k = 0; k < 16; k++) of.m[k] = moved[k];
    }
#pragma unroll
    for (int k = 0; k < 16; k++) column[(COLUMN_M + k) * rows] = of.m[k];
#pragma unroll
    for (int lane = 0; lane < LANES; lane++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            Half found = half_of(of, lanes[lane], row, lane, half);
            int low_bits = half ? 7 : 4;
#pragma unroll
            for (int q = 0; q < 4; q++) {
                int cell = 16 * half + 4 * lane + q;
                u32 b = found.xor_b >> 8 * q & 255;
                column[(COLUMN_A + cell) * rows] = found.a >> 8 * q & 255;
                column[(COLUMN_D + cell) * rows] = found.xor_d >> 8 * q & 255;
                column[(COLUMN_C + cell) * rows] = found.c >> 8 * q & 255;
                column[(COLUMN_HIGH + cell) * rows] = b >> low_bits;
                column[(COLUMN_LOW + cell) * rows] = b & ((1 << low_bits) - 1);
            }
        }
}

// Adds how often the rows look up each pair of bytes on each bus; thread by row, of calls and of one idle call that
// counts `idle` times. Each lookup belongs to the later of the two rows that it reads.
extern "C" __global__ void __launch_bounds__(128) count_xors(
    const u32* values, const u32* blocks, const u32* parameters, const u32*, u64 calls, u64 idle, u64* counts) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x, number = at / ROWS;
    int row = (int)(at % ROWS);
    if (row == 0 || number > calls || (number == calls && idle == 0)) return;
    u64 times = number < calls ? 1 : idle;
    Call of;
    u32 lanes[LANES][4];
    load(of, values, blocks, parameters, calls, number);
    advance(of, lanes, row);
#pragma unroll
    for (int lane = 0; lane < LANES; lane++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            Half found = half_of(of, lanes[lane], row, lane, half);
#pragma unroll
            for (int q = 0; q < 4; q++) {
                u32 b = found.old_b >> 8 * q & 255, c = found.c >> 8 * q & 255;
                u32 d = found.old_d >> 8 * q & 255, a = found.a >> 8 * q & 255;
                atomicAdd(counts + (d << 8 | a), times);
                atomicAdd(counts + (1 + half) * PAIRS + (b << 8 | c), times);
            }
        }
}
