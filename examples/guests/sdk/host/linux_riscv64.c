/* A guest as a Linux program for RV64, for example under qemu-riscv64: the guest's objects, this file and libzkvm.a, with
   zkvm.ld. Standard input is the input, standard output is the output, standard error is the debug channel. What is not
   here is the machine's own code: start, constructors, memory functions, accelerators.

   The entry is __zkvm_linux_start. It maps the memory that the machine has and Linux has not: zeros behind the program,
   and the region of the input, with the input. Then it continues at _start. */
#include "zkvm.h"

enum { READ = 63, WRITE = 64, EXIT = 93, MMAP = 222 }; /* system calls */

#define PAGE 4096ul
#define INPUT_BASE 0x80000000ul
#define INPUT_END 0xC0000000ul
#define INPUT_LIMIT (INPUT_END - INPUT_BASE - 16) /* without its length, and the word of the random seed */

extern uint8_t _heap_start[];

static long call(long number, long first, long second, long third, long fourth)
{
    register long a0 __asm__("a0") = first;
    register long a1 __asm__("a1") = second;
    register long a2 __asm__("a2") = third;
    register long a3 __asm__("a3") = fourth;
    register long a4 __asm__("a4") = -1; /* no file */
    register long a5 __asm__("a5") = 0;
    register long a7 __asm__("a7") = number;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

static void put(int file, const uint8_t *bytes, size_t size);

static _Noreturn void refuse(const char *message)
{
    put(2, (const uint8_t *)message, strlen(message));
    for (;;)
        call(EXIT, 1, 0, 0, 0);
}

static void put(int file, const uint8_t *bytes, size_t size)
{
    while (size) {
        long written = call(WRITE, file, (long)bytes, (long)size, 0);
        if (written <= 0 && file != 2)
            refuse("standard output cannot be written\n");
        if (written <= 0)
            return;
        bytes += written;
        size -= (size_t)written;
    }
}

static void map(uint64_t start, uint64_t end)
{
    enum { READ_AND_WRITE = 3, PRIVATE_ZEROS_UNRESERVED = 0x4022 };

    if (call(MMAP, (long)start, (long)(end - start), READ_AND_WRITE, PRIVATE_ZEROS_UNRESERVED) != (long)start)
        refuse("the memory of the machine is not free in this process: try qemu-riscv64 -R 0x200000000\n");
}

void __zkvm_linux_map(void)
{
    uint64_t size = 0;

    map(((uint64_t)_heap_start + PAGE - 1) & -PAGE, INPUT_END);
    for (long count = 1; count > 0; size += (uint64_t)count) {
        count = call(READ, 0, (long)(INPUT_BASE + 8 + size), (long)(INPUT_LIMIT - size), 0);
        if (count < 0)
            refuse("standard input cannot be read\n");
    }
    *(uint64_t *)INPUT_BASE = size;
}

__asm__(".globl __zkvm_linux_start\n"
        "__zkvm_linux_start:\n"
        ".option push\n"
        ".option norelax\n"
        "la gp, __global_pointer$\n"
        ".option pop\n"
        "call __zkvm_linux_map\n"
        "tail _start\n");

void read_input(const uint8_t **buf, size_t *size)
{
    *buf = (const uint8_t *)(INPUT_BASE + 8);
    *size = *(const uint64_t *)INPUT_BASE;
}

void write_output(const uint8_t *output, size_t size)
{
    put(1, output, size);
}

void zkvm_print(const uint8_t *text, size_t size)
{
    put(2, text, size);
}

void __zkvm_fail(const char *message, size_t size)
{
    put(2, (const uint8_t *)message, size);
    __builtin_trap();
}
