/* The modular operations, the point operation and the products of Fp2 in C, for programs that run without the machine's
   host calls. Functions with a parameter `words` work on numbers of so many words: 4 or 6. */
#include "zkvm.h"

enum {
    MULTIPLY_ADD = 1025,
    MULTIPLY_DIVIDE = 1026,
    FIRST_CURVE = 1028,
    MULTIPLY_ADD_384 = 1036,
    MULTIPLY_DIVIDE_384 = 1037,
    FP2_BN254 = 1038,
    FP2_BLS12_381 = 1039,
    WORDS = 4,
    MOST_WORDS = 6,
};

__extension__ typedef unsigned __int128 wide;

typedef struct {
    uint64_t words[WORDS];
} number;

typedef struct {
    number x, y;
} point;

void __zkvm_software_call(uint64_t call, void *to, const void *a, const void *b, const void *m, const void *c);
void __zkvm_power(number *x, const number table[16], const uint8_t *exponent, const uint8_t *end, const number *modulus);

static const number ZERO = {{0}};
static const struct {
    number p, a;
} CURVES[] = {
    /* secp256k1, secp256r1, bn254 */
    {{{0xFFFFFFFEFFFFFC2F, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF}}, {{0}}},
    {{{0xFFFFFFFFFFFFFFFF, 0x00000000FFFFFFFF, 0x0000000000000000, 0xFFFFFFFF00000001}},
     {{0xFFFFFFFFFFFFFFFC, 0x00000000FFFFFFFF, 0x0000000000000000, 0xFFFFFFFF00000001}}},
    {{{0x3C208C16D87CFD47, 0x97816A916871CA8D, 0xB85045B68181585D, 0x30644E72E131A029}}, {{0}}},
};
static const uint64_t BN254[WORDS] = {0x3C208C16D87CFD47, 0x97816A916871CA8D, 0xB85045B68181585D, 0x30644E72E131A029};
static const uint64_t BLS12_381[MOST_WORDS] = {0xB9FEFFFFFFFFAAAB, 0x1EABFFFEB153FFFF, 0x6730D2A0F6B0F624,
                                               0x64774B84F38512BF, 0x4B1BA7B6434BACD7, 0x1A0111EA397FE69A};

static void require(bool held)
{
    if (!held)
        __builtin_trap();
}

static uint64_t add(number *r, const number *a, const number *b)
{
    uint64_t carry = 0;

    for (int i = 0; i < WORDS; i++) {
        uint64_t sum = a->words[i] + carry, over = sum < carry, other = b->words[i];
        sum += other;
        carry = over | (sum < other);
        r->words[i] = sum;
    }
    return carry;
}

static uint64_t subtract_words(uint64_t *r, const uint64_t *a, const uint64_t *b, int words)
{
    uint64_t borrow = 0;

    for (int i = 0; i < words; i++) {
        uint64_t left = a[i], right = b[i], under = left < right, difference = left - right;
        r[i] = difference - borrow;
        borrow = under | (difference < borrow);
    }
    return borrow;
}

static uint64_t subtract(number *r, const number *a, const number *b)
{
    return subtract_words(r->words, a->words, b->words, WORDS);
}

static bool equal(const number *a, const number *b)
{
    for (int i = 0; i < WORDS; i++)
        if (a->words[i] != b->words[i])
            return false;
    return true;
}

static bool is_one(const number *a)
{
    return a->words[0] == 1 && !(a->words[1] | a->words[2] | a->words[3]);
}

/* Return the bits of `high` and `low` in a row from `shift` bits above the lowest of `high`. */
static uint64_t joined(uint64_t high, uint64_t low, int shift)
{
    return shift ? high << shift | low >> (64 - shift) : high;
}

