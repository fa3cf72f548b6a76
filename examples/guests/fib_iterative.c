/* A Fibonacci number modulo 2^64 by a loop of five instructions. Input: the number of turns as a 64-bit word. */
#include "zkvm.h"

int main(void)
{
    const uint8_t *input;
    size_t size;
    uint64_t turns = 0;

    read_input(&input, &size);
    memcpy(&turns, input, size < 8 ? size : 8);
    uint64_t left = 0, right = 1;
    if (turns) {
        uint64_t sum;
        /* Written out so that every compiler gives the same loop: add, mv, mv, addi, bnez. */
        __asm__ volatile("1: add %2, %0, %1\n\tmv %0, %1\n\tmv %1, %2\n\taddi %3, %3, -1\n\tbnez %3, 1b"
                         : "+r"(left), "+r"(right), "=&r"(sum), "+r"(turns));
    }
    write_output((const uint8_t *)&left, sizeof left);
    return 0;
}
