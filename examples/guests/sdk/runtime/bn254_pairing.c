/* The pairing check of bn254 (EIP-197): the optimal ate pairing by the machine's modular operation.

   Fp2 is Fp[i] with i^2 = -1, and Fp12 is Fp2[w] with w^6 = 9 + i. A product with a sum takes four operations, so sums
   of products are computed as they are: there is nothing to save by fewer products and more sums. */
#include "bn254.h"

typedef struct {
    number a, b; /* a + b i */
} fp2;

typedef struct {
    fp2 of[6]; /* the factors of w^0 to w^5 */
} fp12;

/* A point of the twist y^2 = x^3 + 3 / (9 + i), and one as (x / z, y / z). */
typedef struct {
    fp2 x, y;
} twist_point;

typedef struct {
    fp2 x, y, z;
} projective;

/* A pair, and the multiple of its second point that the loop has reached. */
typedef struct {
    point p;
    twist_point q;
    projective t;
} pair;

/* A line, at the first point of a pair: w^0, w^1, w^3. */
typedef struct {
    fp2 of[3];
} line;

static const number MINUS_ONE = {{0x3C208C16D87CFD46, 0x97816A916871CA8D, 0xB85045B68181585D, 0x30644E72E131A029}};
static const number HALF = {{0x9E10460B6C3E7EA4, 0xCBC0B548B438E546, 0xDC2822DB40C0AC2E, 0x183227397098D014}};
static const number THREE = {{3}}, NINE = {{9}}, TWO = {{2}};
static const uint8_t INVERSE[32] = /* p - 2: the exponent of an inverse */
    {0x30, 0x64, 0x4E, 0x72, 0xE1, 0x31, 0xA0, 0x29, 0xB8, 0x50, 0x45, 0xB6, 0x81, 0x81, 0x58, 0x5D, 0x97, 0x81, 0x6A,
     0x91, 0x68, 0x71, 0xCA, 0x8D, 0x3C, 0x20, 0x8C, 0x16, 0xD8, 0x7C, 0xFD, 0x45};
static const fp2 TWIST_B =
    {{{0x3267E6DC24A138E5, 0xB5B4C5E559DBEFA3, 0x81BE18991BE06AC3, 0x2B149D40CEB8AAAE}},
     {{0xE4A2BD0685C315D2, 0xA74FA084E52D1852, 0xCD2CAFADEED8FDF4, 0x009713B03AF0FED4}}}; /* 3 / (9 + i) */
static const fp2 THREE_TWIST_B =
    {{{0x1EF69C66BCE9B021, 0xF21B7C8D3CB039CF, 0x1499BE5E509E8F8F, 0x20753ADCA9C6BFB8}},
     {{0xADE8371391494176, 0xF5EEE18EAF8748F8, 0x67860F09CC8AF9DD, 0x01C53B10B0D2FC7E}}};
