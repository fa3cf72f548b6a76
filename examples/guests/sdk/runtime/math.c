/* What libc++ needs of <math.h> without a C library: the number of buckets of a hash table is rounded up. */
#include "zkvm.h"

float ceilf(float number);

float ceilf(float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof bits);
    int exponent = (int)(bits >> 23 & 255) - 127;
    if (exponent >= 23) /* an integer, infinite, or no number */
        return number;
    if (exponent < 0) {
        bits = bits >> 31 ? 0x80000000u : bits << 1 ? 0x3F800000u : 0; /* between -1 and 1 */
    } else {
        uint32_t fraction = 0x7FFFFFu >> exponent;
        if ((bits & fraction) && !(bits >> 31))
            bits += fraction;
        bits &= ~fraction;
    }
    memcpy(&number, &bits, sizeof bits);
    return number;
}