/* Divide 2 `words` words by a number that is not 0, by the long division of Knuth's algorithm D. */
static void divide(const uint64_t *value, const uint64_t *m, uint64_t *quotient, uint64_t *remainder, int words)
{
    uint64_t u[2 * MOST_WORDS + 1], v[MOST_WORDS], q[2 * MOST_WORDS] = {0};
    int size = words, shift;

    while (!m[size - 1])
        size--;
    shift = __builtin_clzll(m[size - 1]);
    for (int i = 0; i < size; i++)
        v[i] = joined(m[i], i ? m[i - 1] : 0, shift);
    for (int i = 0; i <= 2 * words; i++)
        u[i] = joined(i < 2 * words ? value[i] : 0, i ? value[i - 1] : 0, shift);
    for (int j = 2 * words - size; j >= 0; j--) {
        uint64_t *top = &u[j + size], high = v[size - 1], guess = UINT64_MAX, carry = 0, before;
        if (*top < high)
            guess = (uint64_t)(((wide)*top << 64 | top[-1]) / high);
        for (int i = 0; i < size; i++) {
            wide product = (wide)guess * v[i] + carry;
            before = u[i + j];
            u[i + j] -= (uint64_t)product;
            carry = (uint64_t)(product >> 64) + (before < (uint64_t)product);
        }
        before = *top;
        *top -= carry;
        for (bool negative = before < carry; negative;) { /* the guess is at most 2 too high */
            wide sum = 0;
            guess--;
            for (int i = 0; i < size; i++) {
                sum += (wide)u[i + j] + v[i];
                u[i + j] = (uint64_t)sum;
                sum >>= 64;
            }
            negative = !(sum && ++*top == 0);
        }
        q[j] = guess;
    }
    for (int i = 0; i < words; i++) {
        require(!q[words + i]);
        quotient[i] = q[i];
        remainder[i] = i < size ? u[i] >> shift | (shift ? u[i + 1] << (64 - shift) : 0) : 0;
    }
}

/* Add a b to a value of 2 `words` words. */
static void add_product(uint64_t *value, const uint64_t *a, const uint64_t *b, int words)
{
    for (int i = 0; i < words; i++) {
        wide sum = 0;
        for (int j = 0; j < words; j++) {
            sum += (wide)a[i] * b[j] + value[i + j];
            value[i + j] = (uint64_t)sum;
            sum >>= 64;
        }
        for (int j = i + words; sum; j++) {
            sum += value[j];
            value[j] = (uint64_t)sum;
            sum >>= 64;
        }
    }
}

/* Write (a b + c) mod m, and the quotient. The results may be operands. */
static void divide_product(uint64_t *remainder, uint64_t *quotient, const uint64_t *a, const uint64_t *b,
                           const uint64_t *m, const uint64_t *c, int words)
{
    uint64_t value[2 * MOST_WORDS] = {0}, any = 0;

    for (int i = 0; i < words; i++) {
        value[i] = c[i];
        any |= m[i];
    }
    add_product(value, a, b, words);
    if (any) {
        divide(value, m, quotient, remainder, words);
        return;
    }
    for (int i = 0; i < words; i++) {
        remainder[i] = value[i];
        quotient[i] = value[words + i];
    }
}

/* Return (a b + c) mod m, and the quotient. */
static number modular(const number *a, const number *b, const number *m, const number *c, number *quotient)
{
    number remainder;

    divide_product(remainder.words, quotient->words, a->words, b->words, m->words, c->words, WORDS);
    return remainder;
}

static number product(const number *a, const number *b, const number *p)
{
    number quotient;

    return modular(a, b, p, &ZERO, &quotient);
}

static number difference(const number *a, const number *b, const number *p)
{
    number result;

    if (subtract(&result, a, b))
        add(&result, &result, p);
    return result;
}

/* Return a / 2 mod p, for an odd p. */
static number half(const number *a, const number *p)
{
    number result = *a;
    uint64_t carry = a->words[0] & 1 ? add(&result, a, p) : 0;

    for (int i = 0; i < WORDS; i++)
        result.words[i] = result.words[i] >> 1 | (i < WORDS - 1 ? result.words[i + 1] : carry) << 63;
    return result;
}

/* Return 1 / a mod p for a prime p, by halves and differences. */
static number inverse(const number *a, const number *p)
{
    number u = *a, v = *p, x = {{1}}, y = {{0}}, unused;

    while (!is_one(&u) && !is_one(&v)) { /* a x = u and a y = v mod p */
        if (!(u.words[0] & 1)) {
            u = half(&u, &ZERO);
            x = half(&x, p);
        } else if (!(v.words[0] & 1)) {
            v = half(&v, &ZERO);
            y = half(&y, p);
        } else if (subtract(&unused, &u, &v)) {
            subtract(&v, &v, &u);
            y = difference(&y, &x, p);
        } else {
            subtract(&u, &u, &v);
            x = difference(&x, &y, p);
        }
    }
    return is_one(&u) ? x : y;
}

static bool below(const uint64_t *a, const uint64_t *b, int words)
{
    for (int i = words - 1; i > 0; i--)
        if (a[i] != b[i])
            return a[i] < b[i];
    return a[0] < b[0];
}

