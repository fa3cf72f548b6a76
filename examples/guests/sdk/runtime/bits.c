/* Functions on bits that gcc calls, and Rust's compiler_builtins lack. */
#include <stdint.h>

int __popcountdi2(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return (int)(word * 0x0101010101010101 >> 56);
}

int __popcountsi2(uint32_t word)
{
    return __popcountdi2(word);
}

int __paritydi2(uint64_t word)
{
    return __popcountdi2(word) & 1;
}

int __paritysi2(uint32_t word)
{
    return __popcountdi2(word) & 1;
}

/* The place of the lowest bit that is set, from 1; 0 for no bit. */
int __ffsdi2(uint64_t word)
{
    return word ? __popcountdi2(word ^ (word - 1)) : 0;
}

int __ffssi2(uint32_t word)
{
    return __ffsdi2(word);
}

/* The number of bits that repeat the sign below it. */
int __clrsbdi2(int64_t word)
{
    uint64_t other = (uint64_t)(word < 0 ? ~word : word);
    int bits = 0;

    for (; other; other >>= 1)
        bits++;
    return 63 - bits;
}

int __clrsbsi2(int32_t word)
{
    return __clrsbdi2(word) - 32;
}
