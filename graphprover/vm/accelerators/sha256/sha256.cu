// The trace of compressions of SHA-256: a block of threads by call, a thread by row. cpu.py is the twin.
#include "../calls.cuh"

const int SHA256_SEQUENCE = SHA256_ROUNDS + 8, SHA256_END = SHA256_FIRST_ROUND + SHA256_ROUNDS / 2;
__constant__ u32 SHA256_CONSTANTS[SHA256_ROUNDS] = LIST_SHA256_CONSTANTS;

namespace sha256 {

__device__ u32 rotate(u32 x, int count) { return x >> count | x << (32 - count); }
__device__ u32 swap(u32 x) { return (rotate(x, 8) & 0xff00ff00) | (rotate(x, 24) & 0x00ff00ff); }
__device__ u32 big_a(u32 a) { return rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22); }
__device__ u32 big_e(u32 e) { return rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25); }
__device__ u32 small_15(u32 w) { return rotate(w, 7) ^ rotate(w, 18) ^ w >> 3; }
__device__ u32 small_2(u32 w) { return rotate(w, 17) ^ rotate(w, 19) ^ w >> 10; }

// The functions of the three words before `at`.
__device__ u64 t1(const u32* e, int at) {
    u32 x = e[at - 1], y = e[at - 2], z = e[at - 3];
    return (u64)big_e(x) + (z ^ (x & (y ^ z)));
}

__device__ u64 t2(const u32* a, int at) {
    u32 x = a[at - 1], y = a[at - 2], z = a[at - 3];
    return (u64)big_a(x) + ((x & y) | (z & (x | y)));
}

__device__ u32 word(const u64* words, int i) { return (u32)(words[i / 2] >> 32 * (i % 2)); }

// Writes the sequences of all rows; words without rounds are 0.
__device__ void run(const u64* old, u32* a, u32* e, u32* w) {
    const int padding = 2 * SHA256_FIRST_ROUND;
    for (int i = 0; i < 4; i++) {
        a[3 - i] = word(old + BLOCK_WORDS, i);
        e[3 - i] = word(old + BLOCK_WORDS, 4 + i);
        w[i] = w[padding + SHA256_ROUNDS + i] = 0;
    }
    for (int i = 0; i < SHA256_ROUNDS; i++) {
        int at = padding + i;
        w[at] = i < 16 ? swap(word(old, i)) : w[at - 16] + small_15(w[at - 15]) + w[at - 7] + small_2(w[at - 2]);
        u32 sum = (u32)t1(e, i + 4) + e[i] + SHA256_CONSTANTS[i] + w[at];
        a[i + 4] = sum + (u32)t2(a, i + 4);
        e[i + 4] = a[i] + sum;
    }
    for (int i = 0; i < 4; i++) {
        a[i + 4 + SHA256_ROUNDS] = a[i + SHA256_ROUNDS] + a[i];
        e[i + 4 + SHA256_ROUNDS] = e[i + SHA256_ROUNDS] + e[i];
    }
}

// A sum for message words, which began m rows before row r.
__device__ u64 passing(const u32* w, int r, int m, int j) {
    int first = 2 * (r - m - 1);
    u64 total = 0;
    if (r > 0 && first >= 0) total = (u64)w[first + j] + small_15(w[first + j + 1]);
    if (r > 0 && m >= SHA256_JOINED && first + 2 * SHA256_JOINED >= 0) total += w[first + 2 * SHA256_JOINED + j + 1];
    return total;
}

__device__ void put_word(const Cells& cells, int r, int column, u32 x) {
    for (int z = 0; z < 32; z++) cells(r, column + z) = x >> z & 1;
}

// Writes the bits, and what follows from the words of the row before.
__device__ void put_words(const Cells& cells, int r, const u32* a, const u32* e, const u32* w, u64 pc) {
    int at = 2 * r;
    for (int j = 0; j < 2; j++) {
        put_word(cells, r, SHA256_A + 32 * j, a[at + j]);
        put_word(cells, r, SHA256_E + 32 * j, e[at + j]);
        put_word(cells, r, SHA256_W + 32 * j, w[at + j]);
        cells(r, SHA256_BEFORE_A + j) = r ? a[at - 2 + j] : 0;
        cells(r, SHA256_BEFORE_E + j) = r ? e[at - 2 + j] : 0;
        for (int m = 0; m < SHA256_DELAY; m++) cells(r, SHA256_Y + 2 * m + j) = passing(w, r, m, j);
    }
    cells(r, SHA256_T1) = r ? t1(e, at + 2) : pc;
    cells(r, SHA256_T2) = r ? t2(a, at + 2) : 0;
    for (int i = 0; i < 4; i++) {
        int kept = r == SHA256_ROWS - 1 ? i ^ 2 : i;
        cells(r, SHA256_H + i) = r ? a[3 - kept] : 0;
        cells(r, SHA256_H + 4 + i) = r ? e[3 - kept] : 0;
    }
}

