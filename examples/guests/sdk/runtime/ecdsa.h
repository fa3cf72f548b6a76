/* The verification of a signature, FIPS 186-5, section 6.4.2, which the curves of ECDSA share. */
#ifndef ECDSA_H
#define ECDSA_H

#include "points.h"

typedef struct {
    number p, n;
    number a, b;         /* y^2 = x^3 + a x + b */
    uint8_t inverse[32]; /* n - 2, big-endian: the exponent of an inverse */
} group;

/* Whether a part of a signature is from 1 to n - 1. */
static inline bool in_range(const number *a, const number *n)
{
    return below(a, n) && !is_zero(a);
}

static inline bool is_key(const group *group, const point *q)
{
    number left, right;

    if (!below(&q->x, &group->p) || !below(&q->y, &group->p))
        return false;
    multiply_add(&right, &q->x, &q->x, &group->a, &group->p);
    multiply_add(&right, &right, &q->x, &group->b, &group->p);
    multiply(&left, &q->y, &q->y, &group->p);
    return equal(&left, &right);
}

/* Whether a signature is valid. `combined` returns u G + v Q. */
static inline bool verify(const group *group, point (*combined)(const number *u, const number *v, const point *q),
                          const uint8_t *message, const uint8_t *signature, const uint8_t *key)
{
    number z = decoded(message), r = decoded(signature), s = decoded(signature + 32), u, v;
    point q = {decoded(key), decoded(key + 32)};

    if (!in_range(&r, &group->n) || !in_range(&s, &group->n) || !is_key(group, &q))
        return false;
    __zkvm_raise(&s, group->inverse, sizeof group->inverse, &group->n);
    multiply(&u, &z, &s, &group->n);
    multiply(&v, &r, &s, &group->n);
    point sum = combined(&u, &v, &q);
    if (is_infinity(&sum))
        return false;
    multiply(&sum.x, &sum.x, &ONE, &group->n);
    return equal(&sum.x, &r);
}

#endif