static bool is_point(const point *at, const number *p)
{
    return below(at->x.words, p->words, WORDS) && below(at->y.words, p->words, WORDS);
}

/* Replace (x, y) by its double if `other` is null, or by its sum with `other`. */
static void add_points(point *at, const point *other, const number *p, const number *a)
{
    number numerator, denominator;

    require(is_point(at, p));
    if (other) {
        uintptr_t first = (uintptr_t)at, second = (uintptr_t)other;
        require(is_point(other, p) && first - second >= sizeof *at && second - first >= sizeof *at);
        numerator = difference(&other->y, &at->y, p);
        denominator = difference(&other->x, &at->x, p);
    } else {
        number square = product(&at->x, &at->x, p), quotient;
        static const number three = {{3}}, one = {{1}};
        numerator = modular(&square, &three, p, a, &quotient);
        denominator = modular(&at->y, &one, p, &at->y, &quotient);
        other = at;
    }
    require(!equal(&denominator, &ZERO));
    number inverted = inverse(&denominator, p), slope = product(&numerator, &inverted, p), x = product(&slope, &slope, p);
    x = difference(&x, &at->x, p);
    x = difference(&x, &other->x, p);
    number fall = difference(&at->x, &x, p), y = product(&slope, &fall, p);
    *at = (point){x, difference(&y, &at->y, p)};
}

static void modular_call(bool with_quotient, uint64_t *to, const uint64_t *a, const uint64_t *b, const uint64_t *m,
                         const uint64_t *c, int words)
{
    uintptr_t modulus = (uintptr_t)m, addend = (uintptr_t)c, size = (uintptr_t)words * sizeof *m;
    uint64_t unused[MOST_WORDS];

    require(modulus - addend >= size && addend - modulus >= size);
    divide_product(to, with_quotient ? to + words : unused, a, b, m, c, words);
}

/* Write a mod p, by few subtractions: p is no small part of 2^(64 words). */
static void reduce(uint64_t *r, const uint64_t *a, const uint64_t *p, int words)
{
    for (int i = 0; i < words; i++)
        r[i] = a[i];
    while (!below(r, p, words))
        subtract_words(r, r, p, words);
}

/* Write (a b + d e + c) mod p, of a, b, d, e up to p. The sum is below 2^(128 words), because p is below
   2^(64 words - 2). */
static void write_sum(uint64_t *to, const uint64_t *a, const uint64_t *b, const uint64_t *d, const uint64_t *e,
                      const uint64_t *c, const uint64_t *p, int words)
{
    uint64_t value[2 * MOST_WORDS] = {0}, unused[MOST_WORDS];

    for (int i = 0; i < words; i++)
        value[i] = c[i];
    add_product(value, a, b, words);
    add_product(value, d, e, words);
    divide(value, p, unused, to, words);
}

/* Write a b + c for elements of Fp[u] / (u^2 + 1): the real part, then the factor of u. */
static void fp2_call(uint64_t *to, const uint64_t *a, const uint64_t *b, const uint64_t *c, const uint64_t *p, int words)
{
    uint64_t x[2][MOST_WORDS], y[2][MOST_WORDS], negative[MOST_WORDS], real[MOST_WORDS], imaginary[MOST_WORDS];

    for (int i = 0; i < 2; i++) {
        reduce(x[i], a + i * words, p, words);
        reduce(y[i], b + i * words, p, words);
    }
    subtract_words(negative, p, y[1], words);
    write_sum(real, x[0], y[0], x[1], negative, c, p, words);
    write_sum(imaginary, x[0], y[1], x[1], y[0], c + words, p, words);
    for (int i = 0; i < words; i++) {
        to[i] = real[i];
        to[words + i] = imaginary[i];
    }
}

void __zkvm_software_call(uint64_t call, void *to, const void *a, const void *b, const void *m, const void *c)
{
    if (call == MULTIPLY_ADD || call == MULTIPLY_DIVIDE) {
        modular_call(call == MULTIPLY_DIVIDE, to, a, b, m, c, WORDS);
    } else if (call == MULTIPLY_ADD_384 || call == MULTIPLY_DIVIDE_384) {
        modular_call(call == MULTIPLY_DIVIDE_384, to, a, b, m, c, MOST_WORDS);
    } else if (call == FP2_BN254) {
        fp2_call(to, a, b, m, BN254, WORDS);
    } else if (call == FP2_BLS12_381) {
        fp2_call(to, a, b, m, BLS12_381, MOST_WORDS);
    } else {
        require(call - FIRST_CURVE < 2 * sizeof CURVES / sizeof *CURVES);
        size_t curve = (call - FIRST_CURVE) / 2;
        add_points(to, call % 2 ? 0 : a, &CURVES[curve].p, &CURVES[curve].a);
    }
}

