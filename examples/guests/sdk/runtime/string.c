/* What libraries without a C library need of <string.h>. */
#include <stddef.h>

void *memchr(const void *memory, int byte, size_t size);
int strcmp(const char *left, const char *right);
int strncmp(const char *left, const char *right, size_t size);

void *memchr(const void *memory, int byte, size_t size)
{
    for (const unsigned char *at = memory, *end = at + size; at != end; at++)
        if (*at == (unsigned char)byte)
            return (void *)at;
    return 0;
}

int strncmp(const char *left, const char *right, size_t size)
{
    for (; size && *left && *left == *right; size--)
        left++, right++;
    return size ? (unsigned char)*left - (unsigned char)*right : 0;
}

int strcmp(const char *left, const char *right)
{
    return strncmp(left, right, (size_t)-1);
}
