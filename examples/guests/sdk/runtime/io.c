/* The regions of memory that hold input and output. */
#include "zkvm.h"

#define INPUT_BASE 0x80000000ul
#define OUTPUT_BASE 0xC0000000ul
#define MEMORY_END 0x100000000ul

void read_input(const uint8_t **buf_ptr, size_t *buf_size)
{
    size_t length = *(const uint64_t *)INPUT_BASE;

    if (length > OUTPUT_BASE - INPUT_BASE - 8) /* the host would have to lie */
        __builtin_trap();
    *buf_ptr = (const uint8_t *)(INPUT_BASE + 8);
    *buf_size = length;
}

void write_output(const uint8_t *output, size_t size)
{
    uint64_t *length = (uint64_t *)OUTPUT_BASE;

    size_t before = *length;

    if (size > MEMORY_END - OUTPUT_BASE - 8 - before)
        __builtin_trap();
    *length = before + size;
    memcpy((uint8_t *)(OUTPUT_BASE + 8) + before, output, size);
}
