/* The maps of field elements to the groups of BLS12-381 (EIP-2537; RFC 9380, sections 6.6.3 and 8.8): the simplified SWU map
   to a curve y^2 = x^3 + a x + b, an isogeny to the group's curve, and a multiplication that clears the cofactor. */
#include "bls12_381.h"

#include "bls12_381_map_constants.h"

enum { COFACTOR_PARTS = 3 };

/* A polynomial's coefficients, the highest first. */
typedef struct {
    const fp2 *of;
    size_t degree;
} polynomial;

/* A map of t to one curve. For n = 2^(doublings + 1) - 1 and the exponent e, u v^n (u v^(2 n + 1))^e is a root of u / v up
   to a factor in `roots`. If there is no root, it is one of z^3 t^6 u / v up to t^3 and a factor in `others`. */
typedef struct {
    const group *to;
    const fp2 *a, *b, *z;
    const uint8_t *exponent;
    size_t exponent_size;
    int doublings;
    const fp2 *roots, *others;
    size_t count; /* of roots, and of others */
    polynomial x_numerator, x_denominator, y_numerator, y_denominator; /* of the isogeny */
    struct {
        const int8_t *digits;
        size_t count;
    } cofactor[COFACTOR_PARTS]; /* the factors of the point, its image and the image's image */
} map;

#define POLYNOMIAL(table) {table, sizeof table / sizeof *table - 1}

/* In G2 the effective cofactor is (x^2 - x - 1) + (x - 1) psi + 2 psi^2, by Budroni and Pintore, "Efficient hash maps to
   G2 on BLS curves" (2017). The image is -psi, and x is negative. */
static const int8_t TWO[] = {0, 1};
static const map TO_G1 = {
    .to = &__zkvm_bls12_g1,
    .a = &G1_A,
    .b = &G1_B,
    .z = &G1_Z,
    .exponent = G1_EXPONENT,
    .exponent_size = sizeof G1_EXPONENT,
    .doublings = 0,
    .roots = G1_ROOTS,
    .others = G1_OTHERS,
    .count = sizeof G1_ROOTS / sizeof *G1_ROOTS,
    .x_numerator = POLYNOMIAL(G1_X_NUMERATOR),
    .x_denominator = POLYNOMIAL(G1_X_DENOMINATOR),
    .y_numerator = POLYNOMIAL(G1_Y_NUMERATOR),
    .y_denominator = POLYNOMIAL(G1_Y_DENOMINATOR),
    .cofactor = {{G1_COFACTOR, sizeof G1_COFACTOR}},
};
static const map TO_G2 = {
    .to = &__zkvm_bls12_g2,
    .a = &G2_A,
    .b = &G2_B,
    .z = &G2_Z,
    .exponent = G2_EXPONENT,
    .exponent_size = sizeof G2_EXPONENT,
    .doublings = 2,
    .roots = G2_ROOTS,
    .others = G2_OTHERS,
    .count = sizeof G2_ROOTS / sizeof *G2_ROOTS,
    .x_numerator = POLYNOMIAL(G2_X_NUMERATOR),
    .x_denominator = POLYNOMIAL(G2_X_DENOMINATOR),
    .y_numerator = POLYNOMIAL(G2_Y_NUMERATOR),
    .y_denominator = POLYNOMIAL(G2_Y_DENOMINATOR),
    .cofactor = {{G2_COFACTOR, sizeof G2_COFACTOR},
                 {G2_COFACTOR_OF_IMAGE, sizeof G2_COFACTOR_OF_IMAGE},
                 {TWO, sizeof TWO}},
};

/* A point whose x is a fraction. */
typedef struct {
    fp2 numerator, denominator, y;
} fraction_point;

/* The lowest bit of the real part, or of the other one if the real part is 0. */
static bool is_odd(const fp2 *a)
{
    return (fp_is_zero(&a->a) ? a->b.words[0] : a->a.words[0]) & 1;
}

/* Multiply a candidate by one of some factors, so that its square times v is u. Return if there is one. */
static bool choose_root(fp2 *candidate, const fp2 *factors, size_t count, const fp2 *u, const fp2 *v)
{
    fp2 root, square;

    for (size_t i = 0; i < count; i++) {
        fp2_multiply(&root, candidate, &factors[i]);
        fp2_square(&square, &root);
        fp2_multiply(&square, &square, v);
        if (fp2_equal(&square, u)) {
            *candidate = root;
            return true;
        }
    }
    return false;
}

