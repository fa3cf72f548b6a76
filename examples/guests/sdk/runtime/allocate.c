/* Memory of the heap, of which nothing is taken back. */
#include "runtime.h"
#include "zkvm.h"

void *allocate(size_t size)
{
    uint8_t *result = __zkvm_heap_next;

    if (size > (size_t)(_heap_end - result))
        _exit(ZKVM_OUT_OF_MEMORY);
    __zkvm_heap_next = result + ((size + 15) & ~15ul);
    return result;
}
