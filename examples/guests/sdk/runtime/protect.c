/* What compilers call for -fstack-protector, and to make instructions visible that were written, which cannot be run. All of
   it gives way to a guest's own. */
#include "runtime.h"

#define WEAK __attribute__((weak))

uintptr_t __stack_chk_guard;
_Noreturn void __stack_chk_fail(void);
void clear_cache(void *start, void *end) __asm__("__clear_cache");
int __riscv_flush_icache(void *start, void *end, unsigned long flags);

/* A word below the return address, with a zero byte, at which copying text ends. It is no secret: the prover knows all of a
   guest's memory. */
WEAK uintptr_t __stack_chk_guard = 0x0D0A00FFC0DEB00Cul;

WEAK _Noreturn void __stack_chk_fail(void)
{
    FAIL("the stack protector found that a function wrote beyond its local variables\n");
}

WEAK void clear_cache(void *start, void *end)
{
    (void)start, (void)end;
}

WEAK int __riscv_flush_icache(void *start, void *end, unsigned long flags)
{
    (void)start, (void)end, (void)flags;
    return 0;
}
