// The extension F[x]/(x^3 - x - 1) of Goldilocks: three canonical words, lowest power first.
#pragma once
#include "field.cuh"

struct Ext {
    u64 a0, a1, a2;
};

namespace ext {

constexpr Ext ZERO = {0, 0, 0};
constexpr Ext ONE = {1, 0, 0};

__device__ __forceinline__ Ext add(Ext x, Ext y) {
    return {field::add(x.a0, y.a0), field::add(x.a1, y.a1), field::add(x.a2, y.a2)};
}

__device__ __forceinline__ Ext sub(Ext x, Ext y) {
    return {field::sub(x.a0, y.a0), field::sub(x.a1, y.a1), field::sub(x.a2, y.a2)};
}

__device__ __forceinline__ Ext neg(Ext x) { return {field::neg(x.a0), field::neg(x.a1), field::neg(x.a2)}; }

// x times the base element s.
__device__ __forceinline__ Ext scale(Ext x, u64 s) {
    return {field::mul(x.a0, s), field::mul(x.a1, s), field::mul(x.a2, s)};
}

__device__ __forceinline__ Ext mul(Ext x, Ext y) {
    // Karatsuba: six products; x^3 = x + 1 and x^4 = x^2 + x.
    u64 p0 = field::mul(x.a0, y.a0), p1 = field::mul(x.a1, y.a1), p2 = field::mul(x.a2, y.a2);
    u64 s01 = field::mul(field::add(x.a0, x.a1), field::add(y.a0, y.a1));
    u64 s02 = field::mul(field::add(x.a0, x.a2), field::add(y.a0, y.a2));
    u64 s12 = field::mul(field::add(x.a1, x.a2), field::add(y.a1, y.a2));
    u64 c3 = field::sub(field::sub(s12, p1), p2);
    u64 low = field::sub(p0, p1);
    // Coefficients of x: s01 - p0 - p1 + c3 + p2; of x^2: s02 - p0 - p2 + p1 + p2.
    return {
        field::add(p0, c3),
        field::sub(field::sub(field::sub(field::add(s01, s12), p1), p1), p0),
        field::sub(s02, low),
    };
}

// 1 / x by the adjugate of the matrix of multiplication by x (columns x, x X, x X^2); zero gives zero.
__device__ __forceinline__ Ext inverse(Ext x) {
    u64 s = field::add(x.a0, x.a2), t = field::add(x.a1, x.a2);
    u64 c0 = field::sub(field::mul(s, s), field::mul(x.a1, t));
    u64 c1 = field::sub(field::mul(x.a2, t), field::mul(x.a1, s));
    u64 c2 = field::sub(field::mul(x.a1, x.a1), field::mul(x.a2, s));
    u64 norm = field::add(field::mul(x.a0, c0), field::add(field::mul(x.a2, c1), field::mul(x.a1, c2)));
    return scale({c0, c1, c2}, field::inverse(norm));
}

// x^exponent.
__device__ __forceinline__ Ext power(Ext x, u64 exponent) {
    Ext result = ONE;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = mul(result, x);
        x = mul(x, x);
    }
    return result;
}

// Element i of a vector (3, n).
__device__ __forceinline__ Ext load(const u64* vector, u64 n, u64 i) {
    return {vector[i], vector[n + i], vector[2 * n + i]};
}

__device__ __forceinline__ void store(u64* vector, u64 n, u64 i, Ext x) {
    vector[i] = x.a0;
    vector[n + i] = x.a1;
    vector[2 * n + i] = x.a2;
}

}  // namespace ext
