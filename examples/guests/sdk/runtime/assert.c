/* What assert() calls. */
#include "runtime.h"
#include "zkvm.h"

static void put(const char *text)
{
    zkvm_print((const uint8_t *)text, strlen(text));
}

_Noreturn void __assert_fail(const char *assertion, const char *file, unsigned int line, const char *function)
{
    char digits[11]; /* of the line */
    char *first = digits + sizeof digits - 1;

    *first = 0;
    do
        *--first = (char)('0' + line % 10);
    while (line /= 10);
    put(file);
    put(":");
    put(first);
    put(": ");
    put(function);
    put(": assertion \"");
    put(assertion);
    put("\" failed\n");
    abort();
}
