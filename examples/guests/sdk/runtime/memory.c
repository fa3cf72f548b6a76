/* The functions that compilers call without being asked. They are in one object with _start, so that every guest has these
   and no others.

   Bytes cost a proof almost as much as words, and a misaligned word two or three times as much as an aligned one. Up to
   32 bytes are words that overlap. Beyond that, the bytes before the first aligned word of the target, and those behind
   its last one, are part of a misaligned word each, which overlaps its neighbour. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t __attribute__((aligned(1), may_alias)) word64;
typedef uint32_t __attribute__((aligned(1), may_alias)) word32;
typedef uint16_t __attribute__((aligned(1), may_alias)) word16;

enum { WORD = 8, WORDS = 4 * WORD };

#define WORD_AT(address) (*(word64 *)(address))
#define CONST_WORD_AT(address) (*(const word64 *)(address))

/* Copy at most four words, all of them read before the first is written. */
static inline void copy_few(uint8_t *to, const uint8_t *from, size_t size)
{
    uint8_t *to_end = to + size;
    const uint8_t *from_end = from + size;

    if (size >= WORD) {
        uint64_t first = CONST_WORD_AT(from), last = CONST_WORD_AT(from_end - 8);
        if (size > 2 * WORD) {
            uint64_t second = CONST_WORD_AT(from + 8), third = CONST_WORD_AT(from_end - 16);
            WORD_AT(to + 8) = second;
            WORD_AT(to_end - 16) = third;
        }
        WORD_AT(to) = first;
        WORD_AT(to_end - 8) = last;
    } else if (size & 4) {
        uint32_t first = *(const word32 *)from, last = *(const word32 *)(from_end - 4);
        *(word32 *)to = first;
        *(word32 *)(to_end - 4) = last;
    } else if (size & 2) {
        uint16_t first = *(const word16 *)from;
        uint8_t last = from_end[-1];
        *(word16 *)to = first;
        to_end[-1] = last;
    } else if (size) {
        *to = *from;
    }
}

static inline void copy_words(uint8_t *to, const uint8_t *from)
{
    uint64_t first = CONST_WORD_AT(from), second = CONST_WORD_AT(from + 8);
    uint64_t third = CONST_WORD_AT(from + 16), fourth = CONST_WORD_AT(from + 24);

    WORD_AT(to) = first;
    WORD_AT(to + 8) = second;
    WORD_AT(to + 16) = third;
    WORD_AT(to + 24) = fourth;
}

/* Copy more than four words, where the target does not begin within the source, or less than a word before it. */
static inline void copy_forward(uint8_t *to, const uint8_t *from, size_t size)
{
    uint8_t *end = to + size;
    size_t ahead = -(uintptr_t)to % WORD;

    if (ahead) {
        WORD_AT(to) = CONST_WORD_AT(from);
        to += ahead;
        from += ahead;
    }
    for (uint8_t *last = end - WORDS; to <= last; to += WORDS, from += WORDS)
        copy_words(to, from);
    for (uint8_t *last = end - WORD; to <= last; to += WORD, from += WORD)
        WORD_AT(to) = CONST_WORD_AT(from);
    if (to != end)
        WORD_AT(end - WORD) = CONST_WORD_AT(from + (end - to) - WORD);
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    if (size <= WORDS)
        copy_few(to, from, size);
    else
        copy_forward(to, from, size);
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *d = to;
    const uint8_t *s = from;
    size_t above = (size_t)(d - s), below = (size_t)(s - d); /* one of them is a large number */

    if (size > WORDS && above >= size && below >= WORD) {
        copy_forward(d, s, size);
        return to;
    }
    if (above >= size)
        for (; size > WORDS; size -= WORDS, d += WORDS, s += WORDS)
            copy_words(d, s);
    else
        for (; size > WORDS; size -= WORDS)
            copy_words(d + size - WORDS, s + size - WORDS);
    copy_few(d, s, size);
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    uint8_t *d = to, *end = d + size;
    uint64_t pattern = (uint8_t)byte * 0x0101010101010101ul;

    if (size > WORDS) {
        WORD_AT(d) = pattern;
        for (d += -(uintptr_t)d % WORD; d <= end - WORDS; d += WORDS) {
            WORD_AT(d) = pattern;
            WORD_AT(d + 8) = pattern;
            WORD_AT(d + 16) = pattern;
            WORD_AT(d + 24) = pattern;
        }
        for (; d <= end - WORD; d += WORD)
            WORD_AT(d) = pattern;
        WORD_AT(end - 8) = pattern;
    } else if (size >= WORD) {
        WORD_AT(d) = pattern;
        WORD_AT(end - 8) = pattern;
        if (size > 2 * WORD) {
            WORD_AT(d + 8) = pattern;
            WORD_AT(end - 16) = pattern;
        }
    } else if (size & 4) {
        *(word32 *)d = (uint32_t)pattern;
        *(word32 *)(end - 4) = (uint32_t)pattern;
    } else if (size & 2) {
        *(word16 *)d = (uint16_t)pattern;
        end[-1] = (uint8_t)pattern;
    } else if (size) {
        *d = (uint8_t)pattern;
    }
    return to;
}

/* The order of the first bytes in which two words differ; the words do. */
static inline int order(uint64_t left, uint64_t right)
{
    uint64_t differ = left ^ right;

    if (!(uint32_t)differ)
        left >>= 32, right >>= 32, differ >>= 32;
    if (!(uint16_t)differ)
        left >>= 16, right >>= 16, differ >>= 16;
    if (!(uint8_t)differ)
        left >>= 8, right >>= 8;
    return (int)(left & 255) - (int)(right & 255);
}

/* Less than a word, with zeros behind it. The middle bytes may be there twice, which does not change an order. */
static inline uint64_t few(const uint8_t *from, size_t size)
{
    if (size & 4)
        return *(const word32 *)from | (uint64_t) * (const word32 *)(from + size - 4) << 32;
    if (size & 2)
        return *(const word16 *)from | (uint64_t)from[size - 1] << 16;
    return size ? *from : 0;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const uint8_t *a = left, *b = right;
    uint64_t x, y;

    if (size < WORD) {
        x = few(a, size);
        y = few(b, size);
        return x == y ? 0 : order(x, y);
    }
    const uint8_t *last = a + size - WORD; /* the last word, which may overlap the one before it */
    for (const uint8_t *end = last - WORD; a < end; a += 2 * WORD, b += 2 * WORD) {
        x = CONST_WORD_AT(a);
        y = CONST_WORD_AT(b);
        if (x != y)
            return order(x, y);
        x = CONST_WORD_AT(a + 8);
        y = CONST_WORD_AT(b + 8);
        if (x != y)
            return order(x, y);
    }
    if (a < last) {
        x = CONST_WORD_AT(a);
        y = CONST_WORD_AT(b);
        if (x != y)
            return order(x, y);
    }
    b += last - a;
    x = CONST_WORD_AT(last);
    y = CONST_WORD_AT(b);
    return x == y ? 0 : order(x, y);
}

size_t strlen(const char *text)
{
    const char *end = text;

    while (*end)
        end++;
    return (size_t)(end - text);
}
