/* The pairing check of BLS12-381 (EIP-2537): the ate pairing. Fp12 is Fp2[w] with w^6 = 1 + u. */
#include "bls12_381.h"

#define LINE_VALUE 0
#define LINE_X 2
#define LINE_Y 3

#include "miller.h"

static void raise(fp12 *x)
{
    fp12_raise(x, PARAMETER_BITS, sizeof PARAMETER_BITS, 1);
}

/* Whether the power of f with the exponent (p^12 - 1) / r is 1. The last part of the exponent is, times 3,
   (x - 1)^2 (x + p) (x^2 + p^2 - 1) + 3 for the curve's parameter x, which is negative. */
static bool has_power_one(fp12 *f)
{
    fp12 a, b, c;

    fp12_to_cyclotomic(f);
    a = *f;
    for (int i = 0; i < 2; i++) { /* the power of 1 - x, twice */
        b = a;
        raise(&b);
        fp12_multiply_by(&a, &b);
    }
    b = a;
    raise(&b);
    fp12_conjugate(&b);
    fp12_frobenius(&a);
    fp12_multiply_by(&a, &b); /* x + p */
    b = c = a;
    raise(&b);
    raise(&b);
    fp12_frobenius_square(&c);
    fp12_conjugate(&a);
    fp12_multiply_by(&a, &b);
    fp12_multiply_by(&a, &c); /* x^2 + p^2 - 1 */
    fp12_multiply_by(&a, f);
    fp12_square_cyclotomic(&b, f);
    fp12_multiply_by(&a, &b);
    return fp12_is_one(&a);
}

bool __zkvm_bls12_product_is_one(const couple *couples, size_t count, bool *holds)
{
    pair *pairs = __zkvm_scratch(count * sizeof *pairs, 8);
    accumulator at;
    fp2 x, y;

    for (size_t i = 0; i < count; i++) {
        const affine *first = &couples[i].first, *second = &couples[i].second;
        pair_start(&pairs[i], &first->x, &first->y, couples[i].infinite, &second->x, &second->y);
    }
    accumulator_start(&at);
    miller_loop(&at, pairs, count, PARAMETER_BITS + 1, sizeof PARAMETER_BITS - 1);
    for (pair *each = pairs; each != pairs + count; each++) { /* in G2, -psi is a multiplication by -x */
        psi(&x, &y, &each->x, &each->minus_y);
        if (!has_reached(&each->t, &x, &y))
            return false;
    }
    *holds = has_power_one(at.f); /* the pairing is the inverse of this, as x is negative */
    return true;
}

/* Write if the product of pairings is 1; return false if there are none, or a point is not in its group. */
static bool check(const zkvm_bls12_381_pairing_pair *pairs, size_t num_pairs, bool *holds)
{
    couple *couples = __zkvm_scratch(num_pairs * sizeof *couples, 8), *next = couples;
    bool infinite;

    for (size_t i = 0; i < num_pairs; i++) {
        if (!__zkvm_bls12_decode(&__zkvm_bls12_g1, &next->first, &next->infinite, pairs[i].g1.data) ||
            !__zkvm_bls12_decode(&__zkvm_bls12_g2, &next->second, &infinite, pairs[i].g2.data))
            return false;
        if (!next->infinite && !__zkvm_bls12_is_member(&__zkvm_bls12_g1, &next->first))
            return false;
        next += !infinite; /* a pairing with infinity is 1 */
    }
    return num_pairs && __zkvm_bls12_product_is_one(couples, (size_t)(next - couples), holds);
}

zkvm_status zkvm_bls12_pairing(const zkvm_bls12_381_pairing_pair *pairs, size_t num_pairs, bool *verified)
{
    size_t mark = __zkvm_scratch_mark();
    bool holds = false, valid;

    if (num_pairs)
        check_pointer(pairs);
    check_pointer(verified);
    valid = check(pairs, num_pairs, &holds);
    __zkvm_scratch_release(mark);
    *verified = holds;
    return valid ? ZKVM_EOK : ZKVM_EFAIL;
}
