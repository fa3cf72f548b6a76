/* The field Fp12 = Fp2[w] / (w^6 - XI) of a pairing, on the operation of fp2.h. Products are the sums of all products of
   their factors' coefficients: a method with fewer products, such as Karatsuba's, has more sums, which cost as much. */
#ifndef FP12_H
#define FP12_H

#include "fp2.h"

typedef struct {
    fp2 of[6]; /* the factors of w^0 to w^5 */
} fp12;

static const fp12 FP12_ONE = {{{{{1}}, {{0}}}}};

/* r = x y; not in place. */
static void fp12_multiply(fp12 *r, const fp12 *x, const fp12 *y)
{
    fp2 twisted[6]; /* XI y */

#pragma GCC unroll 6
    for (int j = 1; j < 6; j++)
        fp2_multiply(&twisted[j], &y->of[j], &XI);
#pragma GCC unroll 6
    for (int k = 0; k < 6; k++) {
        const fp2 *sum = &FP2_ZERO;
#pragma GCC unroll 6
        for (int i = 0; i < 6; i++) {
            fp2_multiply_add(&r->of[k], &x->of[i], i <= k ? &y->of[k - i] : &twisted[k - i + 6], sum);
            sum = &r->of[k];
        }
    }
}

/* r = x^2; not in place. */
static void fp12_square(fp12 *r, const fp12 *x)
{
    fp2 twice[3], twisted[6], twisted_twice[6]; /* 2 x, XI x, 2 XI x */

#pragma GCC unroll 3
    for (int i = 0; i < 3; i++)
        fp2_multiply(&twice[i], &x->of[i], &FP2_TWO);
#pragma GCC unroll 3
    for (int i = 3; i < 6; i++)
        fp2_multiply(&twisted[i], &x->of[i], &XI);
#pragma GCC unroll 2
    for (int i = 4; i < 6; i++)
        fp2_multiply(&twisted_twice[i], &x->of[i], &TWO_XI);
#pragma GCC unroll 6
    for (int k = 0; k < 6; k++) {
        const fp2 *sum = &FP2_ZERO;
#pragma GCC unroll 6
        for (int i = 0; i < 6; i++) {
            int j = i <= k ? k - i : k - i + 6;
            const fp2 *left = &x->of[i];
            if (i > j)
                continue;
            if (i <= k && i < j)
                left = &twice[i];
            fp2_multiply_add(&r->of[k], left, i <= k ? &x->of[j] : i < j ? &twisted_twice[j] : &twisted[j], sum);
            sum = &r->of[k];
        }
    }
}

/* r = x^2 for an x of the cyclotomic subgroup, by Granger and Scott, "Faster squaring in the cyclotomic subgroup of sixth
   degree extensions" (2009): with x = a + b w + c w^2 over Fp4 = Fp2[w^3],
   x^2 = (3 a^2 - 2 a') + (3 w^3 c^2 + 2 b') w + (3 b^2 - 2 c') w^2, where ' changes the sign of w^3. Not in place. */
static void fp12_square_cyclotomic(fp12 *r, const fp12 *x)
{
    fp2 left, right, sum;

    fp2_multiply_add(&left, &x->of[0], &FP2_THREE, &MINUS_TWO);
    fp2_multiply(&right, &x->of[3], &THREE_XI);
    fp2_multiply(&sum, &right, &x->of[3]);
    fp2_multiply_add(&r->of[0], &left, &x->of[0], &sum); /* 3 (x0^2 + XI x3^2) - 2 x0 */
    fp2_multiply_add(&left, &left, &FP2_TWO, &FP2_SIX);
    fp2_multiply(&r->of[3], &left, &x->of[3]); /* 6 x0 x3 + 2 x3 */

    fp2_multiply(&left, &x->of[2], &FP2_THREE);
    fp2_multiply(&right, &x->of[5], &THREE_XI);
    fp2_multiply(&sum, &x->of[4], &MINUS_TWO);
    fp2_multiply_add(&sum, &right, &x->of[5], &sum);
    fp2_multiply_add(&r->of[4], &left, &x->of[2], &sum); /* 3 (x2^2 + XI x5^2) - 2 x4 */
    fp2_multiply_add(&sum, &right, &x->of[2], &x->of[1]);
    fp2_multiply(&r->of[1], &sum, &FP2_TWO); /* 6 XI x2 x5 + 2 x1 */

    fp2_multiply(&left, &x->of[1], &FP2_THREE);
    fp2_multiply(&right, &x->of[4], &THREE_XI);
    fp2_multiply(&sum, &x->of[2], &MINUS_TWO);
    fp2_multiply_add(&sum, &right, &x->of[4], &sum);
    fp2_multiply_add(&r->of[2], &left, &x->of[1], &sum); /* 3 (x1^2 + XI x4^2) - 2 x2 */
    fp2_multiply_add(&sum, &left, &x->of[4], &x->of[5]);
    fp2_multiply(&r->of[5], &sum, &FP2_TWO); /* 6 x1 x4 + 2 x5 */
}

