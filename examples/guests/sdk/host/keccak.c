/* Keccak in C, for programs that run without the machine's host calls. */
#include "zkvm.h"

enum { ROUNDS = 24, RATE = 136, RATE_WORDS = RATE / 8 };

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << (bits & 63) | word >> (-bits & 63);
}

/* Return the constant of the next round: bits of a shift register, each at a position 2^j - 1. */
static uint64_t next_constant(uint8_t *shift_register)
{
    uint64_t constant = 0;

    for (unsigned position = 1; position <= 64; position *= 2) {
        if (*shift_register & 1)
            constant |= 1ull << (position - 1);
        *shift_register = (uint8_t)(*shift_register << 1 ^ (*shift_register & 0x80 ? 0x71 : 0));
    }
    return constant;
}

void keccak_f(uint64_t state[25])
{
    uint8_t shift_register = 1;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t parity[5], mixed, row[5];

        for (int x = 0; x < 5; x++)
            parity[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
        for (int x = 0; x < 5; x++) {
            mixed = parity[(x + 4) % 5] ^ rotate(parity[(x + 1) % 5], 1);
            for (int y = 0; y < 25; y += 5)
                state[y + x] ^= mixed;
        }
        /* Each of 24 words moves to the next place of one cycle, rotated by a triangular number. */
        uint64_t moved = state[1];
        for (int step = 1, x = 1, y = 0; step <= 24; step++) {
            int next = (2 * x + 3 * y) % 5;
            x = y;
            y = next;
            uint64_t displaced = state[5 * y + x];
            state[5 * y + x] = rotate(moved, (unsigned)(step * (step + 1) / 2));
            moved = displaced;
        }
        for (int y = 0; y < 25; y += 5) {
            for (int x = 0; x < 5; x++)
                row[x] = state[y + x];
            for (int x = 0; x < 5; x++)
                state[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
        }
        state[0] ^= next_constant(&shift_register);
    }
}

void keccak_absorb(uint64_t state[25], const uint64_t block[17])
{
    uint64_t words[RATE_WORDS];

    for (size_t i = 0; i < RATE_WORDS; i++)
        words[i] = block[i]; /* before the state changes, which may overlap the block */
    for (size_t i = 0; i < RATE_WORDS; i++)
        state[i] ^= words[i];
    keccak_f(state);
}

static void absorb(uint64_t state[25], const uint8_t block[RATE])
{
    for (size_t i = 0; i < RATE; i++)
        state[i / 8] ^= (uint64_t)block[i] << (i % 8 * 8);
    keccak_f(state);
}

zkvm_status zkvm_keccak256(const uint8_t *data, size_t len, zkvm_keccak256_hash *output)
{
    uint64_t state[25] = {0};
    uint8_t last[RATE] = {0};

    for (; len >= RATE; len -= RATE, data += RATE)
        absorb(state, data);
    for (size_t i = 0; i < len; i++)
        last[i] = data[i];
    last[len] ^= 0x01;
    last[RATE - 1] ^= 0x80;
    absorb(state, last);
    for (size_t i = 0; i < sizeof output->data; i++)
        output->data[i] = (uint8_t)(state[i / 8] >> (i % 8 * 8));
    return ZKVM_EOK;
}
