// Kernels that do one operation in registers and nothing else, `rounds` times.
#include "ext.cuh"
#include "keccak.cuh"
#include "blake3.cuh"

// Keeps a device busy while the host enqueues what is measured.
extern "C" __global__ void wait(u64 cycles) {
    for (u64 start = clock64(); clock64() - start < cycles;) {}
}

extern "C" __global__ void multiply(const u64* x, u64* z, u64 rounds) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, y[4], w = x[i];
    for (int k = 0; k < 4; k++) y[k] = w + k;
    for (u64 r = 0; r < rounds; r++)
        for (int k = 0; k < 4; k++) y[k] = field::mul_word(y[k], w);
    z[i] = y[0] ^ y[1] ^ y[2] ^ y[3];
}

extern "C" __global__ void butterfly(const u64* x, u64* z, u64 rounds) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, a[4], b[4], w = x[i];
    for (int k = 0; k < 4; k++) {
        a[k] = w + k;
        b[k] = w - k;
    }
    for (u64 r = 0; r < rounds; r++)
        for (int k = 0; k < 4; k++) {
            u64 product = field::mul(b[k], w), sum = field::add(a[k], product);
            b[k] = field::sub(a[k], product);
            a[k] = sum;
        }
    z[i] = a[0] ^ a[1] ^ a[2] ^ a[3] ^ b[0] ^ b[1] ^ b[2] ^ b[3];
}

extern "C" __global__ void permute(const u64* x, u64* z, u64 rounds) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, state[25];
    for (int k = 0; k < 25; k++) state[k] = x[i] + k;
    for (u64 r = 0; r < rounds; r++) keccak::permute(state);
    z[i] = state[0] ^ state[24];
}

// The message is of unrelated words: the compiler would add multiples of one word by other instructions.
extern "C" __global__ void compress(const u64* x, u64* z, u64 rounds) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 chain[8], block[16];
    for (int k = 0; k < 8; k++) blake3::split(x[i ^ k], block, k);
    blake3::start(chain);
#pragma unroll 1
    for (u64 r = 0; r < rounds; r++) blake3::compress(chain, block, r, 8 * blake3::BLOCK, 0);
    Digest digest = blake3::digest(chain);
    z[i] = digest.word[0] ^ digest.word[1] ^ digest.word[2] ^ digest.word[3];
}
