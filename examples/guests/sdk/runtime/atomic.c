/* Atomic operations, which compilers call for a machine without atomic instructions. There is one hart and nothing that
   interrupts it: plain loads and stores are atomic. Zig has weak functions of these names, which call themselves. So these
   are strong, and in the object of _start, which every guest has.

   Compilers know the names as built-in functions. A definition needs another one, which its symbol replaces. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
int memcmp(const void *left, const void *right, size_t size);

__extension__ typedef unsigned __int128 uint128_t;

#define FUNCTION(result, name, parameters)             \
    result name parameters __asm__("__atomic_" #name); \
    result name parameters

/* Store what an operation gives, and return what was there. */
#define FETCH(name, size, word, operation)                                         \
    FUNCTION(word, fetch_##name##_##size, (volatile word *at, word value, int order)) \
    {                                                                              \
        word old = *at;                                                            \
        (void)order;                                                               \
        *at = (word)(operation);                                                   \
        return old;                                                                \
    }

#define OPERATIONS(size, word)                                                                                     \
    FUNCTION(word, load_##size, (const volatile word *at, int order))                                              \
    {                                                                                                              \
        (void)order;                                                                                               \
        return *at;                                                                                                \
    }                                                                                                              \
    FUNCTION(void, store_##size, (volatile word *at, word value, int order))                                       \
    {                                                                                                              \
        (void)order;                                                                                               \
        *at = value;                                                                                               \
    }                                                                                                              \
    FUNCTION(_Bool, compare_exchange_##size,                                                                       \
             (volatile word *at, word *expected, word desired, int success, int failure))                          \
    {                                                                                                              \
        word old = *at;                                                                                            \
        (void)success, (void)failure;                                                                              \
        if (old == *expected) {                                                                                    \
            *at = desired;                                                                                         \
            return 1;                                                                                              \
        }                                                                                                          \
        *expected = old;                                                                                           \
        return 0;                                                                                                  \
    }                                                                                                              \
    FUNCTION(word, exchange_##size, (volatile word *at, word value, int order))                                    \
    {                                                                                                              \
        word old = *at;                                                                                            \
        (void)order;                                                                                               \
        *at = value;                                                                                               \
        return old;                                                                                                \
    }                                                                                                              \
    FETCH(add, size, word, old + value)                                                                            \
    FETCH(sub, size, word, old - value)                                                                            \
    FETCH(and, size, word, old &value)                                                                             \
    FETCH(or, size, word, old | value)                                                                             \
    FETCH(xor, size, word, old ^ value)                                                                            \
    FETCH(nand, size, word, ~(old & value))

OPERATIONS(1, uint8_t)
OPERATIONS(2, uint16_t)
OPERATIONS(4, uint32_t)
OPERATIONS(8, uint64_t)
OPERATIONS(16, uint128_t)

/* Of any size. */
FUNCTION(void, load, (size_t size, const void *at, void *result, int order))
{
    (void)order;
    memcpy(result, at, size);
}

FUNCTION(void, store, (size_t size, void *at, const void *value, int order))
{
    (void)order;
    memcpy(at, value, size);
}

FUNCTION(void, exchange, (size_t size, void *at, const void *value, void *result, int order))
{
    (void)order;
    memcpy(result, at, size);
    memcpy(at, value, size);
}

FUNCTION(_Bool, compare_exchange,
         (size_t size, void *at, void *expected, const void *desired, int success, int failure))
{
    (void)success, (void)failure;
    if (memcmp(at, expected, size)) {
        memcpy(expected, at, size);
        return 0;
    }
    memcpy(at, desired, size);
    return 1;
}

/* No operation takes a lock. */
FUNCTION(_Bool, is_lock_free, (size_t size, const volatile void *at))
{
    (void)size, (void)at;
    return 1;
}
