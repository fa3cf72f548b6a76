/* The pairing check of bn254 (EIP-197): the optimal ate pairing. Fp12 is Fp2[w] with w^6 = 9 + u, and the second group is
   on the twist y^2 = x^3 + 3 / (9 + u). */
#include "bn254.h"

#define FP_WORDS 4
#define FP2_OPERATION FP2_BN254
#define FP_CONSTANTS "bn254_constants.h"
#define LINE_Y 0
#define LINE_X 1
#define LINE_VALUE 3

#include "miller.h"

static fp2 from_number(const number *a)
{
    fp2 r = FP2_ZERO;

    memcpy(&r.a, a, sizeof r.a);
    return r;
}

/* The imaginary part comes first. */
static bool decode_fp2(fp2 *x, const uint8_t *bytes)
{
    return fp_decode(&x->b, bytes) && fp_decode(&x->a, bytes + 32);
}

/* Decode a point of the twist, which may be outside of the subgroup, or zeros for infinity. */
static bool decode_second(fp2 *x, fp2 *y, bool *infinite, const uint8_t *bytes)
{
    fp2 left, right;

    if (!decode_fp2(x, bytes) || !decode_fp2(y, bytes + 64))
        return false;
    *infinite = fp2_is_zero(x) && fp2_is_zero(y);
    if (*infinite)
        return true;
    fp2_square(&right, x);
    fp2_multiply_add(&right, &right, x, &TWIST_B);
    fp2_square(&left, y);
    return fp2_equal(&left, &right);
}

/* Add psi(q) and then -psi^2(q) to t. A point of the twist is in the subgroup of order n if t is -psi^3(q) then: by
   (6 u + 2) + psi - psi^2 + psi^3 = 0. Return if it is. */
static bool finish(accumulator *at, pair *each)
{
    fp2 x, y;

    psi(&x, &y, &each->x, &each->y);
    pair_set_second(each, &x, &y);
    add_step(at, each, false);
    psi(&x, &y, &each->x, &each->y);
    pair_set_second(each, &x, &y);
    add_step(at, each, true);
    psi(&x, &y, &each->x, &each->minus_y);
    return has_reached(&each->t, &x, &y);
}

/* Whether the power of f with the exponent (p^12 - 1) / n is 1. The last part of the exponent is, times a number that has
   no factor n,
   (1 + 6 u + 12 u^2 + 12 u^3) + (4 u + 6 u^2 + 12 u^3) p + (6 u + 6 u^2 + 12 u^3) p^2 + (-1 + 4 u + 6 u^2 + 12 u^3) p^3 */
static bool has_power_one(fp12 *f)
{
    fp12 a, b, c, d, e;

    fp12_to_cyclotomic(f);
    a = *f;
    fp12_raise(&a, PARAMETER, sizeof PARAMETER, PARAMETER_DIGIT);
    fp12_square_cyclotomic(&b, &a); /* 2 u */
    fp12_square_cyclotomic(&c, &b); /* 4 u */
    fp12_multiply(&d, &c, &b);      /* 6 u */
    e = d;
    fp12_raise(&e, PARAMETER, sizeof PARAMETER, PARAMETER_DIGIT); /* 6 u^2 */
    fp12_square_cyclotomic(&a, &e);
    fp12_raise(&a, PARAMETER, sizeof PARAMETER, PARAMETER_DIGIT); /* 12 u^3 */
    fp12_multiply(&b, &a, &e);                                    /* 6 u^2 + 12 u^3 */
    fp12_multiply_by(&c, &b);
    fp12_multiply_by(&d, &b);
    fp12_multiply(&a, f, &d);
    fp12_multiply_by(&a, &e);
    fp12_conjugate(f);
    fp12_multiply_by(f, &c);
    fp12_frobenius(f);
    fp12_frobenius_square(f);
    fp12_frobenius_square(&d);
    fp12_frobenius(&c);
    fp12_multiply_by(&a, f);
    fp12_multiply_by(&a, &c);
    fp12_multiply_by(&a, &d);
    return fp12_is_one(&a);
}

/* Write whether the product of pairings is 1, or return false if a point is not in its group. */
static bool check(const zkvm_bn254_pairing_pair *pairs, size_t num_pairs, bool *verified)
{
    pair *used = __zkvm_scratch(num_pairs * sizeof *used, 8);
    size_t count = 0;
    accumulator at;
    point first;
    fp2 x, y;
    bool infinite;

    for (size_t i = 0; i < num_pairs; i++) {
        if (!decode_point(&first, pairs[i].g1.data) || !decode_second(&x, &y, &infinite, pairs[i].g2.data))
            return false;
        if (infinite)
            continue; /* a pairing with infinity is 1 */
        fp2 first_x = from_number(&first.x), first_y = from_number(&first.y);
        pair_start(&used[count++], &first_x, &first_y, is_infinity(&first), &x, &y);
    }
    accumulator_start(&at);
    miller_loop(&at, used, count, LOOP, sizeof LOOP);
    for (pair *each = used; each != used + count; each++)
        if (!finish(&at, each))
            return false;
    *verified = has_power_one(at.f);
    return true;
}

zkvm_status zkvm_bn254_pairing(const zkvm_bn254_pairing_pair *pairs, size_t num_pairs, bool *verified)
{
    size_t mark = __zkvm_scratch_mark();
    bool valid, holds = false;

    if (num_pairs)
        check_pointer(pairs);
    check_pointer(verified);
    valid = check(pairs, num_pairs, &holds);
    __zkvm_scratch_release(mark);
    *verified = holds;
    return valid ? ZKVM_EOK : ZKVM_EFAIL;
}
