/* SHA-256 of the input (FIPS 180-4), without help from the host. */
#include "zkvm.h"

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64];

    for (int i = 0; i < 16; i++) {
        uint32_t x = ((const word32 *)block)[i];
        w[i] = (x & 0xff) << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
    }
    for (int i = 16; i < 64; i++) {
        uint32_t near = w[i - 2], far = w[i - 15];
        w[i] = w[i - 16] + w[i - 7] + (rotated(far, 7) ^ rotated(far, 18) ^ far >> 3)
             + (rotated(near, 17) ^ rotated(near, 19) ^ near >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t t = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + (g ^ (e & (f ^ g))) + K[i] + w[i];
        uint32_t u = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) | (c & (a | b)));
        h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

int main(void)
{
    uint32_t state[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    const uint8_t *input;
    size_t size, left;
    uint8_t end[128] = {0}, digest[32];

    read_input(&input, &size);
    for (left = size; left >= 64; left -= 64, input += 64)
        compress(state, input);
    size_t padded = left < 56 ? 64 : 128;
    memcpy(end, input, left);
    end[left] = 0x80;
    for (int i = 0; i < 8; i++)
        end[padded - 1 - i] = (uint8_t)(8 * size >> 8 * i);
    compress(state, end);
    if (padded == 128)
        compress(state, end + 64);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
    write_output(digest, sizeof digest);
    return 0;
}
