/* The older names of atomic operations, __sync_, which gcc calls: see atomic.c. */
#include <stdint.h>

__extension__ typedef unsigned __int128 uint128_t;

#define FUNCTION(result, name, parameters)           \
    result name parameters __asm__("__sync_" #name); \
    result name parameters

/* Store what an operation gives, and return what was there, or what is there now. */
#define FETCH(name, size, word, operation)                                    \
    FUNCTION(word, fetch_and_##name##_##size, (volatile word *at, word value)) \
    {                                                                         \
        word old = *at;                                                       \
        *at = (word)(operation);                                              \
        return old;                                                           \
    }                                                                         \
    FUNCTION(word, name##_and_fetch_##size, (volatile word *at, word value))  \
    {                                                                         \
        word old = *at;                                                       \
        return *at = (word)(operation);                                       \
    }

#define OPERATIONS(size, word)                                                                                     \
    FUNCTION(_Bool, bool_compare_and_swap_##size, (volatile word *at, word expected, word desired))                \
    {                                                                                                              \
        if (*at != expected)                                                                                       \
            return 0;                                                                                              \
        *at = desired;                                                                                             \
        return 1;                                                                                                  \
    }                                                                                                              \
    FUNCTION(word, val_compare_and_swap_##size, (volatile word *at, word expected, word desired))                  \
    {                                                                                                              \
        word old = *at;                                                                                            \
        if (old == expected)                                                                                       \
            *at = desired;                                                                                         \
        return old;                                                                                                \
    }                                                                                                              \
    FUNCTION(word, lock_test_and_set_##size, (volatile word *at, word value))                                      \
    {                                                                                                              \
        word old = *at;                                                                                            \
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
