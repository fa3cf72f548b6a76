/* The groups of BLS12-381: G1 on y^2 = x^3 + 4 over Fp, and G2 on y^2 = x^3 + 4 (1 + u) over Fp2.

   Coordinates are elements of Fp2 in both groups, in G1 without a part of u, so that both have the same functions. */
#ifndef BLS12_381_H
#define BLS12_381_H

#define FP_WORDS 6
#define FP2_OPERATION FP2_BLS12_381
#define FP_CONSTANTS "bls12_381_constants.h"

#include "fp2.h"

typedef struct {
    fp2 x, y;
} affine;

/* (x / z^2, y / z^3), or infinity if z is 0. */
typedef struct {
    fp2 x, y, z;
} jacobian;

/* A point to be added: the operation takes its negative coordinates. */
typedef struct {
    fp2 minus_x, y, minus_y;
} addend;

/* A multiple of a point in a sum. The digits are 0, or odd numbers, and the lowest comes first. */
typedef struct {
    const addend *multiples; /* 1, 3, 5, ... times the point */
    const int8_t *digits;
    size_t count;
} row;

/* A group of order r, and a map of its curve: (x, y) to (x' image_x, y' image_y) with ' for the conjugate. The map is a
   multiplication by `base` for the points in the group, and for no others. Numbers below r have `parts` digits in this
   base, of at most two words. */
typedef struct {
    size_t bytes; /* of a coordinate */
    const fp2 *b; /* of y^2 = x^3 + b */
    const fp2 *image_x, *image_y;
    const number *base;
    const int8_t *base_digits; /* as in a row of one multiple */
    size_t base_count;
    size_t parts;
} group;

extern const group __zkvm_bls12_g1, __zkvm_bls12_g2;

/* Decode a point of the curve, which may be outside of the group; return false if it is none. Zeros are infinity. */
bool __zkvm_bls12_decode(const group *in, affine *to, bool *infinite, const uint8_t *bytes);
void __zkvm_bls12_encode(const group *in, uint8_t *bytes, const jacobian *point);

/* Return if a point of the curve is in the group. */
bool __zkvm_bls12_is_member(const group *in, const affine *point);

void __zkvm_bls12_double(jacobian *point);
void __zkvm_bls12_add(jacobian *point, const addend *other, bool negative);
void __zkvm_bls12_add_rows(jacobian *sum, const row *rows, size_t count);
addend __zkvm_bls12_addend(const affine *point);
addend __zkvm_bls12_image(const group *in, const addend *point);

/* Divide z^2 and z^3 into the coordinates of points that are not infinity. */
void __zkvm_bls12_normalize(affine *to, const jacobian *points, size_t count);

/* A point of a group, which is not infinity, and its factor. */
typedef struct {
    affine point;
    number factor;
} term;

void __zkvm_bls12_sum(const group *in, jacobian *sum, const term *terms, size_t count);

/* Points of a pairing. The first one is in G1, or infinity; the second one is on the curve of G2. */
typedef struct {
    affine first, second;
    bool infinite;
} couple;

/* Write if the product of pairings is 1; return false if a second point is not in G2. */
bool __zkvm_bls12_product_is_one(const couple *couples, size_t count, bool *holds);

#endif
