/* What picolibc asks of the machine it runs on: standard input is the guest's input, standard output and standard error
   append to the public output, and memory for malloc() comes from allocate(). Nothing is buffered. There are no files and
   no clock: a guest that asks for one does not link. The library's exit() ends in _exit(), which is in start.S. */
#include "zkvm.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int put(char byte, FILE *file)
{
    (void)file;
    write_output((const uint8_t *)&byte, 1);
    return (unsigned char)byte;
}

static int get(FILE *file)
{
    static size_t next;
    const uint8_t *input;
    size_t size;

    (void)file;
    read_input(&input, &size);
    return next < size ? input[next++] : _FDEV_EOF;
}

static FILE input_stream = FDEV_SETUP_STREAM(NULL, get, NULL, _FDEV_SETUP_READ);
static FILE output_stream = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);

FILE *const stdin = &input_stream;
FILE *const stdout = &output_stream;
FILE *const stderr = &output_stream;

/* More memory, which continues what was given before, to the byte: malloc() counts on it. Only where the guest allocates in
   between does it begin anew. Nothing is taken back, and at the end of it the guest exits with ZKVM_OUT_OF_MEMORY. */
void *sbrk(ptrdiff_t size)
{
    static uint8_t *given, *end;

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

/* abort(), a failed assert() and raise() end the guest with the exit code that a shell would show. */
pid_t getpid(void)
{
    return 1;
}

int kill(pid_t process, int signal)
{
    (void)process;
    _exit(128 + signal);
}