/* (9 + i)^(k (p - 1) / 6): what p-th powers do to w^k; and (9 + i)^(k (p^2 - 1) / 6), without an imaginary part. */
static const fp2 POWERS[6] = {
    {{{0x0000000000000001, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000}},
     {{0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000}}},
    {{{0xD60B35DADCC9E470, 0x5C521E08292F2176, 0xE8B99FDD76E68B60, 0x1284B71C2865A7DF}},
     {{0xCA5CF05F80F362AC, 0x747992778EEEC7E5, 0xA6327CFE12150B8E, 0x246996F3B4FAE7E6}}},
    {{{0x99E39557176F553D, 0xB78CC310C2C3330C, 0x4C0BEC3CF559B143, 0x2FB347984F7911F7}},
     {{0x1665D51C640FCBA2, 0x32AE2A1D0B7C9DCE, 0x4BA4CC8BD75A0794, 0x16C9E55061EBAE20}}},
    {{{0xDC54014671A0135A, 0xDBAAE0EDA9C95998, 0xDC5EC698B6E2F9B9, 0x063CF305489AF5DC}},
     {{0x82D37F632623B0E3, 0x21807DC98FA25BD2, 0x0704B5A7EC796F2B, 0x07C03CBCAC41049A}}},
    {{{0x848A1F55921EA762, 0xD33365F7BE94EC72, 0x80F3C0B75A181E84, 0x05B54F5E64EEA801}},
     {{0xC13B4711CD2B8126, 0x3685D2EA1BDEC763, 0x9F3A80B03B0B1C92, 0x2C145EDBE7FD8AEE}}},
    {{{0x2EA2C810EAB7692F, 0x425C459B55AA1BD3, 0xE93A3661A4353FF4, 0x0183C1E74F798649}},
     {{0x24C6B8EE6E0C2C4B, 0xB080CB99678E2AC0, 0xA27FB246C7729F7D, 0x12ACF2CA76FD0675}}},
};
static const number SQUARE_POWERS[6] = {
    {{0x0000000000000001, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000}},
    {{0xE4BD44E5607CFD49, 0xC28F069FBB966E3D, 0x5E6DD9E7E0ACCCB0, 0x30644E72E131A029}},
    {{0xE4BD44E5607CFD48, 0xC28F069FBB966E3D, 0x5E6DD9E7E0ACCCB0, 0x30644E72E131A029}},
    {{0x3C208C16D87CFD46, 0x97816A916871CA8D, 0xB85045B68181585D, 0x30644E72E131A029}},
    {{0x5763473177FFFFFE, 0xD4F263F1ACDB5C4F, 0x59E26BCEA0D48BAC, 0x0000000000000000}},
    {{0x5763473177FFFFFF, 0xD4F263F1ACDB5C4F, 0x59E26BCEA0D48BAC, 0x0000000000000000}},
};
/* Digits of -1, 0 and 1 of three numbers, below the first one: 6 u + 2, u, and 6 u^2, for the curve's parameter u. */
static const int8_t LOOP[] = {
    0, -1, 0, 1, 0, 0, 0, -1, 0, -1, 0, 0, 0, -1, 0, 1, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 1, 0, 0,
    -1, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, -1, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, -1, 0, 1, 0, 1, 0, 0, 0,
};
static const int8_t PARAMETER[] = {
    0, 0, 0, 1, 0, 1, 0, 0, -1, 0, 1, 0, 1, 0, -1, 0, 0, 1, 0, 1, 0, -1, 0, -1, 0, -1, 0, 1, 0, 0, 0, 1, 0, 0,
    1, 0, 1, 0, 1, 0, -1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 1,
};
static const int8_t TRACE[] = {
    0, 0, -1, 0, 0, 0, -1, 0, 1, 0, 1, 0, 0, -1, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0,
    -1, 0, 0, 0, -1, 0, -1, 0, 0, -1, 0, 0, 0, 1, 0, -1, 0, -1, 0, 1, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0,
    -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 1, 0, 1, 0, -1, 0, -1, 0, 1, 0, 0, 0, 0, 1, 0, -1, 0, 0, -1, 0, 1, 0,
    0, 0, 1, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0, -1, 0, 1, 0, 1, 0, 0, 1, 0, -1, 0,
};

static const fp2 FP2_ZERO = {{{0}}, {{0}}}, FP2_ONE = {{{1}}, {{0}}};

static inline void fp_negate(number *r, const number *a)
{
    multiply(r, a, &MINUS_ONE, &P);
}

static inline void fp2_scale(fp2 *r, const fp2 *x, const number *factor)
{
    multiply(&r->a, &x->a, factor, &P);
    multiply(&r->b, &x->b, factor, &P);
}

static inline void fp2_add(fp2 *r, const fp2 *x, const fp2 *y)
{
    multiply_add(&r->a, &x->a, &ONE, &y->a, &P);
    multiply_add(&r->b, &x->b, &ONE, &y->b, &P);
}

static inline void fp2_subtract(fp2 *r, const fp2 *x, const fp2 *y)
{
    multiply_add(&r->a, &y->a, &MINUS_ONE, &x->a, &P);
    multiply_add(&r->b, &y->b, &MINUS_ONE, &x->b, &P);
}

static inline void fp2_negate(fp2 *r, const fp2 *x)
{
    fp_negate(&r->a, &x->a);
    fp_negate(&r->b, &x->b);
}

/* r = x y + c, where `minus` is the negative of the imaginary part of x. Only c may be r. */
static inline void fp2_multiply_add(fp2 *r, const fp2 *x, const number *minus, const fp2 *y, const fp2 *c)
{
    multiply_add(&r->a, minus, &y->b, &c->a, &P);
    multiply_add(&r->a, &x->a, &y->a, &r->a, &P);
    multiply_add(&r->b, &x->a, &y->b, &c->b, &P);
    multiply_add(&r->b, &x->b, &y->a, &r->b, &P);
}

