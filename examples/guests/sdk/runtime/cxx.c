/* What C++ asks for without a library of its own: memory, and ends of a guest. Nothing is taken back. */
#include "zkvm.h"

#include "runtime.h"

void *operator_new(size_t size) __asm__("_Znwm");
void *operator_new_array(size_t size) __asm__("_Znam");
void operator_delete(void *block) __asm__("_ZdlPv");
void operator_delete_array(void *block) __asm__("_ZdaPv");
void operator_delete_sized(void *block, size_t size) __asm__("_ZdlPvm");
void operator_delete_array_sized(void *block, size_t size) __asm__("_ZdaPvm");
_Noreturn void __cxa_pure_virtual(void);
_Noreturn void __cxa_deleted_virtual(void);

void *operator_new(size_t size)
{
    return allocate(size);
}

void *operator_new_array(size_t size)
{
    return allocate(size);
}

void operator_delete(void *block)
{
    (void)block;
}

void operator_delete_array(void *block)
{
    (void)block;
}

void operator_delete_sized(void *block, size_t size)
{
    (void)block;
    (void)size;
}

void operator_delete_array_sized(void *block, size_t size)
{
    (void)block;
    (void)size;
}

void __cxa_pure_virtual(void)
{
    FAIL("a pure virtual function was called\n");
}

void __cxa_deleted_virtual(void)
{
    FAIL("a deleted virtual function was called\n");
}
