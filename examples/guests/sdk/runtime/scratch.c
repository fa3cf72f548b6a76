/* Memory of accelerators, apart from the guest's heap. */
#include "runtime.h"

static size_t used;

void *__zkvm_scratch(size_t size, size_t align)
{
    size_t start = (used + align - 1) & ~(align - 1), room = (size_t)(__zkvm_scratch_end - __zkvm_scratch_start);

    if (start > room || size > room - start)
        FAIL("an accelerator has no memory left\n");
    used = start + size;
    return __zkvm_scratch_start + start;
}

size_t __zkvm_scratch_mark(void)
{
    return used;
}

void __zkvm_scratch_release(size_t mark)
{
    used = mark;
}