static void fp2_multiply(fp2 *r, const fp2 *x, const fp2 *y)
{
    number minus;
    fp2 product;

    fp_negate(&minus, &x->b);
    fp2_multiply_add(&product, x, &minus, y, &FP2_ZERO);
    *r = product;
}

/* r = (9 + i) x; not in place. */
static inline void fp2_twist(fp2 *r, const fp2 *x)
{
    multiply(&r->a, &x->b, &MINUS_ONE, &P);
    multiply_add(&r->a, &x->a, &NINE, &r->a, &P);
    multiply_add(&r->b, &x->b, &NINE, &x->a, &P);
}

static bool fp2_equal(const fp2 *x, const fp2 *y)
{
    return equal(&x->a, &y->a) && equal(&x->b, &y->b);
}

static void fp2_invert(fp2 *r, const fp2 *x)
{
    number norm;

    multiply(&norm, &x->a, &x->a, &P);
    multiply_add(&norm, &x->b, &x->b, &norm, &P);
    __zkvm_raise(&norm, INVERSE, sizeof INVERSE, &P);
    multiply(&r->a, &x->a, &norm, &P);
    fp_negate(&norm, &norm);
    multiply(&r->b, &x->b, &norm, &P);
}

/* r = x y; not in place. */
static void fp12_multiply(fp12 *r, const fp12 *x, const fp12 *y)
{
    number minus[6];
    fp2 twisted[6]; /* w^6 y */

    for (int i = 0; i < 6; i++)
        fp_negate(&minus[i], &x->of[i].b);
    for (int j = 1; j < 6; j++)
        fp2_twist(&twisted[j], &y->of[j]);
    for (int k = 0; k < 6; k++) {
        const fp2 *sum = &FP2_ZERO;
        for (int i = 0; i < 6; i++) {
            const fp2 *factor = i <= k ? &y->of[k - i] : &twisted[k - i + 6];
            fp2_multiply_add(&r->of[k], &x->of[i], &minus[i], factor, sum);
            sum = &r->of[k];
        }
    }
}

/* r = x^2; not in place. */
static void fp12_square(fp12 *r, const fp12 *x)
{
    number minus[6];
    fp2 twice[6], twisted[6], twisted_twice[6];

    for (int i = 0; i < 6; i++) {
        fp_negate(&minus[i], &x->of[i].b);
        fp2_scale(&twice[i], &x->of[i], &TWO);
    }
    for (int j = 3; j < 6; j++) {
        fp2_twist(&twisted[j], &x->of[j]);
        fp2_scale(&twisted_twice[j], &twisted[j], &TWO);
    }
    for (int k = 0; k < 6; k++) {
        const fp2 *sum = &FP2_ZERO;
        for (int i = 0; i < 6; i++) {
            int j = i <= k ? k - i : k - i + 6;
            if (i > j)
                continue;
            const fp2 *factor = i <= k ? (i == j ? x->of : twice) : (i == j ? twisted : twisted_twice);
            fp2_multiply_add(&r->of[k], &x->of[i], &minus[i], &factor[j], sum);
            sum = &r->of[k];
        }
    }
}

/* r = x l; not in place. */
static void fp12_multiply_line(fp12 *r, const fp12 *x, const line *l)
{
    static const int PLACES[3] = {0, 1, 3};
    number minus[3], minus_twisted[3];
    fp2 twisted[3];

    for (int i = 0; i < 3; i++) {
        fp_negate(&minus[i], &l->of[i].b);
        fp2_twist(&twisted[i], &l->of[i]);
        fp_negate(&minus_twisted[i], &twisted[i].b);
    }
    for (int k = 0; k < 6; k++) {
        const fp2 *sum = &FP2_ZERO;
        for (int i = 0; i < 3; i++) {
            int j = k - PLACES[i];
            if (j >= 0)
                fp2_multiply_add(&r->of[k], &l->of[i], &minus[i], &x->of[j], sum);
            else
                fp2_multiply_add(&r->of[k], &twisted[i], &minus_twisted[i], &x->of[j + 6], sum);
            sum = &r->of[k];
        }
    }
}

