/* G1 of bn254: y^2 = x^3 + 3. Every point of the curve is in it. */
#include "bn254.h"

static const number BETA = {{0xE4BD44E5607CFD48, 0xC28F069FBB966E3D, 0x5E6DD9E7E0ACCCB0, 0x30644E72E131A029}};
static const endomorphism MAP = {
    .n = {{0x43E1F593F0000001, 0x2833E84879B97091, 0xB85045B68181585D, 0x30644E72E131A029}},
    .g1 = {{0x149D540FD5E495CC, 0x5398FD0300FF6565, 0x4CCEF014A773D2D2, 0x0000000000000002}},
    .g2 = {{0x6EB9C714773A6EF3, 0xD91D232EC7E0B3D7, 0x0000000000000002, 0x0000000000000000}},
    .b1 = {{0x89D3256894D213E3, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000}},
    .b2 = {{0x37FD143FDDDEDAF6, 0xB8E665FF8B011694, 0xB85045B68181585C, 0x30644E72E131A029}},
    .o2 = {{0x8211BBEB7D4F1128, 0x6F4D8248EEB859FC, 0x0000000000000000, 0x0000000000000000}},
    .minus_lambda = {{0x8B17EA66B99C90DE, 0x5BFC41088D8DAAA7, 0xB3C4D79D41A91758, 0x0000000000000000}},
};

static void encode_point(uint8_t *bytes, const point *at)
{
    encode(bytes, &at->x);
    encode(bytes + 32, &at->y);
}

zkvm_status zkvm_bn254_g1_add(const zkvm_bn254_g1_point *p1, const zkvm_bn254_g1_point *p2, zkvm_bn254_g1_point *result)
{
    point left, right;

    check_pointer(p1);
    check_pointer(p2);
    check_pointer(result);
    if (!decode_point(&left, p1->data) || !decode_point(&right, p2->data))
        return ZKVM_EFAIL;
    point_add(BN254, &left, &right);
    encode_point(result->data, &left);
    return ZKVM_EOK;
}

/* Return k P. */
static point multiplied(const point *at, const number *k)
{
    point table[16]; /* places: i + 4 j for (i + j lambda) P */
    number reduced, scalars[2];
    uint64_t digits[4];

    if (is_infinity(at))
        return *at;
    table[0] = (point){{{0}}, {{0}}};
    table[1] = table[2] = *at;
    point_double(BN254, &table[2]);
    table[3] = table[2];
    point_add(BN254, &table[3], at);
    for (int i = 1; i < 4; i++) {
        table[4 * i].y = table[i].y;
        multiply(&table[4 * i].x, &table[i].x, &BETA, &P);
    }
    complete(BN254, table);
    multiply(&reduced, k, &ONE, &MAP.n);
    split(&MAP, &reduced, &scalars[0], &scalars[1]);
    join_pairs(digits, scalars[0].words, scalars[1].words, 2);
    return sum_of_chosen(BN254, table, digits, 4, 16, 2);
}

zkvm_status zkvm_bn254_g1_mul(const zkvm_bn254_g1_point *p1, const zkvm_bn254_scalar *scalar, zkvm_bn254_g1_point *result)
{
    point at;

    check_pointer(p1);
    check_pointer(scalar);
    check_pointer(result);
    if (!decode_point(&at, p1->data))
        return ZKVM_EFAIL;
    number k = decoded(scalar->data);
    at = multiplied(&at, &k);
    encode_point(result->data, &at);
    return ZKVM_EOK;
}