static inline void fp12_multiply_by(fp12 *x, const fp12 *y)
{
    fp12 product;

    fp12_multiply(&product, x, y);
    *x = product;
}

/* x^(p^6): the inverse in the cyclotomic subgroup. */
static inline void fp12_conjugate(fp12 *x)
{
    for (int k = 1; k < 6; k += 2)
        fp2_negate(&x->of[k], &x->of[k]);
}

/* x^p */
static inline void fp12_frobenius(fp12 *x)
{
    fp2 conjugate;

    for (int k = 0; k < 6; k++) {
        fp2_conjugate(&conjugate, &x->of[k]);
        fp2_multiply(&x->of[k], &conjugate, &FROBENIUS[k]);
    }
}

/* x^(p^2) */
static inline void fp12_frobenius_square(fp12 *x)
{
    for (int k = 1; k < 6; k++)
        fp2_multiply(&x->of[k], &x->of[k], &FROBENIUS_SQUARE[k]);
}

static inline bool fp12_is_one(const fp12 *x)
{
    for (int k = 1; k < 6; k++)
        if (!fp2_is_zero(&x->of[k]))
            return false;
    return fp2_equal(&x->of[0], &FP2_ONE);
}

/* r = 1 / x, by the conjugate, and the norm in the field of w^2; not in place. */
static void fp12_invert(fp12 *r, const fp12 *x)
{
    fp12 conjugate = *x, norm, inverse = {{{{{0}}, {{0}}}}};
    fp2 minus_a, minus_b, twisted, factor, inverted;

    fp12_conjugate(&conjugate);
    fp12_multiply(&norm, x, &conjugate);
    const fp2 *a = &norm.of[0], *b = &norm.of[2], *c = &norm.of[4];
    fp2 *first = &inverse.of[0], *second = &inverse.of[2], *third = &inverse.of[4];
    fp2_negate(&minus_a, a);
    fp2_negate(&minus_b, b);
    fp2_multiply(&twisted, c, &XI);
    fp2_multiply(first, &minus_b, &twisted);
    fp2_multiply_add(first, a, a, first); /* a^2 - XI b c */
    fp2_multiply(second, &minus_a, b);
    fp2_multiply_add(second, &twisted, c, second); /* XI c^2 - a b */
    fp2_multiply(third, &minus_a, c);
    fp2_multiply_add(third, b, b, third); /* b^2 - a c */
    fp2_multiply(&factor, &twisted, second); /* XI (c second + b third) + a first */
    fp2_multiply(&twisted, b, &XI);
    fp2_multiply_add(&factor, &twisted, third, &factor);
    fp2_multiply_add(&factor, a, first, &factor);
    fp2_invert(&inverted, &factor);
    for (int k = 0; k < 6; k += 2)
        fp2_multiply(&inverse.of[k], &inverse.of[k], &inverted);
    fp12_multiply(r, &conjugate, &inverse);
}

/* Take x, of the cyclotomic subgroup, to the power of a number in odd digits or 0, the highest first: digits are at most
   `largest`, and may be negative after the first one. */
static void fp12_raise(fp12 *x, const int8_t *digits, size_t count, int largest)
{
    fp12 powers[4], inverses[4], square, squares[2]; /* of 1, 3, 5, 7 */
    const fp12 *value;

    powers[0] = *x;
    if (largest > 1)
        fp12_square_cyclotomic(&square, x);
    for (int i = 0; 2 * i < largest; i++) {
        if (i)
            fp12_multiply(&powers[i], &powers[i - 1], &square);
        inverses[i] = powers[i];
        fp12_conjugate(&inverses[i]);
    }
    value = &powers[digits[0] / 2];
    for (size_t i = 1; i < count; i++) {
        fp12 *next = value == &squares[0] ? &squares[1] : &squares[0];
        fp12_square_cyclotomic(next, value);
        value = next;
        if (digits[i]) {
            next = value == &squares[0] ? &squares[1] : &squares[0];
            fp12_multiply(next, value, digits[i] > 0 ? &powers[digits[i] / 2] : &inverses[-digits[i] / 2]);
            value = next;
        }
    }
    *x = *value;
}

/* Take f to the power (p^6 - 1) (p^2 + 1): into the cyclotomic subgroup. An f of 0 stays 0. */
static void fp12_to_cyclotomic(fp12 *f)
{
    fp12 inverse, power;

    fp12_invert(&inverse, f);
    fp12_conjugate(f);
    fp12_multiply_by(f, &inverse);
    power = *f;
    fp12_frobenius_square(&power);
    fp12_multiply_by(f, &power);
}

#endif
