/* Points of curves of a prime order, in affine coordinates, by the machine's point operation. A curve is given by the
   number of its host call. */
#ifndef POINTS_H
#define POINTS_H

#include "arithmetic.h"

static inline bool is_infinity(const point *p)
{
    return is_zero(&p->x) && is_zero(&p->y);
}

static inline void point_double(uint64_t curve, point *p)
{
    if (!is_infinity(p)) /* no point has a y of 0: the order is odd */
        double_call(curve, p);
}

/* Add points of which one may be infinity, or x may be the same: what the host call does not do. */
void __zkvm_add_special(uint64_t curve, point *p, const point *q);

static inline void point_add(uint64_t curve, point *p, const point *q)
{
    uint64_t here = p->x.words[0], other = q->x.words[0];

    if (here == other || !here || !other)
        __zkvm_add_special(curve, p, q);
    else
        add_call(curve, p, q);
}

/* Continue a table of the points i P + j Q, for i and j below 4, from the entries with i = 0 or j = 0: the place of a
   point is i + 4 j. Infinity is at place 0. */
static inline void complete(uint64_t curve, point table[16])
{
    for (int j = 4; j < 16; j += 4)
        for (int i = 1; i < 4; i++) {
            table[j + i] = table[j];
            point_add(curve, &table[j + i], &table[i]);
        }
}

/* Return the sum of the points that digits of 4 bits choose from a table, the first digits with the highest weight: one
   has 2^`doublings` times the weight of the next one. The first word has `first` digits, and the others 16; all begin at
   the highest bit. */
static inline point sum_of_chosen(uint64_t curve, const point table[16], const uint64_t *digits, size_t words,
                                  unsigned first, unsigned doublings)
{
    point sum = table[0];
    bool infinite = true;

    for (const uint64_t *end = digits + words; digits != end; digits++, first = 16) {
        uint64_t word = *digits;
        for (; first; first--, word <<= 4) {
            size_t digit = word >> 60;
            if (infinite) {
                sum = table[digit];
                infinite = is_infinity(&sum);
                continue;
            }
            for (unsigned i = 0; i < doublings; i++)
                double_call(curve, &sum);
            if (!digit)
                continue;
            const point *chosen = &table[digit];
            if (sum.x.words[0] != chosen->x.words[0] && chosen->x.words[0]) {
                add_call(curve, &sum, chosen);
            } else {
                __zkvm_add_special(curve, &sum, chosen);
                infinite = is_infinity(&sum);
            }
        }
    }
    return sum;
}

/* Spread 16 bits, so that three bits of 0 are above each. */
static inline uint64_t spread_bits(uint64_t bits)
{
    bits = (bits | bits << 24) & 0x000000FF000000FF;
    bits = (bits | bits << 12) & 0x000F000F000F000F;
    bits = (bits | bits << 6) & 0x0303030303030303;
    return (bits | bits << 3) & 0x1111111111111111;
}

/* Spread 16 pairs of bits, so that two bits of 0 are above each. */
static inline uint64_t spread_pairs(uint64_t bits)
{
    bits = (bits | bits << 16) & 0x0000FFFF0000FFFF;
    bits = (bits | bits << 8) & 0x00FF00FF00FF00FF;
    bits = (bits | bits << 4) & 0x0F0F0F0F0F0F0F0F;
    return (bits | bits << 2) & 0x3333333333333333;
}

/* Write the digits of two numbers of `words` words, each of 2 bits of both: those of `low` are the lower ones. */
static inline void join_pairs(uint64_t *digits, const uint64_t *low, const uint64_t *high, size_t words)
{
    while (words--) {
        *digits++ = spread_pairs(low[words] >> 32) | spread_pairs(high[words] >> 32) << 2;
        *digits++ = spread_pairs(low[words] & 0xFFFFFFFF) | spread_pairs(high[words] & 0xFFFFFFFF) << 2;
    }
}

/* An endomorphism of a curve of order n: (x, y) to (beta x, y) is a multiplication by lambda. The pairs (a, b) with
   a + b lambda = 0 mod n are a lattice with the basis (a1, b1), (a2, b2). Any k is k1 + k2 lambda, where (k1, k2) is
   (k, 0) less the nearest point of the lattice, plus a fixed point (o1, o2), which makes both positive. */
typedef struct {
    number n;
    number g1, g2;       /* 2^320 b2 / n and -2^320 b1 / n, rounded */
    number b1, b2;       /* -b1 and -b2 mod n */
    number o2;
    number minus_lambda; /* mod n */
} endomorphism;

/* Return how many times a vector of the lattice is taken away: k g / 2^320, rounded. */
static inline number rounded(const number *k, const number *g)
{
    number product[2];
    static const number whole = {{0}};

    multiply_divide(product, k, g, &ZERO, &whole);
    const uint64_t *words = product[1].words;
    uint64_t low = words[1] + (words[0] >> 63), carry = low < words[1];
    return (number){{low, words[2] + carry, 0, 0}};
}

/* Write k1 and k2 for a k below n. */
static inline void split(const endomorphism *map, const number *k, number *k1, number *k2)
{
    number c1 = rounded(k, &map->g1), c2 = rounded(k, &map->g2);

    multiply_add(k2, &c2, &map->b2, &map->o2, &map->n);
    multiply_add(k2, &c1, &map->b1, k2, &map->n);
    multiply_add(k1, k2, &map->minus_lambda, k, &map->n);
}

#endif
