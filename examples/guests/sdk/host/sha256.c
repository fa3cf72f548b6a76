/* SHA-256 in C, for programs that run without the machine's host call. */
#include "zkvm.h"

enum { ROUNDS = 64, BLOCK = 64 };

static const uint32_t CONSTANTS[ROUNDS] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
};

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

void sha256_compress(uint64_t state[4], const uint64_t block[8])
{
    const uint8_t *bytes = (const uint8_t *)block;
    uint32_t v[8], w[ROUNDS];

    for (int i = 0; i < 8; i++)
        v[i] = (uint32_t)(state[i / 2] >> (i % 2 * 32));
    for (int i = 0; i < ROUNDS; i++) {
        if (i < 16) {
            w[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 | (uint32_t)bytes[4 * i + 2] << 8 |
                   bytes[4 * i + 3];
        } else {
            uint32_t x = w[i - 15], y = w[i - 2];
            w[i] = w[i - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[i - 7] +
                   (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
        }
        uint32_t a = v[0], e = v[4];
        uint32_t sum = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) | (~e & v[6])) +
                       CONSTANTS[i] + w[i];
        uint32_t more = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        for (int j = 7; j > 0; j--)
            v[j] = v[j - 1];
        v[4] += sum;
        v[0] = sum + more;
    }
    for (int i = 0; i < 4; i++) {
        uint32_t low = (uint32_t)state[i] + v[2 * i], high = (uint32_t)(state[i] >> 32) + v[2 * i + 1];
        state[i] = (uint64_t)high << 32 | low;
    }
}

zkvm_status zkvm_sha256(const uint8_t *data, size_t len, zkvm_sha256_hash *output)
{
    uint64_t state[4] = {0xBB67AE856A09E667, 0xA54FF53A3C6EF372, 0x9B05688C510E527F, 0x5BE0CD191F83D9AB};
    uint64_t blocks = len / BLOCK + (len % BLOCK >= BLOCK - 8 ? 2 : 1);

    for (uint64_t at = 0; at < blocks * BLOCK; at += BLOCK) {
        uint64_t block[BLOCK / 8];
        uint8_t *bytes = (uint8_t *)block;

        for (size_t i = 0; i < BLOCK; i++)
            bytes[i] = at + i < len ? data[at + i] : at + i == len ? 0x80 : 0;
        for (size_t i = 0; i < 8 && at + BLOCK == blocks * BLOCK; i++)
            bytes[BLOCK - 1 - i] = (uint8_t)((uint64_t)len * 8 >> (8 * i));
        sha256_compress(state, block);
    }
    for (size_t i = 0; i < sizeof output->data; i++)
        output->data[i] = (uint8_t)(state[i / 8] >> (i % 8 / 4 * 32 + 24 - i % 4 * 8));
    return ZKVM_EOK;
}
