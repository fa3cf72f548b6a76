/* Points of the curves of BLS12-381. */
#include "bls12_381.h"

const group __zkvm_bls12_g1 = {
    .bytes = 48,
    .b = &FIRST_B,
    .image_x = &PHI_X,
    .image_y = &MINUS_ONE,
    .base = &PARAMETER_SQUARE,
    .base_digits = PARAMETER_SQUARE_DIGITS,
    .base_count = sizeof PARAMETER_SQUARE_DIGITS,
    .parts = 2,
};
const group __zkvm_bls12_g2 = {
    .bytes = 96,
    .b = &TWIST_B,
    .image_x = &PSI_X,
    .image_y = &MINUS_PSI_Y,
    .base = &PARAMETER,
    .base_digits = PARAMETER_DIGITS,
    .base_count = sizeof PARAMETER_DIGITS,
    .parts = 4,
};

static bool decode_element(const group *in, fp2 *to, const uint8_t *bytes)
{
    to->b = FP2_ZERO.b;
    return fp_decode(&to->a, bytes) && (in->bytes == sizeof(fp) || fp_decode(&to->b, bytes + sizeof(fp)));
}

static void encode_element(const group *in, uint8_t *bytes, const fp2 *from)
{
    fp_encode(bytes, &from->a);
    if (in->bytes != sizeof(fp))
        fp_encode(bytes + sizeof(fp), &from->b);
}

bool __zkvm_bls12_decode(const group *in, affine *to, bool *infinite, const uint8_t *bytes)
{
    fp2 left, right;

    if (!decode_element(in, &to->x, bytes) || !decode_element(in, &to->y, bytes + in->bytes))
        return false;
    *infinite = fp2_is_zero(&to->x) && fp2_is_zero(&to->y);
    if (*infinite)
        return true;
    fp2_square(&right, &to->x);
    fp2_multiply_add(&right, &right, &to->x, in->b);
    fp2_square(&left, &to->y);
    return fp2_equal(&left, &right);
}

void __zkvm_bls12_encode(const group *in, uint8_t *bytes, const jacobian *point)
{
    affine at = {FP2_ZERO, FP2_ZERO};

    if (!fp2_is_zero(&point->z))
        __zkvm_bls12_normalize(&at, point, 1);
    encode_element(in, bytes, &at.x);
    encode_element(in, bytes + in->bytes, &at.y);
}

void __zkvm_bls12_double(jacobian *point)
{
    fp2 twice_y, b, d, e, f;

    fp2_multiply(&twice_y, &point->y, &FP2_TWO);
    fp2_multiply(&point->z, &point->z, &twice_y);
    fp2_square(&b, &twice_y); /* 4 y^2 */
    fp2_multiply(&d, &point->x, &b);
    fp2_multiply(&e, &point->x, &FP2_THREE);
    fp2_multiply(&e, &e, &point->x);
    fp2_multiply(&f, &d, &MINUS_TWO);
    fp2_multiply_add(&point->x, &e, &e, &f);
    fp2_multiply_add(&d, &point->x, &MINUS_ONE, &d);
    fp2_multiply(&f, &b, &MINUS_HALF);
    fp2_multiply(&f, &f, &b); /* -8 y^4 */
    fp2_multiply_add(&point->y, &e, &d, &f);
}

void __zkvm_bls12_add(jacobian *point, const addend *other, bool negative)
{
    const fp2 *minus_y = negative ? &other->y : &other->minus_y;
    fp2 square, g, s, gg, v, cube;

    if (!point->z.a.words[0] && fp2_is_zero(&point->z)) {
        fp2_negate(&point->x, &other->minus_x);
        fp2_negate(&point->y, minus_y);
        point->z = FP2_ONE;
        return;
    }
    fp2_square(&square, &point->z);
    fp2_multiply_add(&g, &other->minus_x, &square, &point->x);
    fp2_multiply(&square, &square, &point->z);
    fp2_multiply_add(&s, minus_y, &square, &point->y);
    if (!g.a.words[0] && fp2_is_zero(&g)) {
        if (fp2_is_zero(&s))
            __zkvm_bls12_double(point);
        else
            point->z = FP2_ZERO;
        return;
    }
    fp2_square(&gg, &g);
    fp2_multiply(&v, &point->x, &gg);
    fp2_multiply(&cube, &g, &gg);
    fp2_multiply_add(&gg, &v, &MINUS_TWO, &cube);
    fp2_multiply_add(&point->x, &s, &s, &gg);
    fp2_multiply_add(&v, &point->x, &MINUS_ONE, &v);
    fp2_multiply(&cube, &cube, &MINUS_ONE);
    fp2_multiply(&cube, &cube, &point->y);
    fp2_multiply_add(&point->y, &s, &v, &cube);
    fp2_multiply(&point->z, &point->z, &g);
}

void __zkvm_bls12_add_rows(jacobian *sum, const row *rows, size_t count)
{
    size_t place = 0;

    sum->z = FP2_ZERO;
    sum->x = sum->y = FP2_ONE;
    for (size_t i = 0; i < count; i++)
        if (rows[i].count > place)
            place = rows[i].count;
    while (place--) {
        __zkvm_bls12_double(sum);
        for (const row *each = rows; each != rows + count; each++) {
            int digit = place < each->count ? each->digits[place] : 0;
            if (digit > 0)
                __zkvm_bls12_add(sum, &each->multiples[digit / 2], false);
            else if (digit < 0)
                __zkvm_bls12_add(sum, &each->multiples[-digit / 2], true);
        }
    }
}

addend __zkvm_bls12_addend(const affine *point)
{
    addend to;

    to.y = point->y;
    fp2_negate(&to.minus_x, &point->x);
    fp2_negate(&to.minus_y, &point->y);
    return to;
}

addend __zkvm_bls12_image(const group *in, const addend *point)
{
    addend to;
    fp2 conjugate;

    fp2_conjugate(&conjugate, &point->minus_x);
    fp2_multiply(&to.minus_x, &conjugate, in->image_x);
    fp2_conjugate(&conjugate, &point->y);
    fp2_multiply(&to.y, &conjugate, in->image_y);
    fp2_negate(&to.minus_y, &to.y);
    return to;
}

bool __zkvm_bls12_is_member(const group *in, const affine *point)
{
    addend once = __zkvm_bls12_addend(point), image = __zkvm_bls12_image(in, &once);
    row base = {&once, in->base_digits, in->base_count};
    jacobian sum;

    __zkvm_bls12_add_rows(&sum, &base, 1);
    if (fp2_is_zero(&sum.z))
        return false;
    __zkvm_bls12_add(&sum, &image, true);
    return fp2_is_zero(&sum.z);
}

void __zkvm_bls12_normalize(affine *to, const jacobian *points, size_t count)
{
    fp2 product = FP2_ONE, inverse, square;

    for (size_t i = 0; i < count; i++) { /* the x of a result has room for the product of the z before it */
        to[i].x = product;
        fp2_multiply(&product, &product, &points[i].z);
    }
    fp2_invert(&inverse, &product);
    for (size_t i = count; i--;) {
        fp2_multiply(&product, &inverse, &to[i].x); /* 1 / z */
        fp2_multiply(&inverse, &inverse, &points[i].z);
        fp2_square(&square, &product);
        fp2_multiply(&to[i].x, &points[i].x, &square);
        fp2_multiply(&square, &square, &product);
        fp2_multiply(&to[i].y, &points[i].y, &square);
    }
}
