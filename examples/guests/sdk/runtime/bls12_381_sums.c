/* Sums of points of BLS12-381, and of multiples (EIP-2537). */
#include "bls12_381.h"

/* Digits of a factor are of 4 bits; odd ones are below 8. */
enum { WEIGHT = 16, MULTIPLES = 4, MOST_DIGITS = 129 };

/* Write a number in digits that are 0, or odd and between -8 and 8. Of any four in a row at most one is not 0. The number
   has two words; it is below x^2, so the upper word has room for a carry. Return the count of digits. */
static size_t write_digits(int8_t *digits, uint64_t low, uint64_t high)
{
    size_t count = 0;

    while (low | high) {
        int digit = low & 1 ? (int)(low % WEIGHT) : 0;
        low -= (uint64_t)digit;
        if (digit > WEIGHT / 2) {
            digit -= WEIGHT;
            low += WEIGHT;
            high += !low;
        }
        digits[count++] = (int8_t)digit;
        low = low >> 1 | high << 63;
        high >>= 1;
    }
    return count;
}

/* Write 3, 5 and 7 times a point of a group. */
static void write_multiples(jacobian *to, const affine *point)
{
    addend once = __zkvm_bls12_addend(point);
    jacobian even = {point->x, point->y, FP2_ONE};

    __zkvm_bls12_double(&even);
    to[0] = even;
    __zkvm_bls12_add(&to[0], &once, false);
    __zkvm_bls12_double(&even);
    to[1] = even;
    __zkvm_bls12_add(&to[1], &once, false);
    to[2] = to[0];
    __zkvm_bls12_double(&to[2]);
    __zkvm_bls12_add(&to[2], &once, false);
}

static void write_addends(addend to[MULTIPLES], const affine *once, const affine *higher)
{
    to[0] = __zkvm_bls12_addend(once);
    for (int k = 1; k < MULTIPLES; k++)
        to[k] = __zkvm_bls12_addend(&higher[k - 1]);
}

/* Write the images of the addends before these. */
static void write_images(const group *in, addend to[MULTIPLES])
{
    for (int k = 0; k < MULTIPLES; k++)
        to[k] = __zkvm_bls12_image(in, &to[k - MULTIPLES]);
}

void __zkvm_bls12_sum(const group *in, jacobian *sum, const term *terms, size_t count)
{
    size_t size = in->parts * count;
    jacobian *higher = __zkvm_scratch(3 * count * sizeof *higher, 8);
    affine *normal = __zkvm_scratch(3 * count * sizeof *normal, 8);
    row *rows = __zkvm_scratch(size * sizeof *rows, 8), *next = rows;
    addend *multiples = __zkvm_scratch(MULTIPLES * size * sizeof *multiples, 8);
    int8_t *digits = __zkvm_scratch(MOST_DIGITS * size, 8);
    number part[2]; /* remainder and quotient */

    for (size_t i = 0; i < count; i++)
        write_multiples(&higher[3 * i], &terms[i].point);
    __zkvm_bls12_normalize(normal, higher, 3 * count);
    for (size_t i = 0; i < count; i++) {
        multiply(&part[1], &terms[i].factor, &ONE, &ORDER);
        for (size_t j = 0; j < in->parts; j++, next++, multiples += MULTIPLES, digits += MOST_DIGITS) {
            if (j)
                write_images(in, multiples);
            else
                write_addends(multiples, &terms[i].point, &normal[3 * i]);
            multiply_divide(part, &part[1], &ONE, &ZERO, in->base);
            *next = (row){multiples, digits, write_digits(digits, part[0].words[0], part[0].words[1])};
        }
    }
    __zkvm_bls12_add_rows(sum, rows, size);
}

static zkvm_status add_points(const group *in, const uint8_t *p1, const uint8_t *p2, uint8_t *result)
{
    bool infinite[2];
    affine points[2];
    jacobian sum = {FP2_ONE, FP2_ONE, FP2_ZERO};

    check_pointer(p1);
    check_pointer(p2);
    check_pointer(result);
    if (!__zkvm_bls12_decode(in, &points[0], &infinite[0], p1) || !__zkvm_bls12_decode(in, &points[1], &infinite[1], p2))
        return ZKVM_EFAIL;
    for (int i = 0; i < 2; i++) {
        addend other = __zkvm_bls12_addend(&points[i]);
        if (!infinite[i])
            __zkvm_bls12_add(&sum, &other, false);
    }
    __zkvm_bls12_encode(in, result, &sum);
    return ZKVM_EOK;
}

/* Write the sum of multiples; a pair is a point and a scalar. */
static zkvm_status add_multiples(const group *in, const uint8_t *pairs, size_t num_pairs, uint8_t *result)
{
    size_t mark = __zkvm_scratch_mark(), count = 0;
    zkvm_status status = num_pairs ? ZKVM_EOK : ZKVM_EFAIL;
    term *terms = __zkvm_scratch(num_pairs * sizeof *terms, 8);
    jacobian sum;
    bool infinite;

    if (num_pairs)
        check_pointer(pairs);
    check_pointer(result);
    for (; num_pairs; num_pairs--, pairs += 2 * in->bytes + 32) {
        affine *point = &terms[count].point;
        if (!__zkvm_bls12_decode(in, point, &infinite, pairs) || (!infinite && !__zkvm_bls12_is_member(in, point))) {
            status = ZKVM_EFAIL;
            break;
        }
        terms[count].factor = decoded(pairs + 2 * in->bytes);
        count += !infinite;
    }
    if (status == ZKVM_EOK) {
        __zkvm_bls12_sum(in, &sum, terms, count);
        __zkvm_bls12_encode(in, result, &sum);
    }
    __zkvm_scratch_release(mark);
    return status;
}

zkvm_status zkvm_bls12_g1_add(const zkvm_bls12_381_g1_point *p1, const zkvm_bls12_381_g1_point *p2,
                              zkvm_bls12_381_g1_point *result)
{
    return add_points(&__zkvm_bls12_g1, (const uint8_t *)p1, (const uint8_t *)p2, (uint8_t *)result);
}

zkvm_status zkvm_bls12_g2_add(const zkvm_bls12_381_g2_point *p1, const zkvm_bls12_381_g2_point *p2,
                              zkvm_bls12_381_g2_point *result)
{
    return add_points(&__zkvm_bls12_g2, (const uint8_t *)p1, (const uint8_t *)p2, (uint8_t *)result);
}

zkvm_status zkvm_bls12_g1_msm(const zkvm_bls12_381_g1_msm_pair *pairs, size_t num_pairs, zkvm_bls12_381_g1_point *result)
{
    return add_multiples(&__zkvm_bls12_g1, (const uint8_t *)pairs, num_pairs, (uint8_t *)result);
}

zkvm_status zkvm_bls12_g2_msm(const zkvm_bls12_381_g2_msm_pair *pairs, size_t num_pairs, zkvm_bls12_381_g2_point *result)
{
    return add_multiples(&__zkvm_bls12_g2, (const uint8_t *)pairs, num_pairs, (uint8_t *)result);
}
