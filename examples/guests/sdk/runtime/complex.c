/* Products and quotients of complex numbers, which compilers call: ISO C, annex G.5.1. All of it gives way to a guest's own. */
#include <stdint.h>

#define WEAK __attribute__((weak))
#define IS_NAN(x) ((x) != (x))

/* The names of compilers' built-in functions for a type end in its suffix f. */
#define PRODUCT(type, f, name)                                                                                   \
    WEAK type _Complex name(type a, type b, type c, type d);                                                     \
    type _Complex name(type a, type b, type c, type d)                                                           \
    {                                                                                                            \
        type ac = a * c, bd = b * d, ad = a * d, bc = b * c;                                                     \
        type _Complex product;                                                                                   \
        type real = ac - bd, imaginary = ad + bc;                                                                \
                                                                                                                 \
        if (IS_NAN(real) && IS_NAN(imaginary)) { /* an infinite factor has an infinite product */                \
            int again = 0;                                                                                       \
            if (INFINITE(a, f) || INFINITE(b, f)) {                                                              \
                a = BOX(a, f);                                                                                   \
                b = BOX(b, f);                                                                                   \
                c = NO_NAN(c, f);                                                                                \
                d = NO_NAN(d, f);                                                                                \
                again = 1;                                                                                       \
            }                                                                                                    \
            if (INFINITE(c, f) || INFINITE(d, f)) {                                                              \
                c = BOX(c, f);                                                                                   \
                d = BOX(d, f);                                                                                   \
                a = NO_NAN(a, f);                                                                                \
                b = NO_NAN(b, f);                                                                                \
                again = 1;                                                                                       \
            }                                                                                                    \
            if (!again && (INFINITE(ac, f) || INFINITE(bd, f) || INFINITE(ad, f) || INFINITE(bc, f))) {          \
                a = NO_NAN(a, f);                                                                                \
                b = NO_NAN(b, f);                                                                                \
                c = NO_NAN(c, f);                                                                                \
                d = NO_NAN(d, f);                                                                                \
                again = 1;                                                                                       \
            }                                                                                                    \
            if (again) {                                                                                         \
                real = __builtin_inf##f() * (a * c - b * d);                                                     \
                imaginary = __builtin_inf##f() * (a * d + b * c);                                                \
            }                                                                                                    \
        }                                                                                                        \
        __real__ product = real;                                                                                 \
        __imag__ product = imaginary;                                                                            \
        return product;                                                                                          \
    }

#define INFINITE(x, f) (__builtin_fabs##f(x) == __builtin_inf##f())
#define FINITE(x, f) (__builtin_fabs##f(x) < __builtin_inf##f())
#define BOX(x, f) __builtin_copysign##f(INFINITE(x, f) ? 1 : 0, x)
#define NO_NAN(x, f) (IS_NAN(x) ? __builtin_copysign##f(0, x) : (x))

/* The numbers are divided in a wider type, in which no product of two of them is too large or too small. */
#define QUOTIENT(type, f, wide, name)                                                                            \
    WEAK type _Complex name(type a, type b, type c, type d);                                                     \
    type _Complex name(type a, type b, type c, type d)                                                           \
    {                                                                                                            \
        wide norm = (wide)c * c + (wide)d * d;                                                                   \
        type real = (type)(((wide)a * c + (wide)b * d) / norm);                                                  \
        type imaginary = (type)(((wide)b * c - (wide)a * d) / norm);                                             \
        type _Complex quotient;                                                                                  \
                                                                                                                 \
        SPECIAL_QUOTIENTS(type, f)                                                                               \
        __real__ quotient = real;                                                                                \
        __imag__ quotient = imaginary;                                                                           \
        return quotient;                                                                                         \
    }

#define SPECIAL_QUOTIENTS(type, f)                                                                               \
    if (IS_NAN(real) && IS_NAN(imaginary)) {                                                                     \
        if (norm == 0 && (!IS_NAN(a) || !IS_NAN(b))) {                                                           \
            real = __builtin_copysign##f(__builtin_inf##f(), c) * a;                                             \
            imaginary = __builtin_copysign##f(__builtin_inf##f(), c) * b;                                        \
        } else if ((INFINITE(a, f) || INFINITE(b, f)) && FINITE(c, f) && FINITE(d, f)) {                         \
            a = BOX(a, f);                                                                                       \
            b = BOX(b, f);                                                                                       \
            real = __builtin_inf##f() * (a * c + b * d);                                                         \
            imaginary = __builtin_inf##f() * (b * c - a * d);                                                    \
        } else if ((INFINITE(c, f) || INFINITE(d, f)) && FINITE(a, f) && FINITE(b, f)) {                         \
            c = BOX(c, f);                                                                                       \
            d = BOX(d, f);                                                                                       \
            real = 0 * (a * c + b * d);                                                                          \
            imaginary = 0 * (b * c - a * d);                                                                     \
        }                                                                                                        \
    }

PRODUCT(float, f, __mulsc3)
PRODUCT(double, , __muldc3)
PRODUCT(long double, l, __multc3)
QUOTIENT(float, f, double, __divsc3)
QUOTIENT(double, , long double, __divdc3)

/* There is no wider type than long double: the numbers are scaled by powers of two. */
static int exponent(long double number)
{
    union {
        long double number;
        uint64_t words[2];
    } value = {number};

    return (int)(value.words[1] >> 48 & 0x7FFF) - 0x3FFF;
}

static long double power_of_two(int exponent)
{
    union {
        uint64_t words[2];
        long double number;
    } value = {{0, (uint64_t)(exponent + 0x3FFF) << 48}};

    return value.number;
}

/* Scale a number by a power of two from 2^-49000 to 2^49000. */
static long double scaled(long double number, int power)
{
    long double third = power_of_two(power / 3);

    return number * third * third * power_of_two(power - power / 3 * 2);
}

/* Scale the larger one of two numbers to 1 up to 2, if there is one, and return the power of two that it had as a factor. */
static int scale(long double *x, long double *y)
{
    enum { SUBNORMAL = -0x3FFF, NO_NUMBER = 0x4000, MORE = 120 };
    int result = 0, larger = exponent(*x) > exponent(*y) ? exponent(*x) : exponent(*y);

    if (larger == SUBNORMAL && (*x != 0 || *y != 0)) {
        *x = scaled(*x, MORE);
        *y = scaled(*y, MORE);
        result = -MORE;
        larger = exponent(*x) > exponent(*y) ? exponent(*x) : exponent(*y);
    }
    if (larger == SUBNORMAL || larger == NO_NUMBER)
        return result;
    *x = scaled(*x, -larger);
    *y = scaled(*y, -larger);
    return result + larger;
}

WEAK long double _Complex __divtc3(long double a, long double b, long double c, long double d);
long double _Complex __divtc3(long double a, long double b, long double c, long double d)
{
    int power = scale(&a, &b) - scale(&c, &d);
    long double norm = c * c + d * d;
    long double real = scaled((a * c + b * d) / norm, power), imaginary = scaled((b * c - a * d) / norm, power);
    long double _Complex quotient;

    SPECIAL_QUOTIENTS(long double, l)
    __real__ quotient = real;
    __imag__ quotient = imaginary;
    return quotient;
}
