/* The functions that compilers call without being asked. They are in one object with _start, so that every guest has these
   and no others.

   Bytes cost a proof almost as much as words, and a misaligned word two or three times as much as an aligned one. So the
   bytes before the first aligned word of the target, and those behind its last one, are part of a misaligned word each,
   which overlaps its neighbour. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t __attribute__((aligned(1), may_alias)) word64;
typedef uint32_t __attribute__((aligned(1), may_alias)) word32;
typedef uint16_t __attribute__((aligned(1), may_alias)) word16;

enum { WORD = 8, WORDS = 4 * WORD };

#define WORD_AT(address) (*(word64 *)(address))
#define CONST_WORD_AT(address) (*(const word64 *)(address))

/* Less than a word, all of it read before the first of it is written. */
static inline void copy_few(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size & 4) {
        uint32_t first = *(const word32 *)from, last = *(const word32 *)(from + size - 4);
        *(word32 *)to = first;
        *(word32 *)(to + size - 4) = last;
    } else if (size & 2) {
        uint16_t first = *(const word16 *)from;
        uint8_t last = from[size - 1];
        *(word16 *)to = first;
        to[size - 1] = last;
    } else if (size) {
        *to = *from;
    }
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *d = to, *end = d + size;
    const uint8_t *s = from;

    if (size < WORD) {
        copy_few(d, s, size);
        return to;
    }
    size_t ahead = -(uintptr_t)d % WORD;
    if (ahead) {
        WORD_AT(d) = CONST_WORD_AT(s);
        d += ahead;
        s += ahead;
    }
    for (uint8_t *last = end - WORDS; d <= last; d += WORDS, s += WORDS) {
        WORD_AT(d) = CONST_WORD_AT(s);
        WORD_AT(d + 8) = CONST_WORD_AT(s + 8);
        WORD_AT(d + 16) = CONST_WORD_AT(s + 16);
        WORD_AT(d + 24) = CONST_WORD_AT(s + 24);
    }
    for (uint8_t *last = end - WORD; d <= last; d += WORD, s += WORD)
        WORD_AT(d) = CONST_WORD_AT(s);
    if (d != end)
        WORD_AT(end - WORD) = CONST_WORD_AT(s + (end - d) - WORD);
    return to;
}

/* Backwards, where the target begins within the source: the first word is read before anything is written. */
void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *d = to;
    const uint8_t *s = from;

    if (size < WORD) {
        copy_few(d, s, size);
        return to;
    }
    if ((uintptr_t)d - (uintptr_t)s >= size && (uintptr_t)s - (uintptr_t)d >= size)
        return memcpy(to, from, size);
    uint64_t first = CONST_WORD_AT(s), last = CONST_WORD_AT(s + size - WORD);
    if (d < s) {
        uint8_t *end = d + size - WORD;
        for (; d < end; d += WORD, s += WORD)
            WORD_AT(d) = CONST_WORD_AT(s);
        WORD_AT(end) = last;
    } else {
        for (; size > WORD; size -= WORD)
            WORD_AT(d + size - WORD) = CONST_WORD_AT(s + size - WORD);
        WORD_AT(d) = first;
    }
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    uint8_t *d = to, *end = d + size;
    uint64_t pattern = (uint8_t)byte * 0x0101010101010101ul;

    if (size < WORD) {
        for (; d != end; d++)
            *d = (uint8_t)byte;
        return to;
    }
    if ((uintptr_t)d % WORD) {
        WORD_AT(d) = pattern;
        d += -(uintptr_t)d % WORD;
    }
    for (uint8_t *last = end - WORDS; d <= last; d += WORDS) {
        WORD_AT(d) = pattern;
        WORD_AT(d + 8) = pattern;
        WORD_AT(d + 16) = pattern;
        WORD_AT(d + 24) = pattern;
    }
    for (uint8_t *last = end - WORD; d <= last; d += WORD)
        WORD_AT(d) = pattern;
    if (d != end)
        WORD_AT(end - WORD) = pattern;
    return to;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const uint8_t *a = left, *b = right;

    for (; size >= WORD && CONST_WORD_AT(a) == CONST_WORD_AT(b); size -= WORD, a += WORD, b += WORD)
        ;
    for (; size; size--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    const char *end = text;

    while (*end)
        end++;
    return (size_t)(end - text);
}
