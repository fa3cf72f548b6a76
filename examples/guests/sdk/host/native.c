/* The kit's functions for an ordinary program of this computer, so that debuggers, sanitizers and fuzzers can run a guest:
   standard input is the input, standard output is the output, standard error is the debug channel. The C library has the
   rest. keccak.c, sha256.c and arithmetic.c belong to it; there are no other accelerators. */
#include "zkvm.h"

#include <stdio.h>
#include <stdlib.h>

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

void read_input(const uint8_t **buf, size_t *size)
{
    static uint8_t *input;
    static size_t length;

    if (!input) {
        size_t room = 1 << 16;
        input = malloc(room);
        while (input && (length += fread(input + length, 1, room - length, stdin)) == room)
            input = realloc(input, room *= 2);
        if (!input || ferror(stdin))
            fail("standard input");
        input = realloc(input, length ? length : 1); /* so that a sanitizer notices reads behind the end */
        if (!input)
            fail("standard input");
    }
    *buf = input;
    *size = length;
}

void write_output(const uint8_t *output, size_t size)
{
    if (fwrite(output, 1, size, stdout) != size)
        fail("standard output");
}

static __attribute__((destructor)) void flush(void)
{
    if (fflush(stdout)) {
        perror("standard output");
        _Exit(EXIT_FAILURE);
    }
}

void zkvm_print(const uint8_t *text, size_t size)
{
    fwrite(text, 1, size, stderr);
}

/* Return a word of SplitMix64 from the seed of the environment's ZKVM_RANDOM_SEED, or 0. */
uint64_t zkvm_random_u64(void)
{
    static uint64_t distance;
    const char *seed = getenv("ZKVM_RANDOM_SEED");

    distance += 0x9E3779B97F4A7C15u;
    uint64_t word = (seed ? strtoull(seed, NULL, 0) : 0) + distance;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

void *allocate(size_t size)
{
    void *memory = calloc(1, size ? size : 1);

    if (!memory)
        exit(ZKVM_OUT_OF_MEMORY);
    return memory;
}

/* What a guest has allocated at its end is no leak. */
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* The heap of a guest that has its own allocator. Pages that are not touched take no memory. */
__asm__(".bss\n"
        ".balign 4096\n"
        ".globl _heap_start, _heap_end\n"
        "_heap_start: .zero 0x40000000\n"
        "_heap_end:\n"
        ".text\n");
