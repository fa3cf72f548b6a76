/* The field Fp2 = Fp[u] / (u^2 + 1) of a curve, by the machine's operation r = a b + c.

   A sum is the same operation with a factor of 1, so it costs as much as a product, and a product with a sum costs no
   more than a product. The file that includes this header defines FP_WORDS (words of a number), FP2_OPERATION (the host
   call) and FP_CONSTANTS (the header with the curve's constants). */
#ifndef FP2_H
#define FP2_H

#include "arithmetic.h"

typedef struct {
    uint64_t words[FP_WORDS]; /* the lowest first */
} fp;

typedef struct {
    fp a, b; /* a + b u */
} fp2;

#include FP_CONSTANTS

static const fp2 FP2_ZERO = {{{0}}, {{0}}}, FP2_ONE = {{{1}}, {{0}}}, FP2_TWO = {{{2}}, {{0}}};
static const fp2 FP2_THREE = {{{3}}, {{0}}}, FP2_SIX = {{{6}}, {{0}}};
static const fp2 FP2_TWELVE = {{{12}}, {{0}}};

/* r = a b + c. Operands may be the result. */
static inline void fp2_multiply_add(fp2 *r, const fp2 *a, const fp2 *b, const fp2 *c)
{
    field_call(FP2_OPERATION, r, a, b, c);
}

static inline void fp2_multiply(fp2 *r, const fp2 *a, const fp2 *b)
{
    fp2_multiply_add(r, a, b, &FP2_ZERO);
}

static inline void fp2_square(fp2 *r, const fp2 *a)
{
    fp2_multiply_add(r, a, a, &FP2_ZERO);
}

static inline void fp2_add(fp2 *r, const fp2 *a, const fp2 *b)
{
    fp2_multiply_add(r, a, &FP2_ONE, b);
}

static inline void fp2_subtract(fp2 *r, const fp2 *a, const fp2 *b)
{
    fp2_multiply_add(r, b, &MINUS_ONE, a);
}

static inline void fp2_negate(fp2 *r, const fp2 *a)
{
    fp2_multiply_add(r, a, &MINUS_ONE, &FP2_ZERO);
}

/* r = a^p; not in place. */
static inline void fp2_conjugate(fp2 *r, const fp2 *a)
{
    fp2_negate(r, a);
    r->a = a->a;
}

static inline bool fp_is_zero(const fp *a)
{
    uint64_t any = 0;

#pragma GCC unroll 6
    for (int i = 0; i < FP_WORDS; i++)
        any |= a->words[i];
    return !any;
}

static inline bool fp2_is_zero(const fp2 *a)
{
    return fp_is_zero(&a->a) && fp_is_zero(&a->b);
}

static inline bool fp_equal(const fp *a, const fp *b)
{
    for (int i = 0; i < FP_WORDS; i++)
        if (a->words[i] != b->words[i])
            return false;
    return true;
}

static inline bool fp2_equal(const fp2 *a, const fp2 *b)
{
    return fp_equal(&a->a, &b->a) && fp_equal(&a->b, &b->b);
}

static inline bool fp_below(const fp *a, const fp *b)
{
    for (int i = FP_WORDS - 1; i > 0; i--)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i];
    return a->words[0] < b->words[0];
}

/* Decode a big-endian number at a multiple of 8, if it is below the modulus. */
static inline bool fp_decode(fp *to, const uint8_t *bytes)
{
    const uint64_t *words = (const uint64_t *)(const void *)bytes;

    for (int i = 0; i < FP_WORDS; i++)
        to->words[i] = reversed(words[FP_WORDS - 1 - i]);
    return fp_below(to, &MODULUS);
}

static inline void fp_encode(uint8_t *bytes, const fp *from)
{
    uint64_t *words = (uint64_t *)(void *)bytes;

    for (int i = 0; i < FP_WORDS; i++)
        words[i] = reversed(from->words[FP_WORDS - 1 - i]);
}

/* Take x to the power of a big-endian number whose first byte is not 0, by digits of 4 bits. */
static inline void fp2_raise(fp2 *x, const uint8_t *exponent, size_t size)
{
    fp2 table[16]; /* the powers of x */

    table[0] = FP2_ONE;
    for (int i = 1; i < 16; i++)
        fp2_multiply(&table[i], &table[i - 1], x);
    *x = FP2_ONE;
    for (const uint8_t *end = exponent + size; exponent != end; exponent++)
        for (int shift = 4; shift >= 0; shift -= 4) {
            unsigned digit = *exponent >> shift & 15;
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                fp2_square(x, x);
            if (digit)
                fp2_multiply(x, x, &table[digit]);
        }
}

/* r = 1 / a, or 0 if a is 0; not in place. */
static inline void fp2_invert(fp2 *r, const fp2 *a)
{
    fp2 conjugate, norm;

    fp2_conjugate(&conjugate, a);
    fp2_multiply(&norm, a, &conjugate); /* in Fp */
    fp2_raise(&norm, MODULUS_MINUS_TWO, sizeof MODULUS_MINUS_TWO);
    fp2_multiply(r, &conjugate, &norm);
}

#endif
