// Sums of products, reduced once at their end: a term costs four wide products and three carries, and no reduction.
#pragma once
#include "ext.cuh"

// A sum of at most 2^32 - 1 products of two words: low + 2^32 high + 2^128 top + 2^96 middle, so that every product
// enters as one chain of carries; low takes the products of equal limbs, high the other ones.
struct Sum {
    u64 low[2], high;
    u32 top, middle;
};

struct ExtSum {
    Sum a0, a1, a2;
};

namespace sums {

// sum + x * y, for any words.
__device__ __forceinline__ void accumulate(Sum& sum, u64 x, u64 y) {
    u32 x0 = (u32)x, x1 = (u32)(x >> 32), y0 = (u32)y, y1 = (u32)(y >> 32);
    asm("{\n\t.reg .u32 a, b, c, d;\n\tmov.b64 {a, b}, %0;\n\tmov.b64 {c, d}, %1;\n\t"
        "mad.lo.cc.u32 a, %3, %5, a;\n\tmadc.hi.cc.u32 b, %3, %5, b;\n\t"
        "madc.lo.cc.u32 c, %4, %6, c;\n\tmadc.hi.cc.u32 d, %4, %6, d;\n\taddc.u32 %2, %2, 0;\n\t"
        "mov.b64 %0, {a, b};\n\tmov.b64 %1, {c, d};\n\t}"
        : "+l"(sum.low[0]), "+l"(sum.low[1]), "+r"(sum.top)
        : "r"(x0), "r"(x1), "r"(y0), "r"(y1));
    asm("{\n\t.reg .u32 a, b;\n\tmov.b64 {a, b}, %0;\n\t"
        "mad.lo.cc.u32 a, %2, %5, a;\n\tmadc.hi.cc.u32 b, %2, %5, b;\n\taddc.u32 %1, %1, 0;\n\t"
        "mad.lo.cc.u32 a, %3, %4, a;\n\tmadc.hi.cc.u32 b, %3, %4, b;\n\taddc.u32 %1, %1, 0;\n\t"
        "mov.b64 %0, {a, b};\n\t}"
        : "+l"(sum.high), "+r"(sum.middle)
        : "r"(x0), "r"(x1), "r"(y0), "r"(y1));
}

// sum + x * y, for a word and any weight.
__device__ __forceinline__ void accumulate(ExtSum& sum, u64 x, Ext y) {
    accumulate(sum.a0, x, y.a0);
    accumulate(sum.a1, x, y.a1);
    accumulate(sum.a2, x, y.a2);
}

// The sum mod p.
__device__ __forceinline__ u64 total(const Sum& sum) {
    u64 low = sum.low[0] + (sum.high << 32), carry = low < sum.low[0];
    u64 rest = (u64)sum.middle << 32 | sum.high >> 32, high = sum.low[1] + rest;
    u64 top = sum.top + (u64)(high < rest);
    high += carry;
    top += high < carry;
    // 2^128 = -2^32 mod p, and top < 2^32
    return field::sub(field::canonical(field::reduce(low, high)), top << 32);
}

__device__ __forceinline__ Ext total(const ExtSum& sum) { return {total(sum.a0), total(sum.a1), total(sum.a2)}; }

}  // namespace sums
