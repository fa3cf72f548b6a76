/* Powers of numbers of 256 bits. */
#include "arithmetic.h"

void __zkvm_raise(number *x, const uint8_t *exponent, size_t size, const number *modulus)
{
    number table[16]; /* the powers of x; the first is not used */
    const uint8_t *end = exponent + size;

    while (exponent != end && !*exponent)
        exponent++;
    if (exponent == end) {
        multiply(x, &ONE, &ONE, modulus);
        return;
    }
    table[1] = *x;
    if (*exponent < 16 && end == exponent + 1) {
        for (unsigned turn = *exponent; turn > 1; turn--)
            multiply(x, x, &table[1], modulus);
        return;
    }
    for (int i = 2; i < 16; i++)
        multiply(&table[i], &table[i - 1], &table[1], modulus);
    unsigned high = *exponent >> 4, low = *exponent & 15;
    *x = table[high ? high : low];
    if (high) {
        for (int i = 0; i < 4; i++)
            multiply(x, x, x, modulus);
        if (low)
            multiply(x, x, &table[low], modulus);
    }
    __zkvm_power(x, table, exponent + 1, end, modulus);
}
