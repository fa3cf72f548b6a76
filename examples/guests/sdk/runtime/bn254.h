/* The first group of bn254: the points of y^2 = x^3 + 3, which is of a prime order. */
#ifndef BN254_H
#define BN254_H

#include "points.h"

static const number P = {{0x3C208C16D87CFD47, 0x97816A916871CA8D, 0xB85045B68181585D, 0x30644E72E131A029}};

/* Decode a point, or zeros for infinity. */
static inline bool decode_point(point *at, const uint8_t *bytes)
{
    static const number b = {{3}};
    number left, right;

    at->x = decoded(bytes);
    at->y = decoded(bytes + 32);
    if (is_infinity(at))
        return true;
    if (!below(&at->x, &P) || !below(&at->y, &P))
        return false;
    multiply(&right, &at->x, &at->x, &P);
    multiply_add(&right, &right, &at->x, &b, &P);
    multiply(&left, &at->y, &at->y, &P);
    return equal(&left, &right);
}

#endif
