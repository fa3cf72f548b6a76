/* Functions to call at the end of a guest, the last one first: atexit(), and destructors of C++. */
#include "runtime.h"
#include "zkvm.h"

struct block {
    struct block *before;
    size_t used;
    struct {
        void (*function)(void *argument);
        void *argument;
    } entries[32];
};

static struct block first, *last = &first;

void *__dso_handle = 0;

int __cxa_atexit(void (*function)(void *argument), void *argument, void *object)
{
    (void)object;
    if (last->used == sizeof last->entries / sizeof *last->entries) {
        struct block *next = allocate(sizeof *next);
        next->before = last;
        next->used = 0;
        last = next;
    }
    last->entries[last->used].function = function;
    last->entries[last->used++].argument = argument;
    return 0;
}

int atexit(void (*function)(void))
{
    return __cxa_atexit((void (*)(void *))function, 0, 0); /* which ignores the argument */
}

void __zkvm_run_at_exit(void)
{
    for (; last; last = last->before)
        while (last->used) {
            last->used--;
            last->entries[last->used].function(last->entries[last->used].argument);
        }
}
