/* The functions that compilers call without being asked. They are in one object with _start, so that every guest has these
   and no others. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t __attribute__((aligned(1), may_alias)) word64;

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *d = to;
    const uint8_t *s = from;

    for (; size >= 8; size -= 8, d += 8, s += 8)
        *(word64 *)d = *(const word64 *)s;
    for (; size; size--)
        *d++ = *s++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *d = to;
    const uint8_t *s = from;

    if ((uintptr_t)d - (uintptr_t)s >= size)
        return memcpy(to, from, size);
    for (; size >= 8; size -= 8)
        *(word64 *)(d + size - 8) = *(const word64 *)(s + size - 8);
    for (; size; size--)
        d[size - 1] = s[size - 1];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    uint8_t *d = to;
    uint64_t pattern = (uint8_t)byte * 0x0101010101010101ul;

    for (; size >= 8; size -= 8, d += 8)
        *(word64 *)d = pattern;
    for (; size; size--)
        *d++ = (uint8_t)byte;
    return to;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const uint8_t *a = left, *b = right;

    for (; size; size--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;

    while (text[length])
        length++;
    return length;
}