/* x^(p^6): the inverse of a power of p^6 - 1. */
static void fp12_conjugate(fp12 *x)
{
    for (int k = 1; k < 6; k += 2)
        fp2_negate(&x->of[k], &x->of[k]);
}

/* x^p */
static void fp12_frobenius(fp12 *x)
{
    for (int k = 0; k < 6; k++) {
        fp_negate(&x->of[k].b, &x->of[k].b);
        fp2_multiply(&x->of[k], &x->of[k], &POWERS[k]);
    }
}

/* x^(p^2) */
static void fp12_frobenius_square(fp12 *x)
{
    for (int k = 0; k < 6; k++)
        fp2_scale(&x->of[k], &x->of[k], &SQUARE_POWERS[k]);
}

/* r = 1 / x, by the conjugate, and the norm in the field of w^2; not in place. */
static void fp12_invert(fp12 *r, const fp12 *x)
{
    fp12 conjugate = *x, norm, inverse = {{{{{0}}, {{0}}}}};
    fp2 product, twisted, factor;

    fp12_conjugate(&conjugate);
    fp12_multiply(&norm, x, &conjugate);
    const fp2 *a = &norm.of[0], *b = &norm.of[2], *c = &norm.of[4];
    fp2 *first = &inverse.of[0], *second = &inverse.of[2], *third = &inverse.of[4];
    fp2_multiply(first, a, a); /* a^2 - w^6 b c */
    fp2_multiply(&product, b, c);
    fp2_twist(&twisted, &product);
    fp2_subtract(first, first, &twisted);
    fp2_multiply(&product, c, c); /* w^6 c^2 - a b */
    fp2_twist(second, &product);
    fp2_multiply(&product, a, b);
    fp2_subtract(second, second, &product);
    fp2_multiply(third, b, b); /* b^2 - a c */
    fp2_multiply(&product, a, c);
    fp2_subtract(third, third, &product);
    fp2_multiply(&factor, c, second); /* w^6 (c second + b third) + a first */
    fp2_multiply(&product, b, third);
    fp2_add(&factor, &factor, &product);
    fp2_twist(&twisted, &factor);
    fp2_multiply(&product, a, first);
    fp2_add(&factor, &twisted, &product);
    fp2_invert(&factor, &factor);
    for (int k = 0; k < 6; k += 2)
        fp2_multiply(&inverse.of[k], &inverse.of[k], &factor);
    fp12_multiply(r, &conjugate, &inverse);
}

/* x^u for an x whose inverse is its conjugate. */
static void fp12_raise(fp12 *x)
{
    fp12 inverse = *x, base = *x, next;

    fp12_conjugate(&inverse);
    for (size_t i = 0; i < sizeof PARAMETER; i++) {
        fp12_square(&next, x);
        if (PARAMETER[i])
            fp12_multiply(x, &next, PARAMETER[i] > 0 ? &base : &inverse);
        else
            *x = next;
    }
}

static void fp12_multiply_by(fp12 *x, const fp12 *y)
{
    fp12 product;

    fp12_multiply(&product, x, y);
    *x = product;
}

/* t = 2 t, and the tangent at p. */
static void double_step(projective *t, line *l, const point *p)
{
    fp2 a, b, c, e, f, g, h, squared, difference;

    fp2_multiply(&a, &t->x, &t->y);
    fp2_scale(&a, &a, &HALF);
    fp2_multiply(&b, &t->y, &t->y);
    fp2_multiply(&c, &t->z, &t->z);
    fp2_multiply(&e, &c, &THREE_TWIST_B);
    fp2_scale(&f, &e, &THREE);
    fp2_add(&g, &b, &f);
    fp2_scale(&g, &g, &HALF);
    fp2_multiply(&h, &t->y, &t->z);
    fp2_scale(&h, &h, &TWO);
    if (l) {
        fp2_negate(&l->of[0], &h);
        fp2_scale(&l->of[0], &l->of[0], &p->y);
        fp2_multiply(&squared, &t->x, &t->x);
        fp2_scale(&l->of[1], &squared, &THREE);
        fp2_scale(&l->of[1], &l->of[1], &p->x);
        fp2_subtract(&l->of[2], &e, &b);
    }
    fp2_subtract(&difference, &b, &f);
    fp2_multiply(&t->x, &a, &difference);
    fp2_multiply(&t->y, &g, &g);
    fp2_multiply(&squared, &e, &f);
    fp2_subtract(&t->y, &t->y, &squared);
    fp2_multiply(&t->z, &b, &h);
}

