/* The debug channel: an instruction without effect, which the host recognises. */
#include "runtime.h"
#include "zkvm.h"

void zkvm_print(const uint8_t *text, size_t size)
{
    register const uint8_t *a0 __asm__("a0") = text;
    register size_t a1 __asm__("a1") = size;

    __asm__ volatile("sltiu x0, x0, 0x7A6" : : "r"(a0), "r"(a1) : "memory");
}

void __zkvm_fail(const char *message, size_t size)
{
    zkvm_print((const uint8_t *)message, size);
    __builtin_trap();
}
