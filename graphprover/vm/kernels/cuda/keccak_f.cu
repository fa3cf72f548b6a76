// Traces of Keccak-f from the states before calls; first columns and the number of rounds are defines.
#include "keccak.cuh"

// The state before the round of a table's row: a call's, or without a call the state of zeros.
__device__ __forceinline__ void before_round(u64 (&state)[25], const u64* states, u64 stride, u64 calls, u64 row) {
    u64 call = row / ROUNDS;
#pragma unroll
    for (int word = 0; word < 25; word++) state[word] = call < calls ? states[word * stride + call] : 0;
    keccak::permute(state, (int)(row % ROUNDS));
}

__device__ __forceinline__ void store_limbs(u64* column, u64 rows, const u64 (&state)[25]) {
#pragma unroll
    for (int word = 0; word < 25; word++) {
        column[2 * word * rows] = (u32)state[word];
        column[(2 * word + 1) * rows] = state[word] >> 32;
    }
}

__device__ __forceinline__ void store_bits(u64* column, u64 rows, u64 word) {
#pragma unroll 16
    for (int z = 0; z < 64; z++) column[z * rows] = word >> z & 1;
}

// Thread by row: neighbours write neighbouring words of each column. `states` and `clocks` begin at the first call.
extern "C" __global__ void __launch_bounds__(128) fill_keccak_f(
    const u64* states, u64 stride, const u64* clocks, u64 calls, u64* main, u64 rows) {
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    u64 call = row / ROUNDS, state[25], flip[5];
    int round = (int)(row % ROUNDS);
    before_round(state, states, stride, calls, row);
    u64* column = main + row;
    column[CALL * rows] = call < calls ? clocks[call] : 0;
    column[ACTIVE * rows] = call < calls;
    for (int r = 0; r < ROUNDS; r++) column[(ROUND + r) * rows] = r == round;
    store_limbs(column + INPUT * rows, rows, state);
    keccak::flips(state, flip);
#pragma unroll
    for (int x = 0; x < 5; x++) store_bits(column + (FLIP + 64 * x) * rows, rows, flip[x]);
#pragma unroll
    for (int word = 0; word < 25; word++)
        store_bits(column + (THETA + 64 * word) * rows, rows, state[word] ^ flip[word % 5]);
    keccak::apply_round(state, round);
    u64 chi = state[0] ^ keccak::ROUND_CONSTANTS[round];
#pragma unroll
    for (int i = 0; i < IOTA_BITS; i++) column[(CHI + i) * rows] = chi >> ((1 << i) - 1) & 1;
    store_limbs(column + OUTPUT * rows, rows, state);
}

// Sums of bits of 64 places at once: a bit of each in a word, lowest first.
struct Sums {
    u64 bits[4];
};

__device__ __forceinline__ Sums add(Sums a, Sums b) {
    Sums sum;
    u64 carry = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u64 either = a.bits[i] ^ b.bits[i];
        sum.bits[i] = either ^ carry;
        carry = (a.bits[i] & b.bits[i]) | (carry & either);
    }
    return sum;
}

// Bits 0 to 3 three places apart.
__device__ __forceinline__ u32 spread(u32 bits) {
    return (bits & 1) | (bits & 2) << 2 | (bits & 4) << 4 | (bits & 8) << 6;
}

// Adds how often the rows look up each even number; thread by row. A block counts in shared memory.
extern "C" __global__ void __launch_bounds__(256) count_evens(
    const u64* states, u64 stride, u64 calls, u64 rows, u64* counts) {
    __shared__ u32 found[EVENS];
    for (u32 i = threadIdx.x; i < EVENS; i += blockDim.x) found[i] = 0;
    __syncthreads();
    u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        u64 state[25], flip[5];
        before_round(state, states, stride, calls, row);
        keccak::flips(state, flip);
        Sums column[5];
#pragma unroll
        for (int x = 0; x < 5; x++) {
            column[x] = {flip[x]};
#pragma unroll
            for (int y = 0; y < 5; y++) column[x] = add(column[x], {state[x + 5 * y] ^ flip[x]});
        }
#pragma unroll
        for (int x = 0; x < 5; x++) {
            Sums turned = column[(x + 1) % 5];
#pragma unroll
            for (int i = 0; i < 4; i++) turned.bits[i] = keccak::rotated(turned.bits[i], 1);
            Sums sum = add(add(column[(x + 4) % 5], turned), {flip[x]});
            // All are even, and their halves are digits of three bits.
#pragma unroll
            for (int z = 0; z < 64; z += 4) {
                u32 number = 0;
#pragma unroll
                for (int i = 0; i < 3; i++) number |= spread((u32)(sum.bits[1 + i] >> z)) << i;
                atomicAdd(found + number, 1u);
            }
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < EVENS; i += blockDim.x)
        if (found[i]) atomicAdd(counts + i, (u64)found[i]);
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
