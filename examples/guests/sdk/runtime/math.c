/* The functions of <math.h> that Rust's compiler_builtins lack, by those which they have. All of it gives way to a guest's
   own. Of long double there is nothing but what compilers call for its arithmetic. */
#include <stdint.h>

#define WEAK __attribute__((weak))
#define FUNCTION(type, name, parameters) \
    WEAK type name parameters;           \
    type name parameters

double log1p(double), rint(double), round(double), trunc(double), ldexp(double number, int exponent);
float log1pf(float), rintf(float), roundf(float), truncf(float), ldexpf(float number, int exponent);

/* With the suffix of a type's functions, its bits as an integer, and the bits of its fraction. */
#define FUNCTIONS(type, f, word, fraction)                                                                       \
    FUNCTION(type, nearbyint##f, (type number)) /* there are no exceptions, and so no difference to rint */      \
    {                                                                                                            \
        return rint##f(number);                                                                                  \
    }                                                                                                            \
    FUNCTION(long, lrint##f, (type number))                                                                      \
    {                                                                                                            \
        return (long)rint##f(number);                                                                            \
    }                                                                                                            \
    FUNCTION(long long, llrint##f, (type number))                                                                \
    {                                                                                                            \
        return (long long)rint##f(number);                                                                       \
    }                                                                                                            \
    FUNCTION(long, lround##f, (type number))                                                                     \
    {                                                                                                            \
        return (long)round##f(number);                                                                           \
    }                                                                                                            \
    FUNCTION(long long, llround##f, (type number))                                                               \
    {                                                                                                            \
        return (long long)round##f(number);                                                                      \
    }                                                                                                            \
    FUNCTION(type, atanh##f, (type number))                                                                      \
    {                                                                                                            \
        type x = __builtin_fabs##f(number), y = 2 * x;                                                           \
        y = x < (type)0.5 ? y + y * x / (1 - x) : y / (1 - x);                                                   \
        return __builtin_copysign##f(log1p##f(y) / 2, number);                                                   \
    }                                                                                                            \
    FUNCTION(type, scalbn##f, (type number, int exponent))                                                       \
    {                                                                                                            \
        return ldexp##f(number, exponent);                                                                       \
    }                                                                                                            \
    FUNCTION(type, scalbln##f, (type number, long exponent))                                                     \
    {                                                                                                            \
        return ldexp##f(number, exponent > 9999 ? 9999 : exponent < -9999 ? -9999 : (int)exponent);              \
    }                                                                                                            \
    FUNCTION(type, modf##f, (type number, type * whole))                                                         \
    {                                                                                                            \
        *whole = trunc##f(number);                                                                               \
        return __builtin_copysign##f(__builtin_isinf(number) ? 0 : number - *whole, number);                     \
    }                                                                                                            \
    FUNCTION(type, frexp##f, (type number, int *exponent))                                                       \
    {                                                                                                            \
        enum { SIGN_AND_EXPONENT = 8 * sizeof(word) - fraction, MASK = (1 << (SIGN_AND_EXPONENT - 1)) - 1 };     \
        union {                                                                                                  \
            type number;                                                                                         \
            word bits;                                                                                           \
        } value = {number};                                                                                      \
        *exponent = 0;                                                                                           \
        if (number == 0 || (value.bits >> fraction & MASK) == MASK) /* infinite, or no number */                 \
            return number;                                                                                       \
        if (!(value.bits >> fraction & MASK)) { /* subnormal */                                                  \
            value.number = number * (type)18446744073709551616.0;                                                \
            *exponent = -64;                                                                                     \
        }                                                                                                        \
        *exponent += (int)(value.bits >> fraction & MASK) - (MASK / 2 - 1);                                      \
        value.bits = (value.bits & ~((word)MASK << fraction)) | (word)(MASK / 2 - 1) << fraction;                \
        return value.number;                                                                                     \
    }

FUNCTIONS(double, , uint64_t, 52)
FUNCTIONS(float, f, uint32_t, 23)
