/* The heap between _heap_start and _heap_end, of which nothing is taken back: allocate(), and sbrk() for a C library. */
#include "runtime.h"
#include "zkvm.h"

static uint8_t *next, *given; /* the end of all that is in use, and of what sbrk() gave */

void *allocate(size_t size)
{
    if (!next)
        next = _heap_start;
    if (size > (size_t)(_heap_end - next))
        _exit(ZKVM_OUT_OF_MEMORY);
    void *result = next;
    next += (size + 15) & ~15ul;
    return result;
}

/* More memory, which continues what was given before, to the byte: malloc() counts on it. Only where the guest allocates in
   between does it begin anew. */
void *sbrk(ptrdiff_t size)
{
    static uint8_t *end;

    if (size < 0)
        return (void *)-1;
    if (end != allocate(0))
        given = end = allocate(0);
    if (size > end - given) {
        allocate((size_t)(size - (end - given)));
        end = allocate(0);
    }
    given += size;
    return given - size;
}

void *_sbrk(ptrdiff_t size)
{
    return sbrk(size);
}
