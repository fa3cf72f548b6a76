/* What the parts of libzkvm.a know of each other and of zkvm.ld. Accelerators use the __zkvm_ functions too. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stddef.h>
#include <stdint.h>

extern uint8_t _heap_start[], _heap_end[];
extern uint8_t *__zkvm_heap_next; /* the end of what is in use of the heap, a multiple of 16 */
extern uint8_t __zkvm_scratch_start[], __zkvm_scratch_end[];

/* Memory of the current call of an accelerator, aligned to `align`, a power of two. It fails at its end. */
void *__zkvm_scratch(size_t size, size_t align);
size_t __zkvm_scratch_mark(void);
void __zkvm_scratch_release(size_t mark);

/* Write a message to the debug channel and fault: of such a run nothing can be proved. */
_Noreturn void __zkvm_fail(const char *message, size_t size);

_Noreturn void _exit(int code);

#define FAIL(message) __zkvm_fail("" message, sizeof message - 1)

#endif
