/* What C++ asks for besides its library: new and delete on the heap, local variables that are static, and a few ends. All of
   it gives way to a guest's own. */
#include "runtime.h"
#include "zkvm.h"

#define WEAK __attribute__((weak))

/* A block is a multiple of GRAIN, behind a header with its class: the multiple, and for large blocks the power of two. What
   is deleted is kept in a list for each class. Memory that nothing touches costs a proof nothing, so the room between the
   sizes of classes does not matter, but memory that was touched before is cheaper than new memory. */
enum { GRAIN = 16, SMALL = 64, CLASSES = SMALL + 64 };

struct header {
    size_t class;
    struct header *next; /* of the list, while the block is free */
};

static struct header *lists[CLASSES];

static inline size_t class_of(size_t size)
{
    size_t grains = size / GRAIN + (size % GRAIN != 0);

    if (grains < SMALL)
        return grains;
    size_t class = SMALL;
    for (size_t room = SMALL; room < grains; room *= 2)
        class++;
    return class;
}

static inline size_t room_of(size_t class)
{
    return class < SMALL ? class * GRAIN : (size_t)SMALL * GRAIN << (class - SMALL);
}

static void *take(size_t size)
{
    if (size > (size_t)(_heap_end - _heap_start))
        _exit(ZKVM_OUT_OF_MEMORY);
    size_t class = class_of(size);
    struct header *block = lists[class];

    if (block) {
        lists[class] = block->next;
    } else {
        block = allocate(sizeof *block + room_of(class));
        block->class = class;
    }
    return block + 1;
}

static void *take_aligned(size_t size, size_t align)
{
    size_t heap = (size_t)(_heap_end - _heap_start);

    if (align <= GRAIN)
        return take(size);
    if (size > heap || align > heap)
        _exit(ZKVM_OUT_OF_MEMORY);
    size_t class = class_of(size);
    uintptr_t start = (uintptr_t)allocate(sizeof(struct header) + align + room_of(class)) + sizeof(struct header);
    struct header *block = (struct header *)((start + align - 1) & ~(align - 1)) - 1;
    block->class = class;
    return block + 1;
}

static void give(void *memory)
{
    if (memory) {
        struct header *block = (struct header *)memory - 1;
        block->next = lists[block->class];
        lists[block->class] = block;
    }
}

/* The operators, by their names as symbols: the second line of each kind is for arrays. */
#define OPERATOR(name, symbol, parameters, body) \
    WEAK void *name parameters __asm__(symbol);  \
    void *name parameters { return body; }

OPERATOR(new, "_Znwm", (size_t size), take(size))
OPERATOR(new_array, "_Znam", (size_t size), take(size))
OPERATOR(new_nothrow, "_ZnwmRKSt9nothrow_t", (size_t size, const void *tag), ((void)tag, take(size)))
OPERATOR(new_array_nothrow, "_ZnamRKSt9nothrow_t", (size_t size, const void *tag), ((void)tag, take(size)))
OPERATOR(new_aligned, "_ZnwmSt11align_val_t", (size_t size, size_t align), take_aligned(size, align))
OPERATOR(new_array_aligned, "_ZnamSt11align_val_t", (size_t size, size_t align), take_aligned(size, align))

#define DELETE(name, symbol, parameters)       \
    WEAK void name parameters __asm__(symbol); \
    void name parameters

DELETE(delete, "_ZdlPv", (void *memory)) { give(memory); }
DELETE(delete_array, "_ZdaPv", (void *memory)) { give(memory); }
DELETE(delete_sized, "_ZdlPvm", (void *memory, size_t size)) { (void)size, give(memory); }
DELETE(delete_array_sized, "_ZdaPvm", (void *memory, size_t size)) { (void)size, give(memory); }
DELETE(delete_aligned, "_ZdlPvSt11align_val_t", (void *memory, size_t align)) { (void)align, give(memory); }
DELETE(delete_array_aligned, "_ZdaPvSt11align_val_t", (void *memory, size_t align)) { (void)align, give(memory); }
DELETE(delete_sized_aligned, "_ZdlPvmSt11align_val_t", (void *memory, size_t size, size_t align))
{
    (void)size, (void)align, give(memory);
}
DELETE(delete_array_sized_aligned, "_ZdaPvmSt11align_val_t", (void *memory, size_t size, size_t align))
{
    (void)size, (void)align, give(memory);
}

/* The guard of a local variable that is static: its first byte tells if the variable is made. There is one thread. */
WEAK int __cxa_guard_acquire(uint8_t *guard)
{
    return !*guard;
}

WEAK void __cxa_guard_release(uint8_t *guard)
{
    *guard = 1;
}

WEAK _Noreturn void __cxa_pure_virtual(void)
{
    FAIL("a pure virtual function was called\n");
}

WEAK _Noreturn void __cxa_deleted_virtual(void)
{
    FAIL("a deleted virtual function was called\n");
}
