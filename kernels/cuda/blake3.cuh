// BLAKE3 of messages of 64-bit words, hashed as their little-endian bytes, in the registers of one thread.
// Specification: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2021.
//
// A quarter round is 4 xors and 4 rotations, which only the ALU does, and 6 additions of two terms. The multipliers
// take those as x * 1 + y: both have 16 lanes a scheduler, so a compression takes as long as its 456 operations on the
// ALU. Additions of three terms there would save instructions, not time: they make it 568.
#pragma once
#include "digest.cuh"

namespace blake3 {

constexpr int BLOCK = 8;     // words of a compression
constexpr int CHUNK = 128;   // words with one chaining value
constexpr int RESIDENT = 8;  // blocks of 128 threads that a multiprocessor runs at once, by their registers
constexpr int LATER = 6;     // rounds after the first
constexpr u32 START = 1, END = 2, PARENT = 4, ROOT = 8;  // flags: first and last block of a chunk, two chunks, the last

__constant__ u32 ONE = 1;  // the compiler must not know it: it would add on the ALU

__device__ constexpr u32 initial(int word) {
    constexpr u32 IV[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    return IV[word];
}

// Where a round takes the message's word `place` of the next round from.
__device__ constexpr int permuted(int place) {
    constexpr int PLACES[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
    return PLACES[place];
}

__device__ __forceinline__ u32 add(u32 x, u32 y) {
    u32 sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(ONE), "r"(y));
    return sum;
}

__device__ __forceinline__ void mix(u32& a, u32& b, u32& c, u32& d, u32 first, u32 second) {
    a = add(add(a, first), b);
    d = __byte_perm(d ^ a, 0, 0x1032);
    c = add(c, d);
    b = __funnelshift_r(b ^ c, b ^ c, 12);
    a = add(add(a, second), b);
    d = __byte_perm(d ^ a, 0, 0x0321);
    c = add(c, d);
    b = __funnelshift_r(b ^ c, b ^ c, 7);
}

// A round, on the words of the message in its order.
__device__ __forceinline__ void apply_round(u32 (&v)[16], const u32 (&m)[16]) {
#pragma unroll
    for (int i = 0; i < 4; i++) mix(v[i], v[4 + i], v[8 + i], v[12 + i], m[2 * i], m[2 * i + 1]);
#pragma unroll
    for (int i = 0; i < 4; i++)
        mix(v[i], v[4 + (i + 1) % 4], v[8 + (i + 2) % 4], v[12 + (i + 3) % 4], m[8 + 2 * i], m[9 + 2 * i]);
}

__device__ __forceinline__ void permute(u32 (&m)[16]) {
    u32 next[16];
#pragma unroll
    for (int i = 0; i < 16; i++) next[i] = m[permuted(i)];
#pragma unroll
    for (int i = 0; i < 16; i++) m[i] = next[i];
}

// The chaining value after a block of `bytes` bytes, which is zero beyond them. The code holds the first round and
// `unrolled` of the later ones, a divisor of their number.
template <int unrolled = LATER>
__device__ __forceinline__ void compress(u32 (&chain)[8], const u32 (&block)[16], u64 counter, u32 bytes, u32 flags) {
    u32 v[16], m[16];
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = chain[i];
#pragma unroll
    for (int i = 0; i < 4; i++) v[8 + i] = initial(i);
    v[12] = counter;
    v[13] = counter >> 32;
    v[14] = bytes;
    v[15] = flags;
#pragma unroll
    for (int i = 0; i < 16; i++) m[i] = block[i];
    apply_round(v, m);
#pragma unroll 1
    for (int round = 0; round < LATER; round += unrolled) {
#pragma unroll
        for (int i = 0; i < unrolled; i++) {
            permute(m);
            apply_round(v, m);
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) chain[i] = v[i] ^ v[8 + i];
}

// The key of a message without one, which every chunk and every parent starts with.
__device__ __forceinline__ void start(u32 (&chain)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) chain[i] = initial(i);
}

__device__ __forceinline__ void split(u64 word, u32 (&block)[16], int place) {
    block[2 * place] = word;
    block[2 * place + 1] = word >> 32;
}

__device__ __forceinline__ Digest digest(const u32 (&chain)[8]) {
    Digest result;
#pragma unroll
    for (int i = 0; i < DIGEST; i++) result.word[i] = (u64)chain[2 * i + 1] << 32 | chain[2 * i];
    return result;
}

// BLAKE3(left || right).
__device__ __forceinline__ Digest hash_pair(const Digest& left, const Digest& right) {
    u32 chain[8], block[16];
    start(chain);
#pragma unroll
    for (int i = 0; i < DIGEST; i++) {
        split(left.word[i], block, i);
        split(right.word[i], block, DIGEST + i);
    }
    compress(chain, block, 0, 8 * BLOCK, START | END | ROOT);
    return digest(chain);
}

// The last word of BLAKE3(seed || nonce).
__device__ __forceinline__ u64 hash_nonce(const Digest& seed, u64 nonce) {
    u32 chain[8], block[16] = {};
    start(chain);
#pragma unroll
    for (int i = 0; i < DIGEST; i++) split(seed.word[i], block, i);
    split(nonce, block, DIGEST);
    compress(chain, block, 0, 8 * (DIGEST + 1), START | END | ROOT);
    return digest(chain).word[DIGEST - 1];
}

}  // namespace blake3