/* Map an element to a point of the curve y^2 = x^3 + a x + b. */
static void to_curve(const map *by, fraction_point *to, const fp2 *t)
{
    fp2 scaled, v, u, power, base, square;

    fp2_square(&scaled, t);
    fp2_multiply(&scaled, &scaled, by->z);                  /* z t^2 */
    fp2_multiply_add(&power, &scaled, &scaled, &scaled);    /* z^2 t^4 + z t^2 */
    fp2_multiply_add(&to->numerator, &power, by->b, by->b);
    fp2_multiply(&to->denominator, &power, by->a);
    fp2_negate(&to->denominator, &to->denominator);
    if (fp2_is_zero(&power))
        fp2_multiply(&to->denominator, by->z, by->a);

    fp2_square(&square, &to->denominator); /* u / v = x^3 + a x + b */
    fp2_multiply(&v, &square, &to->denominator);
    fp2_multiply(&power, &square, by->a);
    fp2_multiply_add(&power, &to->numerator, &to->numerator, &power);
    fp2_multiply(&u, &v, by->b);
    fp2_multiply_add(&u, &power, &to->numerator, &u);

    power = v;
    for (int i = 0; i < by->doublings; i++) {
        fp2_square(&power, &power);
        fp2_multiply(&power, &power, &v);
    }
    fp2_multiply(&to->y, &power, &u);
    fp2_multiply(&base, &power, &v);
    fp2_multiply(&base, &base, &to->y);
    fp2_raise(&base, by->exponent, by->exponent_size);
    fp2_multiply(&to->y, &to->y, &base);
    if (!choose_root(&to->y, by->roots, by->count, &u, &v)) { /* then x is z t^2 times the first x */
        fp2_multiply(&to->numerator, &to->numerator, &scaled);
        fp2_square(&square, &scaled);
        fp2_multiply(&square, &square, &scaled);
        fp2_multiply(&u, &u, &square);
        fp2_square(&square, t);
        fp2_multiply(&square, &square, t);
        fp2_multiply(&to->y, &to->y, &square);
        choose_root(&to->y, by->others, by->count, &u, &v);
    }
    if (is_odd(&to->y) != is_odd(t))
        fp2_negate(&to->y, &to->y);
}

/* r = the value of a polynomial at x / z, times z to the power of its degree. */
static void evaluate(fp2 *r, const polynomial *of, const fp2 *x, const fp2 *z)
{
    fp2 power = FP2_ONE, scaled;

    *r = of->of[0];
    for (size_t i = 1; i <= of->degree; i++) {
        fp2_multiply(&power, &power, z);
        fp2_multiply(&scaled, &power, &of->of[i]);
        fp2_multiply_add(r, r, x, &scaled);
    }
}

/* Take a point to the group's curve. Return false if its image is infinity. */
static bool take_isogeny(const map *by, affine *to, const fraction_point *from)
{
    const fp2 *x = &from->numerator, *z = &from->denominator;
    fp2 below_x, below_y, product, inverse;

    evaluate(&below_x, &by->x_denominator, x, z);
    fp2_multiply(&below_x, &below_x, z); /* the numerator of x has a degree more, and y has none */
    evaluate(&below_y, &by->y_denominator, x, z);
    fp2_multiply(&product, &below_x, &below_y);
    if (fp2_is_zero(&product))
        return false;
    fp2_invert(&inverse, &product);
    evaluate(&to->x, &by->x_numerator, x, z);
    fp2_multiply(&to->x, &to->x, &below_y);
    fp2_multiply(&to->x, &to->x, &inverse);
    evaluate(&to->y, &by->y_numerator, x, z);
    fp2_multiply(&to->y, &to->y, &below_x);
    fp2_multiply(&to->y, &to->y, &inverse);
    fp2_multiply(&to->y, &to->y, &from->y);
    return true;
}

/* Multiply a point by the effective cofactor. */
static void clear_cofactor(const map *by, jacobian *to, const affine *point)
{
    addend images[COFACTOR_PARTS];
    row rows[COFACTOR_PARTS];

    for (int i = 0; i < COFACTOR_PARTS; i++) {
        images[i] = i ? __zkvm_bls12_image(by->to, &images[i - 1]) : __zkvm_bls12_addend(point);
        rows[i] = (row){&images[i], by->cofactor[i].digits, by->cofactor[i].count};
    }
    __zkvm_bls12_add_rows(to, rows, COFACTOR_PARTS);
}

static void map_element(const map *by, uint8_t *result, const fp2 *element)
{
    fraction_point start;
    affine point;
    jacobian cleared = {FP2_ONE, FP2_ONE, FP2_ZERO};

    to_curve(by, &start, element);
    if (take_isogeny(by, &point, &start))
        clear_cofactor(by, &cleared, &point);
    __zkvm_bls12_encode(by->to, result, &cleared);
}

zkvm_status zkvm_bls12_map_fp_to_g1(const zkvm_bls12_381_fp *field_element, zkvm_bls12_381_g1_point *result)
{
    fp2 element = FP2_ZERO;

    check_pointer(field_element);
    check_pointer(result);
    if (!fp_decode(&element.a, field_element->data))
        return ZKVM_EFAIL;
    map_element(&TO_G1, result->data, &element);
    return ZKVM_EOK;
}

zkvm_status zkvm_bls12_map_fp2_to_g2(const zkvm_bls12_381_fp2 *field_element, zkvm_bls12_381_g2_point *result)
{
    fp2 element;

    check_pointer(field_element);
    check_pointer(result);
    if (!fp_decode(&element.a, field_element->data) || !fp_decode(&element.b, field_element->data + sizeof(fp)))
        return ZKVM_EFAIL;
    map_element(&TO_G2, result->data, &element);
    return ZKVM_EOK;
}
