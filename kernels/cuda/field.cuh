// Goldilocks, p = 2^64 - 2^32 + 1. With e = 2^32 - 1: 2^64 = e and 2^96 = -1 mod p.
//
// A word is any 64-bit value read mod p, a canonical word is below p. Everything takes and gives canonical words unless
// its comment says otherwise; kernels take and leave canonical words in memory.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

namespace field {

constexpr u64 P = 0xffffffff00000001ull;
constexpr u64 EPSILON = 0xffffffffull;

// A word that is x when x is canonical, x - p otherwise.
__device__ __forceinline__ u64 canonical(u64 x) { return x >= P ? x - P : x; }

// x + y.
__device__ __forceinline__ u64 add(u64 x, u64 y) {
    // p - y > 0 does not overflow, and x - (p - y) borrows exactly when x + y < p.
    u32 low, high;
    asm("{\n\t.reg .u32 a, b, m;\n\t"
        "sub.cc.u32 a, 1, %4;\n\tsubc.u32 b, 0xffffffff, %5;\n\t"
        "sub.cc.u32 %0, %2, a;\n\tsubc.cc.u32 %1, %3, b;\n\tsubc.u32 m, 0, 0;\n\t"
        "sub.cc.u32 %0, %0, m;\n\tsubc.u32 %1, %1, 0;\n\t}"
        : "=&r"(low), "=&r"(high)
        : "r"((u32)x), "r"((u32)(x >> 32)), "r"((u32)y), "r"((u32)(y >> 32)));
    return (u64)high << 32 | low;
}

// x - y; the difference is canonical when x is, and a word for any word x. y must be canonical.
__device__ __forceinline__ u64 sub(u64 x, u64 y) {
    u32 low, high;
    asm("{\n\t.reg .u32 m;\n\t"
        "sub.cc.u32 %0, %2, %4;\n\tsubc.cc.u32 %1, %3, %5;\n\tsubc.u32 m, 0, 0;\n\t"
        "sub.cc.u32 %0, %0, m;\n\tsubc.u32 %1, %1, 0;\n\t}"
        : "=&r"(low), "=&r"(high)
        : "r"((u32)x), "r"((u32)(x >> 32)), "r"((u32)y), "r"((u32)(y >> 32)));
    return (u64)high << 32 | low;
}

// -x.
__device__ __forceinline__ u64 neg(u64 x) { return x ? P - x : 0; }

// A word for low + 2^64 high.
__device__ __forceinline__ u64 reduce(u64 low, u64 high) {
    u32 r0, r1;
    asm("{\n\t.reg .u32 m;\n\t"
        // - 2^96 part
        "sub.cc.u32 %0, %2, %5;\n\tsubc.cc.u32 %1, %3, 0;\n\tsubc.u32 m, 0, 0;\n\t"
        "sub.cc.u32 %0, %0, m;\n\tsubc.u32 %1, %1, 0;\n\t"
        // + e times the 2^64 part
        "mad.lo.cc.u32 %0, %4, 0xffffffff, %0;\n\tmadc.hi.cc.u32 %1, %4, 0xffffffff, %1;\n\taddc.u32 m, 0, 0;\n\t"
        "sub.cc.u32 %0, %0, m;\n\tsubc.u32 %1, %1, 0;\n\tadd.u32 %1, %1, m;\n\t}"
        : "=&r"(r0), "=&r"(r1)
        : "r"((u32)low), "r"((u32)(low >> 32)), "r"((u32)high), "r"((u32)(high >> 32)));
    return (u64)r1 << 32 | r0;
}

// A word for x * y, for any words.
__device__ __forceinline__ u64 mul_word(u64 x, u64 y) {
    u64 x0 = (u32)x, x1 = x >> 32, y0 = (u32)y, y1 = y >> 32;
    // No sum overflows: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
    u64 a = x0 * y0;
    u64 b = x1 * y0 + (a >> 32);
    u64 c = x0 * y1 + (u32)b;
    u64 high = x1 * y1 + (b >> 32) + (c >> 32);
    return reduce(c << 32 | (u32)a, high);
}

// x * y, for any words.
__device__ __forceinline__ u64 mul(u64 x, u64 y) { return canonical(mul_word(x, y)); }

// x^exponent.
__device__ __forceinline__ u64 power(u64 x, u64 exponent) {
    u64 result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = mul(result, x);
        x = mul(x, x);
    }
    return result;
}

// x^(2^count). Not unrolled: an inversion of 64 products in a row would be half of a small kernel's code.
__device__ __forceinline__ u64 squared(u64 x, int count) {
#pragma unroll 1
    for (int i = 0; i < count; i++) x = mul(x, x);
    return x;
}

// 1 / x; zero gives zero.
__device__ __forceinline__ u64 inverse(u64 x) {
    // p - 2 = 2^64 - 2^32 - 1 is 31 ones, a zero and 32 ones; ones_k stands for x^(2^k - 1).
    u64 ones_2 = mul(squared(x, 1), x);
    u64 ones_3 = mul(squared(ones_2, 1), x);
    u64 ones_6 = mul(squared(ones_3, 3), ones_3);
    u64 ones_12 = mul(squared(ones_6, 6), ones_6);
    u64 ones_24 = mul(squared(ones_12, 12), ones_12);
    u64 ones_30 = mul(squared(ones_24, 6), ones_6);
    u64 ones_31 = mul(squared(ones_30, 1), x);
    u64 ones_32 = mul(squared(ones_31, 1), x);
    return mul(squared(ones_31, 33), ones_32);
}

// The lowest `bits` bits of index (all others zero) in reverse order.
__device__ __forceinline__ u64 reverse_bits(u64 index, int bits) { return bits ? __brevll(index) >> (64 - bits) : 0; }

}  // namespace field
