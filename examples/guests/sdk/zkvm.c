/* The regions of memory that hold input and output, host calls, and the few functions that compilers call. */
#include "zkvm.h"

#define INPUT_BASE 0x80000000ul
#define OUTPUT_BASE 0xC0000000ul
#define MEMORY_END 0x100000000ul
#define STACK_BYTES 0x1000000ul
#define KECCAK_F 1024

extern uint8_t __heap_start[];
extern uint8_t __stack_top[];

void read_input(const uint8_t **buf, size_t *size)
{
    size_t length = *(const uint64_t *)INPUT_BASE;

    if (length > OUTPUT_BASE - INPUT_BASE - 8) /* the host would have to lie */
        __builtin_trap();
    *buf = (const uint8_t *)(INPUT_BASE + 8);
    *size = length;
}

void write_output(const uint8_t *out, size_t size)
{
    uint64_t *length = (uint64_t *)OUTPUT_BASE;

    if (size > MEMORY_END - OUTPUT_BASE - 8 - *length)
        __builtin_trap();
    memcpy((uint8_t *)(OUTPUT_BASE + 8) + *length, out, size);
    *length += size;
}

void *allocate(size_t size)
{
    static uintptr_t next;

    if (!next)
        next = ((uintptr_t)__heap_start + 15) & ~15ul;
    uintptr_t end = (uintptr_t)__stack_top - STACK_BYTES;
    if (size > end - next)
        exit(ZKVM_OUT_OF_MEMORY);
    void *result = (void *)next;
    next += (size + 15) & ~15ul;
    return result;
}

void keccak_f(uint64_t state[25])
{
    register uint64_t *a0 __asm__("a0") = state;
    register uint64_t a7 __asm__("a7") = KECCAK_F;

    __asm__ volatile("ecall" : : "r"(a0), "r"(a7) : "memory");
}

zkvm_status zkvm_keccak256(const uint8_t *data, size_t len, zkvm_keccak256_hash *output)
{
    enum { RATE = 136 };
    uint64_t state[25] = {0};

    for (; len >= RATE; len -= RATE, data += RATE) {
        for (size_t i = 0; i < RATE / 8; i++)
            state[i] ^= ((const word64 *)data)[i];
        keccak_f(state);
    }
    uint8_t *bytes = (uint8_t *)state;
    for (size_t i = 0; i < len; i++)
        bytes[i] ^= data[i];
    bytes[len] ^= 0x01;
    bytes[RATE - 1] ^= 0x80;
    keccak_f(state);
    memcpy(output, state, sizeof *output);
    return ZKVM_EOK;
}

void *(memcpy)(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *d = to;
    const uint8_t *s = from;

    for (; size >= 8; size -= 8, d += 8, s += 8)
        *(word64 *)d = *(const word64 *)s;
    for (; size; size--)
        *d++ = *s++;
    return to;
}

void *(memmove)(void *to, const void *from, size_t size)
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

void *(memset)(void *to, int byte, size_t size)
{
    uint8_t *d = to;
    uint64_t pattern = (uint8_t)byte * 0x0101010101010101ul;

    for (; size >= 8; size -= 8, d += 8)
        *(word64 *)d = pattern;
    for (; size; size--)
        *d++ = (uint8_t)byte;
    return to;
}

int (memcmp)(const void *left, const void *right, size_t size)
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