__device__ void put_carries(const Cells& cells, int r, const u32* a, const u32* e, const u32* w) {
    for (int j = 0; j < 2; j++) {
        int at = 2 * r + j;
        u64 of_a = 0, of_e = 0, of_w = 0;
        if (r >= SHA256_FIRST_ROUND && r < SHA256_END) {
            u64 sum = t1(e, at) + e[at - 4] + SHA256_CONSTANTS[at - 2 * SHA256_FIRST_ROUND] + w[at];
            of_a = sum + t2(a, at);
            of_e = sum + a[at - 4];
        } else if (r >= SHA256_END) {
            of_a = (u64)a[at - 4] + a[at - 2 * SHA256_END];
            of_e = (u64)e[at - 4] + e[at - 2 * SHA256_END];
        }
        if (r >= SHA256_BLOCK_END && r < SHA256_END) {
            of_w = small_2(w[at - 2]) + passing(w, r - 1, SHA256_DELAY - 1, j);
        }
        cells(r, SHA256_CARRY_A + j) = of_a >> 32;
        cells(r, SHA256_CARRY_E + j) = of_e >> 32;
        cells(r, SHA256_CARRY_W + j) = of_w >> 32;
    }
}

// Writes the row's place, its accesses and addresses.
__device__ void put_accesses(const Cells& cells, int r, const Cycle& cycle) {
    const int slots[] = LIST_SHA256_SLOT_OF;
    int step = r % SHA256_STEPS, turn = r / SHA256_STEPS;
    cells(r, SHA256_ON) = 1;
    for (int i = 0; i < SHA256_STEPS - 1; i++) {
        cells(r, SHA256_STEP + i) = i == step;
        cells(r, SHA256_TURN + i) = i == turn;
    }
    cells(r, SHA256_CLK) = cycle.clk;
    cells(r, SHA256_POINTER) = r < SHA256_READ_A7 ? cycle.fresh[0] : r == SHA256_READ_A7 ? cycle.number : cycle.a0;
    u64 then = cycle.now + SLOT_D, time = cycle.now + slots[turn] - 1, time_e = then - 1;
    if (r >= SHA256_FIRST_ROUND && r < SHA256_BLOCK_END) {
        time = Cycle::recent(cycle.time[r - SHA256_FIRST_ROUND], cycle.now + SLOT_MEMORY);
    } else if (r == SHA256_READ_A1) {
        time = cycle.register_time(0);
    } else if (r == SHA256_READ_A7) {
        time = cycle.t_a7;
    } else if (r == SHA256_READ_A0) {
        time = cycle.t_a0;
    } else if (r >= SHA256_END) {
        const u64* state = cycle.time + BLOCK_WORDS + SHA256_END + 1 - r;
        time = Cycle::recent(state[0], then);
        time_e = Cycle::recent(state[2], then);
    }
    cells(r, SHA256_TIME) = time;
    cells(r, SHA256_TIME_E) = time_e;
}

}  // namespace sha256

extern "C" __global__ void fill_sha256(const __grid_constant__ Calls calls, u64* main, u64 height) {
    __shared__ u32 a[SHA256_SEQUENCE], e[SHA256_SEQUENCE], w[SHA256_SEQUENCE];
    u64 index = blockIdx.x;
    int r = threadIdx.x;
    if (index >= calls.count) return;
    Cycle cycle(calls, index);
    if (r == 0) sha256::run(cycle.old, a, e, w);
    __syncthreads();
    if (r >= SHA256_ROWS) return;
    Cells cells = {main + SHA256_ROWS * index, height};
    sha256::put_words(cells, r, a, e, w, cycle.pc);
    sha256::put_carries(cells, r, a, e, w);
    sha256::put_accesses(cells, r, cycle);
}
