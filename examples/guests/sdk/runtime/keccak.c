/* Keccak on the machine's permutation. */
#include "zkvm.h"

#define KECCAK_F 1024
#define KECCAK_ABSORB 1034

enum { RATE = 136, RATE_WORDS = RATE / 8, STATE_WORDS = 25 };

void keccak_f(uint64_t state[25])
{
    register uint64_t *a0 __asm__("a0") = state;
    register uint64_t a7 __asm__("a7") = KECCAK_F;

    __asm__ volatile("ecall" : : "r"(a0), "r"(a7) : "memory");
}

void keccak_absorb(uint64_t state[25], const uint64_t block[17])
{
    register uint64_t *a0 __asm__("a0") = state;
    register const uint64_t *a1 __asm__("a1") = block;
    register uint64_t a7 __asm__("a7") = KECCAK_ABSORB;

    __asm__ volatile("ecall" : : "r"(a0), "r"(a1), "r"(a7) : "memory");
}

/* Absorb the blocks that begin from `data` to `last`, and return what follows them. The call leaves registers unchanged,
   so that an aligned block takes three instructions. */
static const uint8_t *absorb(uint64_t state[STATE_WORDS], const uint8_t *data, const uint8_t *last)
{
    uint64_t buffer[RATE_WORDS];
    register uint64_t *a0 __asm__("a0") = state;
    register const void *a1 __asm__("a1") = data;
    register uint64_t a7 __asm__("a7") = KECCAK_ABSORB;

    if ((uintptr_t)data % 8 == 0) {
        for (; (const uint8_t *)a1 <= last; a1 = (const uint8_t *)a1 + RATE)
            __asm__ volatile("ecall" : : "r"(a0), "r"(a1), "r"(a7) : "memory");
        return a1;
    }
    a1 = buffer;
    for (; data <= last; data += RATE) {
#pragma GCC unroll 17
        for (size_t i = 0; i < RATE_WORDS; i++)
            buffer[i] = ((const word64 *)data)[i];
        __asm__ volatile("ecall" : : "r"(a0), "r"(a1), "r"(a7) : "memory");
    }
    return data;
}

/* Copy fewer words than a block has, after one jump. */
static inline void copy(uint64_t *to, const word64 *from, size_t words)
{
#define FROM(i) case i: to[i - 1] = from[i - 1]; __attribute__((fallthrough))
    switch (words) {
    FROM(16); FROM(15); FROM(14); FROM(13); FROM(12); FROM(11); FROM(10); FROM(9);
    FROM(8); FROM(7); FROM(6); FROM(5); FROM(4); FROM(3); FROM(2); FROM(1);
    case 0: break;
    default: __builtin_unreachable();
    }
#undef FROM
}

zkvm_status zkvm_keccak256(const uint8_t *data, size_t len, zkvm_keccak256_hash *output)
{
    uint64_t state[STATE_WORDS], block[RATE_WORDS], *to = state, rest = 0;
    const uint8_t *end = data + len;

#pragma GCC unroll 25
    for (size_t i = 0; i < STATE_WORDS; i++)
        state[i] = 0;
    if (len >= RATE) {
        data = absorb(state, data, end - RATE);
#pragma GCC unroll 17
        for (size_t i = 0; i < RATE_WORDS; i++)
            block[i] = 0;
        to = block;
    }
    /* The last block. One that is also the first is written into the state, which is 0 before it. */
    size_t left = (size_t)(end - data), bits = left % 8 * 8;
    copy(to, (const word64 *)data, left / 8);
    if (len >= 8) {
        rest = *(const word64 *)(end - 8) >> 1 >> (63 - bits);
    } else {
        for (size_t i = 0; i < len; i++)
            rest |= (uint64_t)data[i] << 8 * i;
    }
    to[left / 8] = rest | 1ull << bits;
    to[RATE_WORDS - 1] ^= 1ull << 63;
    if (to == state)
        keccak_f(state);
    else
        keccak_absorb(state, block);
    for (size_t i = 0; i < sizeof *output / 8; i++)
        ((word64 *)output)[i] = state[i];
    return ZKVM_EOK;
}
