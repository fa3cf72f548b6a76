/* The Miller loop of several pairs at once, for a curve y^2 = x^3 + b whose second group is on a twist of degree 6.

   Multiples of the second points are projective: (x / z, y / z). Lines leave out factors in Fp2, which the last power of a
   pairing takes to 1. The file that includes this header defines LINE_VALUE, LINE_X and LINE_Y: the powers of w at which a
   line has its value, and its factors of x and y; one of them is 0, and one is 3. */
#ifndef MILLER_H
#define MILLER_H

#include "fp12.h"

typedef struct {
    fp2 x, y, z;
} projective;

/* A pair: what its lines need of the first point, the second point, and the multiple that the loop has reached. */
typedef struct {
    fp2 first_y, first_minus_x, first_minus_three_x;
    fp2 x, y, minus_x, minus_y;
    projective t;
    bool has_lines; /* the first point is not infinity */
} pair;

typedef struct {
    fp2 of[4]; /* the factors of w^0 to w^3 */
} line;

/* The value f of a loop, and room for the next one. */
typedef struct {
    fp12 room[2];
    fp12 *f, *next;
} accumulator;

static inline void accumulator_start(accumulator *at)
{
    at->room[0] = FP12_ONE;
    at->f = &at->room[0];
    at->next = &at->room[1];
}

static inline void accumulator_swap(accumulator *at)
{
    fp12 *f = at->f;

    at->f = at->next;
    at->next = f;
}

static inline void pair_set_second(pair *to, const fp2 *x, const fp2 *y)
{
    to->x = *x;
    to->y = *y;
    fp2_negate(&to->minus_x, x);
    fp2_negate(&to->minus_y, y);
}

/* Make a pair for the start of a loop. The first point is not used if it is infinity. */
static inline void pair_start(pair *to, const fp2 *first_x, const fp2 *first_y, bool infinite, const fp2 *x, const fp2 *y)
{
    to->has_lines = !infinite;
    to->first_y = *first_y;
    fp2_negate(&to->first_minus_x, first_x);
    fp2_multiply(&to->first_minus_three_x, first_x, &MINUS_THREE);
    pair_set_second(to, x, y);
    to->t = (projective){*x, *y, FP2_ONE};
}

/* The image of a point of the twist under the p-th power on the curve over Fp12. */
static inline void psi(fp2 *to_x, fp2 *to_y, const fp2 *x, const fp2 *y)
{
    fp2 conjugate;

    fp2_conjugate(&conjugate, x);
    fp2_multiply(to_x, &conjugate, &PSI_X);
    fp2_conjugate(&conjugate, y);
    fp2_multiply(to_y, &conjugate, &PSI_Y);
}

/* Multiply f by a line. */
static void multiply_line(accumulator *at, const line *l)
{
    static const int PLACES[3] = {0, LINE_X, 3};
    const fp12 *x = at->f;
    fp12 *r = at->next;
    fp2 twisted[4]; /* XI l */

    fp2_multiply(&twisted[LINE_X], &l->of[LINE_X], &XI);
    fp2_multiply(&twisted[3], &l->of[3], &XI);
#pragma GCC unroll 6
    for (int k = 0; k < 6; k++) {
        const fp2 *sum = &FP2_ZERO;
#pragma GCC unroll 3
        for (int i = 0; i < 3; i++) {
            int place = PLACES[i];
            if (place <= k)
                fp2_multiply_add(&r->of[k], &l->of[place], &x->of[k - place], sum);
            else
                fp2_multiply_add(&r->of[k], &twisted[place], &x->of[k - place + 6], sum);
            sum = &r->of[k];
        }
    }
    accumulator_swap(at);
}

/* Double t, and multiply f by the tangent at the first point. */
static void double_step(accumulator *at, pair *each)
{
    projective *t = &each->t;
    fp2 twice_y, a, b, four_b, c, e, f, k, h;
    line l;

    fp2_multiply(&twice_y, &t->y, &FP2_TWO);
    fp2_multiply(&h, &twice_y, &t->z);
    fp2_multiply(&a, &twice_y, &t->x);
    fp2_square(&b, &t->y);
    fp2_square(&four_b, &twice_y);
    fp2_square(&c, &t->z);
    fp2_multiply(&e, &c, &THREE_TWIST_B);
    fp2_multiply_add(&f, &e, &MINUS_THREE, &b);
    fp2_multiply_add(&k, &e, &MINUS_ONE, &b);
    if (each->has_lines) {
        fp2_multiply(&l.of[LINE_Y], &h, &each->first_y);
        fp2_square(&c, &t->x);
        fp2_multiply(&l.of[LINE_X], &c, &each->first_minus_three_x);
        l.of[LINE_VALUE] = k;
        multiply_line(at, &l);
    }
    fp2_multiply(&t->x, &a, &f);
    fp2_multiply(&t->z, &four_b, &h);
    fp2_multiply(&e, &e, &FP2_TWELVE);
    fp2_multiply(&e, &e, &k);
    fp2_multiply_add(&t->y, &f, &f, &e);
}

/* Add the second point, or its negative, to t, and multiply f by the line through both at the first point. If both have
   the same x, z is 0 from then on. */
static void add_step(accumulator *at, pair *each, bool negative)
{
    const fp2 *minus_y = negative ? &each->y : &each->minus_y;
    projective *t = &each->t;
    fp2 theta, lambda, c, d, e, g, h;
    line l;

    fp2_multiply_add(&theta, minus_y, &t->z, &t->y);
    fp2_multiply_add(&lambda, &each->minus_x, &t->z, &t->x);
    if (each->has_lines) {
        fp2_multiply(&l.of[LINE_Y], &lambda, &each->first_y);
        fp2_multiply(&l.of[LINE_X], &theta, &each->first_minus_x);
        fp2_multiply(&c, &lambda, minus_y);
        fp2_multiply_add(&l.of[LINE_VALUE], &theta, &each->x, &c);
        multiply_line(at, &l);
    }
    fp2_square(&c, &theta);
    fp2_square(&d, &lambda);
    fp2_multiply(&e, &lambda, &d);
    fp2_multiply(&g, &t->x, &d);
    fp2_multiply_add(&h, &t->z, &c, &e);
    fp2_multiply_add(&h, &g, &MINUS_TWO, &h);
    fp2_multiply(&t->x, &lambda, &h);
    fp2_multiply_add(&g, &h, &MINUS_ONE, &g);
    fp2_multiply(&d, &e, &MINUS_ONE);
    fp2_multiply(&d, &d, &t->y);
    fp2_multiply_add(&t->y, &theta, &g, &d);
    fp2_multiply(&t->z, &t->z, &e);
}

/* Run the loop over the digits -1, 0 and 1 of a number, below the first one. */
static void miller_loop(accumulator *at, pair *pairs, size_t count, const int8_t *digits, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        fp12_square(at->next, at->f);
        accumulator_swap(at);
        for (pair *each = pairs; each != pairs + count; each++) {
            double_step(at, each);
            if (digits[i])
                add_step(at, each, digits[i] < 0);
        }
    }
}

/* Whether t is (x, y). It is not if z is 0. */
static inline bool has_reached(const projective *t, const fp2 *x, const fp2 *y)
{
    fp2 scaled;

    if (fp2_is_zero(&t->z))
        return false;
    fp2_multiply(&scaled, x, &t->z);
    if (!fp2_equal(&scaled, &t->x))
        return false;
    fp2_multiply(&scaled, y, &t->z);
    return fp2_equal(&scaled, &t->y);
}

#endif
