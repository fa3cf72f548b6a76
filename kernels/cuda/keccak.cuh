// Keccak-256 (the original padding 0x01, as in Ethereum and Plonky3) of one message in the registers of one thread.
#pragma once
#include "digest.cuh"

namespace keccak {

constexpr int RATE = 17;    // words absorbed between permutations
constexpr int RESIDENT = 5;  // blocks of 128 threads that a multiprocessor runs at once, by their registers

// Iota: bit 2^j - 1 of word i is output j + 7 i of the shift register x^8 + x^6 + x^5 + x^4 + 1.
__constant__ u64 ROUND_CONSTANTS[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

// The rotation of rho for word x + 5 y: triangular numbers along the orbit of (1, 0) under pi.
__device__ constexpr int rotation(int word) {
    int x = 1, y = 0;
    for (int t = 0; t < 24; t++) {
        if (x + 5 * y == word) return (t + 1) * (t + 2) / 2 % 64;
        int next = (2 * x + 3 * y) % 5;
        x = y;
        y = next;
    }
    return 0;
}

__device__ __forceinline__ u64 rotated(u64 x, int bits) {
    u32 low = x, high = x >> 32;
    if (bits & 32) {
        u32 swap = low;
        low = high;
        high = swap;
    }
    bits &= 31;
    return (u64)__funnelshift_l(low, high, bits) << 32 | __funnelshift_l(high, low, bits);
}

// The word that theta xors into all words of a column.
__device__ __forceinline__ void flips(const u64 (&state)[25], u64 (&flip)[5]) {
    u64 parity[5], turned[5];
#pragma unroll
    for (int x = 0; x < 5; x++)
        parity[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
#pragma unroll
    for (int x = 0; x < 5; x++) turned[x] = rotated(parity[x], 1);
#pragma unroll
    for (int x = 0; x < 5; x++) flip[x] = parity[(x + 4) % 5] ^ turned[(x + 1) % 5];
}

// A round on words x + 5 y.
__device__ __forceinline__ void apply_round(u64 (&state)[25], int round) {
    u64 flip[5], moved[25];
    flips(state, flip);
#pragma unroll
    for (int word = 0; word < 25; word++) {
        constexpr int ROWS = 5;
        int x = word % ROWS, y = word / ROWS;
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = rotated(state[word] ^ flip[x], rotation(word));
    }
#pragma unroll
    for (int word = 0; word < 25; word++) {
        int x = word % 5, row = word - x;
        state[word] = moved[word] ^ (~moved[row + (x + 1) % 5] & moved[row + (x + 2) % 5]);
    }
    state[0] ^= ROUND_CONSTANTS[round];
}

// Keccak-f[1600]: its first rounds, or all.
__device__ __forceinline__ void permute(u64 (&state)[25], int rounds = 24) {
#pragma unroll 1
    for (int round = 0; round < rounds; round++) apply_round(state, round);
}

// Pads after `words` < RATE words of the last block, which are absorbed already, and permutes.
__device__ __forceinline__ void finish(u64 (&state)[25], int words) {
#pragma unroll
    for (int i = 0; i < RATE; i++)
        if (i == words) state[i] ^= 1;
    state[RATE - 1] ^= 1ull << 63;
    permute(state);
}

__device__ __forceinline__ void clear(u64 (&state)[25]) {
#pragma unroll
    for (int i = 0; i < 25; i++) state[i] = 0;
}

__device__ __forceinline__ Digest digest(const u64 (&state)[25]) { return {state[0], state[1], state[2], state[3]}; }

// Keccak-256(left || right).
__device__ __forceinline__ Digest hash_pair(const Digest& left, const Digest& right) {
    u64 state[25];
    clear(state);
#pragma unroll
    for (int i = 0; i < DIGEST; i++) {
        state[i] = left.word[i];
        state[DIGEST + i] = right.word[i];
    }
    finish(state, 2 * DIGEST);
    return digest(state);
}

// The last word of Keccak-256(seed || nonce).
__device__ __forceinline__ u64 hash_nonce(const Digest& seed, u64 nonce) {
    u64 state[25];
    clear(state);
#pragma unroll
    for (int i = 0; i < DIGEST; i++) state[i] = seed.word[i];
    state[DIGEST] = nonce;
    finish(state, DIGEST + 1);
    return state[DIGEST - 1];
}

}  // namespace keccak
