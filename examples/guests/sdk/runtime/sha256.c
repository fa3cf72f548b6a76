/* SHA-256 on the machine's compression. */
#include "arithmetic.h"

#define SHA256 1035

void sha256_compress(uint64_t state[4], const uint64_t block[8])
{
    register uint64_t *a0 __asm__("a0") = state;
    register const uint64_t *a1 __asm__("a1") = block;
    register uint64_t a7 __asm__("a7") = SHA256;

    __asm__ volatile("ecall" : : "r"(a0), "r"(a1), "r"(a7) : "memory");
}

/* Fewer instructions than a loop, or memcpy. */
static inline void copy(uint64_t block[8], const uint8_t *data)
{
    const word64 *from = (const word64 *)data;

    block[0] = from[0], block[1] = from[1], block[2] = from[2], block[3] = from[3];
    block[4] = from[4], block[5] = from[5], block[6] = from[6], block[7] = from[7];
}

zkvm_status zkvm_sha256(const uint8_t *data, size_t len, zkvm_sha256_hash *output)
{
    enum { BLOCK = 64, LENGTH = 8 };
    uint64_t state[4] = {0xBB67AE856A09E667, 0xA54FF53A3C6EF372, 0x9B05688C510E527F, 0x5BE0CD191F83D9AB};
    uint64_t block[BLOCK / 8];
    size_t rest = len;

    check_pointer(output);
    if (len)
        check_pointer(data);
    if ((uintptr_t)data % 8) {
        for (; rest >= BLOCK; rest -= BLOCK, data += BLOCK) {
            copy(block, data);
            sha256_compress(state, block);
        }
    } else {
        for (; rest >= BLOCK; rest -= BLOCK, data += BLOCK)
            sha256_compress(state, (const uint64_t *)(const void *)data);
    }

    uint8_t *bytes = (uint8_t *)block;
    memset(block, 0, sizeof block);
    if (rest)
        memcpy(block, data, rest);
    bytes[rest] = 0x80;
    if (rest >= BLOCK - LENGTH) {
        sha256_compress(state, block);
        memset(block, 0, sizeof block);
    }
    block[BLOCK / 8 - 1] = reversed((uint64_t)len * 8);
    sha256_compress(state, block);

    uint64_t *result = (uint64_t *)(void *)output->data;
    for (int i = 0; i < 4; i++) {
        uint64_t both = reversed(state[i]); /* the earlier word above the later one */
        result[i] = both << 32 | both >> 32;
    }
    return ZKVM_EOK;
}
