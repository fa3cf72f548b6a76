/* Powers modulo numbers of any length (EIP-198). The machine's operation works modulo numbers of up to 256 bits; without a
   modulus it is the inner step of longer ones. */
#include "arithmetic.h"

enum { LIMB = sizeof(number) }; /* bytes of a limb of a long number, which has the lowest limb first */

static const number WHOLE = {{0}}; /* the modulus that stands for 2^256 */

/* A modulus of several limbs, and a multiple of it whose highest bit is set: results are modulo the multiple. */
typedef struct {
    const number *limbs; /* of the multiple */
    size_t size;
    unsigned shift; /* bits: the multiple is the modulus times 2^shift */
    number rest;    /* 2^256 modulo the highest limb */
    number *row;    /* room for size + 1 limbs */
} divisor;

static number *limbs_of(size_t count)
{
    return __zkvm_scratch(count * LIMB, 8);
}

/* Read `size` big-endian bytes as `limbs` limbs, which have room for them. */
static void read_bytes(number *to, size_t limbs, const uint8_t *bytes, size_t size)
{
    uint8_t *end = (uint8_t *)to;

    memset(to, 0, limbs * LIMB);
    for (; size >= 8; size -= 8, end += 8)
        *(uint64_t *)(void *)end = reversed(*(const word64 *)(bytes + size - 8));
    while (size--)
        *end++ = bytes[size];
}

static void write_bytes(uint8_t *bytes, size_t size, const number *from)
{
    const uint8_t *start = (const uint8_t *)from;

    for (; size >= 8; size -= 8, start += 8)
        *(word64 *)(bytes + size - 8) = reversed(*(const uint64_t *)(const void *)start);
    while (size--)
        bytes[size] = *start++;
}

/* Write the product of a limb and a number of `size` limbs: size + 1 limbs. */
static void multiply_row(number *to, const number *limb, const number *by, size_t size)
{
    const number *high = &ZERO;

    for (const number *end = by + size; by != end; by++, to++) {
        multiply_divide(to, limb, by, high, &WHOLE);
        high = to + 1;
    }
}

/* Replace a number of `size` limbs by its remainder: divisor->size limbs, and zeros above. The highest limbs, as many as
   the divisor's, must be below it. */
static void reduce(number *value, size_t size, const divisor *by)
{
    const number *highest = &by->limbs[by->size - 1];
    number guess[2];

    for (number *at = value + size - by->size - 1; at >= value; at--) {
        number *top = at + by->size;
        if (below(top, highest)) { /* the quotient of two limbs: 2^256 = highest + rest */
            multiply_divide(guess, top, &by->rest, top - 1, highest);
            add(guess, &guess[1], top, 0);
        } else {
            guess[0] = (number){{-1ul, -1ul, -1ul, -1ul}};
        }
        multiply_row(by->row, guess, by->limbs, by->size);
        uint64_t borrow = 0, carry;
        for (size_t i = 0; i <= by->size; i++)
            borrow = subtract(&at[i], &at[i], &by->row[i], borrow);
        while (borrow) { /* the guess is at most 2 too high */
            carry = 0;
            for (size_t i = 0; i < by->size; i++)
                carry = add(&at[i], &at[i], &by->limbs[i], carry);
            borrow -= add(top, top, &ZERO, carry);
        }
    }
}

/* Write a b modulo the divisor to the first limbs of `to`, which has room for the product. */
static void multiply_long(number *to, const number *a, const number *b, const divisor *by)
{
    multiply_row(to, a, b, by->size);
    for (size_t i = 1; i < by->size; i++) {
        uint64_t carry = 0;
        multiply_row(by->row, &a[i], b, by->size);
        for (size_t j = 0; j < by->size; j++)
            carry = add(&to[i + j], &to[i + j], &by->row[j], carry);
        add(&to[i + by->size], &by->row[by->size], &ZERO, carry);
    }
    reduce(to, 2 * by->size, by);
}

/* Shift a number of `size` limbs to the left by less than 256 bits, into size + 1 limbs. */
static void shift_left(number *to, const number *from, size_t size, unsigned bits)
{
    number factor = {{0}};

    factor.words[bits / 64] = 1ul << bits % 64;
    multiply_row(to, &factor, from, size);
}

/* Shift a number of `size` limbs to the right by less than 256 bits. */
static void shift_right(number *value, size_t size, unsigned bits)
{
    uint64_t *words = value->words, *end = words + 4 * size;
    unsigned skipped = bits / 64, rest = bits % 64;

    for (uint64_t *from = words + skipped; words != end; words++, from++) {
        uint64_t low = from < end ? *from : 0, high = from + 1 < end ? from[1] : 0;
        *words = rest ? low >> rest | high << (64 - rest) : low;
    }
}

