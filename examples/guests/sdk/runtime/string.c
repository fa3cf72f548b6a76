/* What libraries and compilers need of <string.h> without a C library. What does not stand in zkvm.h gives way to a guest's
   own. */
#include <stddef.h>

#define WEAK __attribute__((weak))

int memcmp(const void *left, const void *right, size_t size);
void *memcpy(void *restrict to, const void *restrict from, size_t size);
size_t strlen(const char *text);

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

#define FUNCTION(result, name, parameters) \
    WEAK result name parameters;           \
    result name parameters

FUNCTION(int, bcmp, (const void *left, const void *right, size_t size))
{
    return memcmp(left, right, size);
}

FUNCTION(void *, memrchr, (const void *memory, int byte, size_t size))
{
    for (const unsigned char *at = memory; size--;)
        if (at[size] == (unsigned char)byte)
            return (void *)(at + size);
    return 0;
}

FUNCTION(void *, mempcpy, (void *restrict to, const void *restrict from, size_t size))
{
    return (char *)memcpy(to, from, size) + size;
}

FUNCTION(size_t, strnlen, (const char *text, size_t size))
{
    const char *end = memchr(text, 0, size);

    return end ? (size_t)(end - text) : size;
}

FUNCTION(char *, strchr, (const char *text, int byte))
{
    for (; *text != (char)byte; text++)
        if (!*text)
            return 0;
    return (char *)text;
}

FUNCTION(char *, strrchr, (const char *text, int byte))
{
    return memrchr(text, byte, strlen(text) + 1);
}

FUNCTION(char *, stpcpy, (char *restrict to, const char *restrict from))
{
    size_t size = strlen(from);

    return (char *)memcpy(to, from, size + 1) + size;
}

FUNCTION(char *, strcpy, (char *restrict to, const char *restrict from))
{
    return memcpy(to, from, strlen(from) + 1);
}

FUNCTION(char *, strncpy, (char *restrict to, const char *restrict from, size_t size))
{
    size_t used = strnlen(from, size);

    memcpy(to, from, used);
    for (size_t at = used; at < size; at++)
        to[at] = 0;
    return to;
}

FUNCTION(char *, strcat, (char *restrict to, const char *restrict from))
{
    strcpy(to + strlen(to), from);
    return to;
}

FUNCTION(char *, strncat, (char *restrict to, const char *restrict from, size_t size))
{
    char *end = to + strlen(to);
    size_t used = strnlen(from, size);

    memcpy(end, from, used);
    end[used] = 0;
    return to;
}

FUNCTION(char *, strstr, (const char *text, const char *part))
{
    size_t size = strlen(part);

    for (; *text || !size; text++)
        if (!strncmp(text, part, size))
            return (char *)text;
    return 0;
}

FUNCTION(size_t, strcspn, (const char *text, const char *bytes))
{
    size_t at = 0;

    while (text[at] && !strchr(bytes, text[at]))
        at++;
    return at;
}

FUNCTION(size_t, strspn, (const char *text, const char *bytes))
{
    size_t at = 0;

    while (text[at] && strchr(bytes, text[at]))
        at++;
    return at;
}

FUNCTION(char *, strpbrk, (const char *text, const char *bytes))
{
    text += strcspn(text, bytes);
    return *text ? (char *)text : 0;
}
