// Layers of a Merkle tree.
//
// Two floors of a tree over n leaves: 32 n bytes read and as many written; n - 1 compressions or permutations, which
// take longer on an H200. A launch reads the nodes between its layers from shared memory. Of the layers with fewer nodes
// than a device has lanes, each takes as long as the hash of one node.
#include "hash.cuh"

constexpr int THREADS = 128;
constexpr int LAYERS = 16;  // at most, that one launch makes

struct Joining {
    const u64* digests[LAYERS];  // that join a layer, or null
};

struct Pair {
    Digest left, right;
};

__device__ __forceinline__ Pair load_pair(const u64* layer, u64 i) {
    const u64* left = layer + 2 * DIGEST * i;
    return {load_digest(left), load_digest(left + DIGEST)};
}

// The layer above `layer` and those above it, `layers` in all: target[i] = H(layer[2 i] || layer[2 i + 1]), hashed once
// more with digest i of those that join. Every thread block makes the same share of each: `width` nodes of the first, a
// power of two, and one at least of the last. Its shared memory holds 6 words for each of the `width` nodes: a layer
// and the next, first words first.
extern "C" __global__ void __launch_bounds__(THREADS, 4) compress_layers(
    const u64* layer, const __grid_constant__ Joining joining, u64* target, u64 width_of_first, u64 layers) {
    extern __shared__ ulonglong2 shared[];
    u32 width = width_of_first;
    u64 nodes = (u64)gridDim.x * width, first = (u64)blockIdx.x * width, *above = (u64*)shared, *below = above + DIGEST * width;
    Pair next = {};
    if (threadIdx.x < width) next = load_pair(layer, first + threadIdx.x);
#pragma unroll 1
    for (u32 k = 0; k < layers; k++) {
        const u64* joins = joining.digests[k];
#pragma unroll 1
        for (u32 i = threadIdx.x; i < width; i += THREADS) {
            Pair pair = next;
            if (!k) {
                // While this pair is hashed. The last one is of no use, but a condition would make the thread wait.
                next = load_pair(layer, first + min(i + THREADS, width - 1));
            } else {
#pragma unroll
                for (int word = 0; word < DIGEST; word++) {
                    ulonglong2 both = ((const ulonglong2*)below)[word * width + i];
                    pair.left.word[word] = both.x;
                    pair.right.word[word] = both.y;
                }
            }
            Digest digest = hash::hash_pair(pair.left, pair.right);
            if (joins) digest = hash::hash_pair(digest, load_digest(joins + DIGEST * (first + i)));
            store_digest(digest, target + DIGEST * (first + i));
#pragma unroll
            for (int word = 0; word < DIGEST; word++) above[word * width + i] = digest.word[word];
        }
        __syncthreads();
        u64* filled = above;
        above = below;
        below = filled;
        target += DIGEST * nodes;
        nodes /= 2;
        first /= 2;
        width /= 2;
    }
}
