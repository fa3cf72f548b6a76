/* Keccak on the machine's permutation. */
#include "zkvm.h"

#define KECCAK_F 1024

void keccak_f(uint64_t state[25])
{
    register uint64_t *a0 __asm__("a0") = state;
    register uint64_t a7 __asm__("a7") = KECCAK_F;

    __asm__ volatile("ecall" : : "r"(a0), "r"(a7) : "memory");
}

zkvm_status zkvm_keccak256(const uint8_t *data, size_t len, zkvm_keccak256_hash *output)
{
    enum { RATE = 136 };
    uint64_t state[25] = {0};

    for (; len >= RATE; len -= RATE, data += RATE) {
        for (size_t i = 0; i < RATE / 8; i++)
            state[i] ^= ((const word64 *)data)[i];
        keccak_f(state);
    }
    size_t i = 0;
    uint8_t *bytes = (uint8_t *)state;
    for (; i + 8 <= len; i += 8)
        state[i / 8] ^= *(const word64 *)(data + i);
    if (i < len) {
        uint64_t rest = 0;
        memcpy(&rest, data + i, len - i);
        state[i / 8] ^= rest;
    }
    bytes[len] ^= 0x01;
    bytes[RATE - 1] ^= 0x80;
    keccak_f(state);
    memcpy(output, state, sizeof *output);
    return ZKVM_EOK;
}
