/* Numbers of 256 bits and points of curves, by the machine's modular operation and point operation.

   A number is below the modulus where there is one. The point at infinity is zeros, which is on no curve here. */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#include "runtime.h"
#include "zkvm.h"

typedef struct {
    uint64_t words[4]; /* the lowest first */
} number;

typedef struct {
    number x, y;
} point;

/* The host calls, docs/vm.md. One of a curve is for additions, the next one for doublings. */
enum { MULTIPLY_ADD = 1025, MULTIPLY_DIVIDE = 1026, SECP256K1 = 1028, SECP256R1 = 1030, BN254 = 1032 };
enum { FP2_BN254 = 1038, FP2_BLS12_381 = 1039 }; /* products with a sum in Fp2 */

static const number ZERO = {{0}}, ONE = {{1}};

#ifdef __riscv
/* An ecall, in a function of its own for programs on other machines. It keeps all registers except ra. */
static inline void host_call(uint64_t call, void *to, const void *a, const void *b, const void *m, const void *c)
{
    register void *a0 __asm__("a0") = to;
    register const void *a1 __asm__("a1") = a, *a2 __asm__("a2") = b, *a3 __asm__("a3") = m, *a4 __asm__("a4") = c;
    register uint64_t a7 __asm__("a7") = call;

    __asm__ volatile("call __zkvm_call" : : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7) : "ra", "memory");
}

/* A call with three operands, which may be its result. */
static inline void field_call(uint64_t call, void *to, const void *a, const void *b, const void *c)
{
    register void *a0 __asm__("a0") = to;
    register const void *a1 __asm__("a1") = a, *a2 __asm__("a2") = b, *a3 __asm__("a3") = c;
    register uint64_t a7 __asm__("a7") = call;

    __asm__ volatile("call __zkvm_call" : : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(a7) : "ra", "memory");
}

static inline void add_call(uint64_t curve, point *to, const point *other)
{
    register point *a0 __asm__("a0") = to;
    register const point *a1 __asm__("a1") = other;
    register uint64_t a7 __asm__("a7") = curve;

    __asm__ volatile("call __zkvm_call" : : "r"(a0), "r"(a1), "r"(a7) : "ra", "memory");
}

static inline void double_call(uint64_t curve, point *to)
{
    register point *a0 __asm__("a0") = to;
    register uint64_t a7 __asm__("a7") = curve + 1;

    __asm__ volatile("call __zkvm_call" : : "r"(a0), "r"(a7) : "ra", "memory");
}
#else
void __zkvm_call(uint64_t call, void *to, const void *a, const void *b, const void *m, const void *c);

#define host_call __zkvm_call
#define field_call(call, to, a, b, c) __zkvm_call(call, to, a, b, c, 0)
#define add_call(curve, to, other) __zkvm_call(curve, to, other, 0, 0, 0)
#define double_call(curve, to) __zkvm_call((curve) + 1, to, 0, 0, 0, 0)
#endif

/* Take x to the power of the big-endian number from `exponent` to `end`, times x itself for each of its 4-bit digits:
   for each digit, square x four times and multiply it by the digit's entry of `table`, or by nothing if it is 0. */
void __zkvm_power(number *x, const number table[16], const uint8_t *exponent, const uint8_t *end, const number *modulus);

/* The power of x, for the big-endian exponent of `size` bytes. */
void __zkvm_raise(number *x, const uint8_t *exponent, size_t size, const number *modulus);

/* r = (a b + c) mod m. A modulus of 0 stands for 2^256. The quotient must be below 2^256. */
static inline void multiply_add(number *r, const number *a, const number *b, const number *c, const number *m)
{
    host_call(MULTIPLY_ADD, r, a, b, m, c);
}

static inline void multiply(number *r, const number *a, const number *b, const number *m)
{
    multiply_add(r, a, b, &ZERO, m);
}

/* The quotient as well: a b + c = r[1] m + r[0]. */
static inline void multiply_divide(number r[2], const number *a, const number *b, const number *c, const number *m)
{
    host_call(MULTIPLY_DIVIDE, r, a, b, m, c);
}

static inline bool is_zero(const number *a)
{
    return !(a->words[0] | a->words[1] | a->words[2] | a->words[3]);
}

static inline bool equal(const number *a, const number *b)
{
    return a->words[0] == b->words[0] && a->words[1] == b->words[1] && a->words[2] == b->words[2] &&
           a->words[3] == b->words[3];
}

static inline bool below(const number *a, const number *b)
{
    for (int i = 3; i > 0; i--)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i];
    return a->words[0] < b->words[0];
}

/* r = a + b + carry; return the next carry. */
static inline uint64_t add(number *r, const number *a, const number *b, uint64_t carry)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        uint64_t other = b->words[i], sum = a->words[i] + other, over = sum < other;
        r->words[i] = sum + carry;
        carry = over + (r->words[i] < carry); /* not both */
    }
    return carry;
}

/* r = a - b - borrow; return the next borrow. */
static inline uint64_t subtract(number *r, const number *a, const number *b, uint64_t borrow)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        uint64_t left = a->words[i], difference = left - b->words[i], under = left < difference;
        r->words[i] = difference - borrow;
        borrow = under + (difference < borrow);
    }
    return borrow;
}

static inline uint64_t reversed(uint64_t word)
{
    const uint64_t bytes = 0x00FF00FF00FF00FF, pairs = 0x0000FFFF0000FFFF;

    word = (word & bytes) << 8 | (word >> 8 & bytes);
    word = (word & pairs) << 16 | (word >> 16 & pairs);
    return word << 32 | word >> 32;
}

/* Numbers of 32 bytes, big-endian, at a multiple of 8. */
static inline number decoded(const uint8_t *bytes)
{
    const uint64_t *words = (const uint64_t *)(const void *)bytes;

    return (number){{reversed(words[3]), reversed(words[2]), reversed(words[1]), reversed(words[0])}};
}

static inline void encode(uint8_t *bytes, const number *a)
{
    uint64_t *words = (uint64_t *)(void *)bytes;

    for (int i = 0; i < 4; i++)
        words[i] = reversed(a->words[3 - i]);
}

static inline void check_pointer(const void *pointer)
{
    if (!pointer)
        FAIL("null pointer in a call of an accelerator\n");
}

#endif