static unsigned leading_zeros(const number *limb)
{
    unsigned bits = 0;
    int place = 3;

    while (!limb->words[place])
        place--, bits += 64;
    for (uint64_t word = limb->words[place]; word >> 63 == 0; word <<= 1)
        bits++;
    return bits;
}

/* The power for a modulus of more than 256 bits, with a first byte that is not 0. */
static const number *power_long(const uint8_t *base, size_t base_size, const uint8_t *exponent, size_t exponent_size,
                                const uint8_t *modulus, size_t modulus_size)
{
    size_t size = (modulus_size + LIMB - 1) / LIMB, base_limbs = base_size / LIMB + 1;
    number *read = limbs_of(size), *scaled = limbs_of(size + 1), *row = limbs_of(size + 1);

    read_bytes(read, size, modulus, modulus_size);
    divisor by = {.limbs = scaled, .size = size, .shift = leading_zeros(&read[size - 1]), .row = row};
    shift_left(scaled, read, size, by.shift);
    subtract(&by.rest, &ZERO, &scaled[size - 1], 0);

    /* A short exponent takes a digit of 1 bit a time, as multiples for 4 bits would take longer. */
    unsigned width = exponent_size < 8 ? 1 : 4, count = 1u << width;
    number *table = limbs_of(count * size), *value = limbs_of(2 * size), *next = limbs_of(2 * size);
    number *start = limbs_of((base_limbs > size ? base_limbs : size) + 1);
    read_bytes(start, base_limbs > size ? base_limbs + 1 : size + 1, base, base_size);
    reduce(start, base_limbs > size ? base_limbs + 1 : size + 1, &by);
    memcpy(table + size, start, size * LIMB);
    for (unsigned i = 2; i < count; i++) {
        multiply_long(next, &table[(i - 1) * size], &table[size], &by);
        memcpy(table + i * size, next, size * LIMB);
    }

    bool started = false;
    memset(value, 0, size * LIMB);
    value->words[0] = 1;
    for (const uint8_t *end = exponent + exponent_size; exponent != end; exponent++)
        for (unsigned left = 8; left; left -= width) {
            unsigned digit = *exponent >> (left - width) & (count - 1);
            for (unsigned i = 0; started && i < width; i++) {
                multiply_long(next, value, value, &by);
                number *swapped = value;
                value = next;
                next = swapped;
            }
            if (digit && started) {
                multiply_long(next, value, &table[digit * size], &by);
                number *swapped = value;
                value = next;
                next = swapped;
            } else if (digit) {
                memcpy(value, &table[digit * size], size * LIMB);
                started = true;
            }
        }
    /* Modulo the modulus: shifted like it, a value is reduced as well. */
    shift_left(next, value, size, by.shift);
    reduce(next, size + 1, &by);
    shift_right(next, size, by.shift);
    return next;
}

/* The power for a modulus of at most 256 bits that is not 0. */
static number power_short(const uint8_t *base, size_t base_size, const uint8_t *exponent, size_t exponent_size,
                          const uint8_t *modulus, size_t modulus_size)
{
    static const number last = {{-1ul, -1ul, -1ul, -1ul}};
    number by, weight, limb, result = {{0}};

    read_bytes(&by, 1, modulus, modulus_size);
    if (equal(&by, &ONE))
        return result;
    multiply_add(&weight, &last, &ONE, &ONE, &by); /* of a limb: 2^256 */
    for (size_t size; base_size; base_size -= size, base += size) {
        size = base_size % LIMB ? base_size % LIMB : LIMB;
        read_bytes(&limb, 1, base, size);
        multiply_add(&result, &result, &weight, &limb, &by);
    }
    __zkvm_raise(&result, exponent, exponent_size, &by);
    return result;
}

zkvm_status zkvm_modexp(const uint8_t *base, size_t base_len, const uint8_t *exp, size_t exp_len, const uint8_t *modulus,
                        size_t mod_len, uint8_t *output)
{
    size_t mark = __zkvm_scratch_mark(), skipped = 0;

    if (base_len)
        check_pointer(base);
    if (exp_len)
        check_pointer(exp);
    if (!mod_len)
        return ZKVM_EOK;
    check_pointer(modulus);
    check_pointer(output);
    while (exp_len && !*exp)
        exp++, exp_len--;
    while (base_len && !*base)
        base++, base_len--;
    while (skipped < mod_len && !modulus[skipped])
        skipped++;
    size_t size = mod_len - skipped;
    if (size <= LIMB) {
        number result = {{0}};
        if (size)
            result = power_short(base, base_len, exp, exp_len, modulus + skipped, size);
        write_bytes(output + skipped, size, &result);
    } else {
        const number *result = power_long(base, base_len, exp, exp_len, modulus + skipped, size);
        write_bytes(output + skipped, size, result);
    }
    memset(output, 0, skipped);
    __zkvm_scratch_release(mark);
    return ZKVM_EOK;
}
