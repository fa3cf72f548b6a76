// Layers of a Merkle tree over Keccak-256.
#include "keccak.cuh"

constexpr int THREADS = 128;

// target[i] = Keccak-256(layer[2 i] || layer[2 i + 1]), hashed once more with joining[i] unless joining is null.
__device__ __forceinline__ void build(const u64* layer, const u64* joining, u64* target, u64 i) {
    u64 state[25];
    keccak::clear(state);
    keccak::load_digest<0>(state, layer + 2 * keccak::DIGEST * i);
    keccak::load_digest<4>(state, layer + 2 * keccak::DIGEST * i + keccak::DIGEST);
    keccak::finish(state, 2 * keccak::DIGEST);
    if (joining) {
#pragma unroll
        for (int word = 2 * keccak::DIGEST; word < 25; word++) state[word] = 0;
        keccak::load_digest<4>(state, joining + keccak::DIGEST * i);
        keccak::finish(state, 2 * keccak::DIGEST);
    }
    keccak::store_digest(state, target + keccak::DIGEST * i);
}

extern "C" __global__ void __launch_bounds__(THREADS, 5) compress(
    const u64* layer, const u64* joining, u64* target, u64 nodes) {
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < nodes; i += (u64)gridDim.x * THREADS)
        build(layer, joining, target, i);
}

constexpr int LAYERS = 16;  // at most, that one launch makes

struct Joining {
    const u64* digests[LAYERS];  // that join a layer, or null
};

// The layer of `nodes` and those above it, `layers` in all, each after the one it is made from: every thread block the
// same share of each, of one node at least.
extern "C" __global__ void __launch_bounds__(THREADS, 5) compress_layers(
    const u64* layer, const __grid_constant__ Joining joining, u64* target, u64 nodes, u64 layers) {
    u64 width = nodes / gridDim.x;
    for (u64 k = 0; k < layers; k++, nodes /= 2, width /= 2) {
        for (u64 i = threadIdx.x; i < width; i += THREADS) build(layer, joining.digests[k], target, blockIdx.x * width + i);
        __syncthreads();
        layer = target;
        target += keccak::DIGEST * nodes;
    }
}
