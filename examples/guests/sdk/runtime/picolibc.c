/* What picolibc asks of the machine it runs on: standard input is the guest's input, standard output appends to the public
   output, standard error is the debug channel, and memory for malloc() comes from sbrk(). There are no files and no clock: a
   guest that asks for one does not link. */
#include "zkvm.h"

#include <stdio.h>

static int put(char byte, FILE *file)
{
    (void)file;
    write_output((const uint8_t *)&byte, 1);
    return (unsigned char)byte;
}

/* A call of the debug channel takes the host a while: lines are put together. */
static uint8_t line[256];
static size_t used;

static int show_line(FILE *file)
{
    (void)file;
    if (used)
        zkvm_print(line, used);
    used = 0;
    return 0;
}

static int put_debug(char byte, FILE *file)
{
    line[used++] = (uint8_t)byte;
    if (byte == '\n' || used == sizeof line)
        show_line(file);
    return (unsigned char)byte;
}

static __attribute__((destructor)) void at_end(void)
{
    show_line(NULL);
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
static FILE debug_stream = FDEV_SETUP_STREAM(put_debug, NULL, show_line, _FDEV_SETUP_WRITE);

FILE *const stdin = &input_stream;
FILE *const stdout = &output_stream;
FILE *const stderr = &debug_stream;
