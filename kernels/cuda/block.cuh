// Collective operations of a block's threads. All of them must call; blocks are one-dimensional, of whole warps.
//
// Its loops stay loops: they are in every kernel that is generated, and compile a third faster so.
#pragma once
#include "ext.cuh"

namespace block {

constexpr u32 WARP = 32, ALL = 0xffffffffu;

struct Product {
    u64 all, others;  // over all lanes' words; over the other lanes' words
};

// A butterfly: after step k a lane has the product of its group of 2^k lanes, with and without its own word.
__device__ __forceinline__ Product warp_product(u64 x) {
    Product result = {x, 1};
#pragma unroll 1
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        u64 partner = __shfl_xor_sync(ALL, result.all, distance);
        result.others = distance == 1 ? partner : field::mul(result.others, partner);
        result.all = field::mul(result.all, partner);
    }
    return result;
}

// 1 / x in every thread, with one inversion a block (Montgomery's trick); zero in all of them if any x is zero.
__device__ __noinline__ u64 inverse(u64 x) {
    __shared__ u64 warps[WARP];
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    Product of_lanes = warp_product(x);
    if (lane == 0) warps[warp] = of_lanes.all;
    __syncthreads();
    if (warp == 0) {
        Product of_warps = warp_product(lane < blockDim.x / WARP ? warps[lane] : 1);
        warps[lane] = field::mul(of_warps.others, field::inverse(of_warps.all));
    }
    __syncthreads();
    u64 result = field::mul(of_lanes.others, warps[warp]);
    __syncthreads();  // the next call writes there
    return result;
}

// All x become their inverses, N in each thread; zeros in all of them if any x of the block is zero.
template <int N>
__device__ __forceinline__ void invert(u64 (&x)[N]) {
    u64 before[N], product = 1;
#pragma unroll
    for (int i = 0; i < N; i++) {
        before[i] = product;
        product = i ? field::mul(product, x[i]) : x[i];
    }
    product = inverse(product);
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
        u64 rest = field::mul(product, x[i]);
        x[i] = i ? field::mul(product, before[i]) : product;
        product = rest;
    }
}

__device__ __forceinline__ Ext shuffle_up(Ext x, u32 distance) {
    return {__shfl_up_sync(ALL, x.a0, distance), __shfl_up_sync(ALL, x.a1, distance),
            __shfl_up_sync(ALL, x.a2, distance)};
}

// The sum of the lanes up to and with this one.
__device__ __forceinline__ Ext warp_running_sum(Ext x) {
    u32 lane = threadIdx.x % WARP;
#pragma unroll 1
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        Ext before = shuffle_up(x, distance);
        if (lane >= distance) x = ext::add(x, before);
    }
    return x;
}

// The sum of the threads up to and with this one; `all` becomes the sum of the whole block.
__device__ __forceinline__ Ext running_sum(Ext x, Ext& all) {
    __shared__ Ext warps[WARP];
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, count = blockDim.x / WARP;
    x = warp_running_sum(x);
    if (lane == WARP - 1) warps[warp] = x;
    __syncthreads();
    if (warp == 0) warps[lane] = warp_running_sum(lane < count ? warps[lane] : ext::ZERO);
    __syncthreads();
    all = warps[count - 1];
    if (warp > 0) x = ext::add(x, warps[warp - 1]);
    __syncthreads();  // the next call writes there
    return x;
}

}  // namespace block