/* t = t + q, and the line through both at p. */
static void add_step(projective *t, const twist_point *q, line *l, const point *p)
{
    fp2 theta, lambda, c, d, e, f, g, h, product;

    fp2_multiply(&product, &q->y, &t->z);
    fp2_subtract(&theta, &t->y, &product);
    fp2_multiply(&product, &q->x, &t->z);
    fp2_subtract(&lambda, &t->x, &product);
    if (l) {
        fp2_scale(&l->of[0], &lambda, &p->y);
        fp2_negate(&l->of[1], &theta);
        fp2_scale(&l->of[1], &l->of[1], &p->x);
        fp2_multiply(&l->of[2], &theta, &q->x);
        fp2_multiply(&product, &lambda, &q->y);
        fp2_subtract(&l->of[2], &l->of[2], &product);
    }
    fp2_multiply(&c, &theta, &theta);
    fp2_multiply(&d, &lambda, &lambda);
    fp2_multiply(&e, &lambda, &d);
    fp2_multiply(&f, &t->z, &c);
    fp2_multiply(&g, &t->x, &d);
    fp2_add(&h, &e, &f);
    fp2_subtract(&h, &h, &g);
    fp2_subtract(&h, &h, &g);
    fp2_multiply(&t->x, &lambda, &h);
    fp2_subtract(&g, &g, &h);
    fp2_multiply(&g, &theta, &g);
    fp2_multiply(&product, &e, &t->y);
    fp2_subtract(&t->y, &g, &product);
    fp2_multiply(&t->z, &t->z, &e);
}

/* The point with p-th powers of the coordinates that q has on the curve over Fp12. */
static twist_point frobenius(const twist_point *q)
{
    twist_point r = *q;

    fp_negate(&r.x.b, &r.x.b);
    fp2_multiply(&r.x, &r.x, &POWERS[2]);
    fp_negate(&r.y.b, &r.y.b);
    fp2_multiply(&r.y, &r.y, &POWERS[3]);
    return r;
}

static twist_point negated(const twist_point *q)
{
    twist_point r = *q;

    fp2_negate(&r.y, &r.y);
    return r;
}

/* Whether a point of the twist is in the subgroup of order n: if its p-th power is 6 u^2 times the point. A point for
   that an addition meets two points with the same x is not: then z is 0 to the end. */
static bool in_subgroup(const twist_point *q)
{
    twist_point minus = negated(q), power = frobenius(q);
    projective t = {q->x, q->y, FP2_ONE};

    for (size_t i = 0; i < sizeof TRACE; i++) {
        double_step(&t, 0, 0);
        if (TRACE[i])
            add_step(&t, TRACE[i] > 0 ? q : &minus, 0, 0);
    }
    if (fp2_equal(&t.z, &FP2_ZERO))
        return false;
    fp2_multiply(&power.x, &power.x, &t.z);
    fp2_multiply(&power.y, &power.y, &t.z);
    return fp2_equal(&power.x, &t.x) && fp2_equal(&power.y, &t.y);
}

/* The imaginary part comes first. */
static bool decode_fp2(fp2 *x, const uint8_t *bytes)
{
    *x = (fp2){decoded(bytes + 32), decoded(bytes)};
    return below(&x->a, &P) && below(&x->b, &P);
}

static bool decode_second(twist_point *q, const uint8_t *bytes, bool *infinite)
{
    fp2 left, right;

    if (!decode_fp2(&q->x, bytes) || !decode_fp2(&q->y, bytes + 64))
        return false;
    *infinite = fp2_equal(&q->x, &FP2_ZERO) && fp2_equal(&q->y, &FP2_ZERO);
    if (*infinite)
        return true;
    fp2_multiply(&right, &q->x, &q->x);
    fp2_multiply(&right, &right, &q->x);
    fp2_add(&right, &right, &TWIST_B);
    fp2_multiply(&left, &q->y, &q->y);
    return fp2_equal(&left, &right) && in_subgroup(q);
}

