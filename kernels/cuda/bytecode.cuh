// Common code of tables' generated kernels and of the interpreter that replaces the largest.
#pragma once
#include "domain.cuh"
#include "inverse.cuh"

namespace bytecode {

// The row after `row` in a block of 2^log_rows rows of a coset in bit-reversed order.
__device__ __forceinline__ u64 next_row(u64 row, int log_rows) {
    u64 mask = ((u64)1 << log_rows) - 1;
    u64 natural = field::reverse_bits(row & mask, log_rows) + 1;
    return (row & ~mask) | field::reverse_bits(natural & mask, log_rows);
}

struct Selectors {
    u64 first, last, transition;
};

// Z(x) / (x - 1), Z(x) / (x - 1/g), x - 1/g for Z(x) = x^n - 1, `vanishing` here, and 1/g the trace's last point.
// Source: ``selectors_on_coset`` in p3-commit/src/domain.rs. All threads of the block must call.
__device__ __forceinline__ Selectors selectors(u64 x, u64 vanishing, u64 last_point) {
    u64 from_first = field::sub(x, 1), from_last = field::sub(x, last_point);
    u64 quotient = field::mul(vanishing, block::inverse(field::mul(from_first, from_last)));
    return {field::mul(quotient, from_last), field::mul(quotient, from_first), from_last};
}

// An extension constant.
__device__ __forceinline__ Ext constant(const u64* words) { return {words[0], words[1], words[2]}; }

// Generated code calls long operations: a kernel of many lookups stays in the instruction cache, and is soon compiled.
__device__ __noinline__ Ext mul(Ext x, Ext y) { return ext::mul(x, y); }

__device__ __noinline__ Ext scale(Ext x, u64 s) { return ext::scale(x, s); }

__device__ __noinline__ Ext total(ExtSum sum) { return sums::total(sum); }

__device__ __noinline__ Adjugate adjugate(Ext x) { return ::adjugate(x); }

}  // namespace bytecode

namespace sums {

// Empty sums but for a first word.
__device__ __forceinline__ Sum start(u64 x) { return {{x, 0}, 0, 0, 0}; }

__device__ __forceinline__ ExtSum start(Ext x) { return {start(x.a0), start(x.a1), start(x.a2)}; }

}  // namespace sums