void multiply_add_256(uint64_t r[4], const uint64_t a[4], const uint64_t b[4], const uint64_t m[4], const uint64_t c[4])
{
    __zkvm_software_call(MULTIPLY_ADD, r, a, b, m, c);
}

void multiply_divide_256(uint64_t r_and_q[8], const uint64_t a[4], const uint64_t b[4], const uint64_t m[4],
                         const uint64_t c[4])
{
    __zkvm_software_call(MULTIPLY_DIVIDE, r_and_q, a, b, m, c);
}

void multiply_add_384(uint64_t r[6], const uint64_t a[6], const uint64_t b[6], const uint64_t m[6], const uint64_t c[6])
{
    __zkvm_software_call(MULTIPLY_ADD_384, r, a, b, m, c);
}

void multiply_divide_384(uint64_t r_and_q[12], const uint64_t a[6], const uint64_t b[6], const uint64_t m[6],
                         const uint64_t c[6])
{
    __zkvm_software_call(MULTIPLY_DIVIDE_384, r_and_q, a, b, m, c);
}

void multiply_add_fp2_bn254(uint64_t r[8], const uint64_t a[8], const uint64_t b[8], const uint64_t c[8])
{
    __zkvm_software_call(FP2_BN254, r, a, b, c, 0);
}

void multiply_add_fp2_bls12_381(uint64_t r[12], const uint64_t a[12], const uint64_t b[12], const uint64_t c[12])
{
    __zkvm_software_call(FP2_BLS12_381, r, a, b, c, 0);
}

void __zkvm_power(number *x, const number table[16], const uint8_t *exponent, const uint8_t *end, const number *modulus)
{
    for (; exponent != end; exponent++)
        for (int shift = 4; shift >= 0; shift -= 4) {
            for (int i = 0; i < 4; i++)
                *x = product(x, x, modulus);
            if (*exponent >> shift & 15)
                *x = product(x, &table[*exponent >> shift & 15], modulus);
        }
}

#ifdef __riscv
/* The function of the machine keeps all registers but ra, and has the number of the call in a7. */
__asm__(".globl __zkvm_call\n"
        "__zkvm_call:\n"
        "    addi sp, sp, -128\n"
        "    sd ra, 0(sp)\n"
        "    sd t0, 8(sp)\n"
        "    sd t1, 16(sp)\n"
        "    sd t2, 24(sp)\n"
        "    sd t3, 32(sp)\n"
        "    sd t4, 40(sp)\n"
        "    sd t5, 48(sp)\n"
        "    sd t6, 56(sp)\n"
        "    sd a0, 64(sp)\n"
        "    sd a1, 72(sp)\n"
        "    sd a2, 80(sp)\n"
        "    sd a3, 88(sp)\n"
        "    sd a4, 96(sp)\n"
        "    sd a5, 104(sp)\n"
        "    sd a6, 112(sp)\n"
        "    sd a7, 120(sp)\n"
        "    mv a5, a4\n"
        "    mv a4, a3\n"
        "    mv a3, a2\n"
        "    mv a2, a1\n"
        "    mv a1, a0\n"
        "    mv a0, a7\n"
        "    call __zkvm_software_call\n"
        "    ld ra, 0(sp)\n"
        "    ld t0, 8(sp)\n"
        "    ld t1, 16(sp)\n"
        "    ld t2, 24(sp)\n"
        "    ld t3, 32(sp)\n"
        "    ld t4, 40(sp)\n"
        "    ld t5, 48(sp)\n"
        "    ld t6, 56(sp)\n"
        "    ld a0, 64(sp)\n"
        "    ld a1, 72(sp)\n"
        "    ld a2, 80(sp)\n"
        "    ld a3, 88(sp)\n"
        "    ld a4, 96(sp)\n"
        "    ld a5, 104(sp)\n"
        "    ld a6, 112(sp)\n"
        "    ld a7, 120(sp)\n"
        "    addi sp, sp, 128\n"
        "    ret\n");
#else
void __zkvm_call(uint64_t call, void *to, const void *a, const void *b, const void *m, const void *c);

void __zkvm_call(uint64_t call, void *to, const void *a, const void *b, const void *m, const void *c)
{
    __zkvm_software_call(call, to, a, b, m, c);
}
#endif