/* Multiply f by the lines at the pairs' next points: of a double, or an addition of `digit` q. */
static void add_lines(fp12 *f, pair *pairs, size_t count, int digit)
{
    for (pair *each = pairs; each != pairs + count; each++) {
        twist_point minus = negated(&each->q);
        line l;
        fp12 product;
        add_step(&each->t, digit > 0 ? &each->q : &minus, &l, &each->p);
        fp12_multiply_line(&product, f, &l);
        *f = product;
    }
}

static void miller_loop(fp12 *f, pair *pairs, size_t count)
{
    fp12 next;
    line l;

    for (size_t i = 0; i < sizeof LOOP; i++) {
        fp12_square(&next, f);
        *f = next;
        for (pair *each = pairs; each != pairs + count; each++) {
            double_step(&each->t, &l, &each->p);
            fp12_multiply_line(&next, f, &l);
            *f = next;
        }
        if (LOOP[i])
            add_lines(f, pairs, count, LOOP[i]);
    }
    for (pair *each = pairs; each != pairs + count; each++)
        each->q = frobenius(&each->q);
    add_lines(f, pairs, count, 1);
    for (pair *each = pairs; each != pairs + count; each++)
        each->q = frobenius(&each->q);
    add_lines(f, pairs, count, -1);
}

/* Whether the power of f with the exponent (p^12 - 1) / n is 1. The last part of the exponent is, times a number that has
   no factor n,
   (1 + 6 u + 12 u^2 + 12 u^3) + (4 u + 6 u^2 + 12 u^3) p + (6 u + 6 u^2 + 12 u^3) p^2 + (-1 + 4 u + 6 u^2 + 12 u^3) p^3 */
static bool has_power_one(const fp12 *f)
{
    fp12 base, a, b, c, d, e, h, inverse;

    fp12_invert(&inverse, f);
    base = *f;
    fp12_conjugate(&base);
    fp12_multiply_by(&base, &inverse); /* p^6 - 1 */
    a = base;
    fp12_frobenius_square(&a);
    fp12_multiply_by(&base, &a); /* p^2 + 1 */

    a = base;
    fp12_raise(&a);
    fp12_square(&b, &a);
    fp12_square(&c, &b); /* 4 u */
    fp12_multiply(&d, &c, &b); /* 6 u */
    e = d;
    fp12_raise(&e); /* 6 u^2 */
    fp12_square(&h, &e);
    fp12_raise(&h); /* 12 u^3 */
    fp12_multiply_by(&h, &e); /* 6 u^2 + 12 u^3 */
    fp12_multiply_by(&c, &h);
    fp12_multiply_by(&d, &h);
    fp12_multiply(&a, &base, &d);
    fp12_multiply_by(&a, &e);
    fp12_conjugate(&base);
    fp12_multiply_by(&base, &c);
    fp12_frobenius(&base);
    fp12_frobenius_square(&base);
    fp12_frobenius_square(&d);
    fp12_frobenius(&c);
    fp12_multiply_by(&a, &base);
    fp12_multiply_by(&a, &c);
    fp12_multiply_by(&a, &d);
    for (int k = 1; k < 6; k++)
        if (!fp2_equal(&a.of[k], &FP2_ZERO))
            return false;
    return fp2_equal(&a.of[0], &FP2_ONE);
}

zkvm_status zkvm_bn254_pairing(const zkvm_bn254_pairing_pair *pairs, size_t num_pairs, bool *verified)
{
    size_t mark = __zkvm_scratch_mark(), count = 0;
    pair *used = __zkvm_scratch(num_pairs * sizeof *used, 8);
    fp12 f = {{{{{1}}, {{0}}}}};
    bool infinite;

    if (num_pairs)
        check_pointer(pairs);
    check_pointer(verified);
    *verified = false;
    for (size_t i = 0; i < num_pairs; i++) {
        pair *next = &used[count];
        if (!decode_point(&next->p, pairs[i].g1.data) || !decode_second(&next->q, pairs[i].g2.data, &infinite)) {
            __zkvm_scratch_release(mark);
            return ZKVM_EFAIL;
        }
        next->t = (projective){next->q.x, next->q.y, FP2_ONE};
        if (!infinite && !is_infinity(&next->p))
            count++; /* a pairing with infinity is 1 */
    }
    miller_loop(&f, used, count);
    *verified = has_power_one(&f);
    __zkvm_scratch_release(mark);
    return ZKVM_EOK;
}
