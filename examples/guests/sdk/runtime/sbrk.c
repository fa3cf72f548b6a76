/* Memory for malloc() of a C library, at the end of what is in use of the heap. */
#include "runtime.h"

uint8_t *__zkvm_heap_next = _heap_start;

/* More memory, which continues what was given before, to the byte: malloc() counts on it. Only where the guest allocates in
   between does it begin anew. */
__attribute__((weak)) void *sbrk(ptrdiff_t size)
{
    static uint8_t *given, *end;

    if (size < 0)
        return (void *)-1;
    if (end != __zkvm_heap_next)
        given = end = __zkvm_heap_next;
    if (size > end - given) {
        if (size - (end - given) > _heap_end - end)
            return (void *)-1;
        __zkvm_heap_next = end += (size - (end - given) + 15) & ~15l;
    }
    given += size;
    return given - size;
}
