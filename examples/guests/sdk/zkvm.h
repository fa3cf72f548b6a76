/* What a guest may use: input and output as in the zkVM standards v0, exit, and accelerators. */
#ifndef ZKVM_H
#define ZKVM_H

#include <stddef.h>
#include <stdint.h>
#ifdef LIBC
#include <stdlib.h>
#include <string.h>
#endif

/* The input, in place: aligned to 8 bytes, the same at every call.

   Unless the proof states it (graphprover prove --commit-input), whoever proves is free to choose it: any size up to
   2^30 - 8, any bytes, and any bytes behind its end as well. Put out its hash if it matters which input it was. "Private"
   means that the proof does not state it, not that it hides it: there is no zero-knowledge. */
void read_input(const uint8_t **buf, size_t *size);

/* Append to the public output. */
void write_output(const uint8_t *out, size_t size);

#ifndef LIBC
/* End here; 0 means success. Returning from main does the same. */
_Noreturn void exit(int code);
#endif

/* `size` bytes that nobody else has, aligned to 16; never given back. Exits with ZKVM_OUT_OF_MEMORY at the end. */
void *allocate(size_t size);
#define ZKVM_OUT_OF_MEMORY 254

typedef enum { ZKVM_EOK = 0, ZKVM_EFAIL = -1 } zkvm_status;

typedef struct {
    _Alignas(8) uint8_t data[32];
} zkvm_bytes_32;
typedef zkvm_bytes_32 zkvm_keccak256_hash;

/* Keccak-256 as in Ethereum, on the host's permutation. */
zkvm_status zkvm_keccak256(const uint8_t *data, size_t len, zkvm_keccak256_hash *output);

/* Keccak-f[1600] in place, by the host. */
void keccak_f(uint64_t state[25]);

/* Words anywhere in memory: misaligned ones are no trouble for this machine. */
typedef uint64_t __attribute__((aligned(1), may_alias)) word64;
typedef uint32_t __attribute__((aligned(1), may_alias)) word32;

#ifndef LIBC
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *left, const void *right, size_t size);
size_t strlen(const char *text);

/* Compilers know what these do, and that small ones need no call. */
#define memcpy(to, from, size) __builtin_memcpy(to, from, size)
#define memmove(to, from, size) __builtin_memmove(to, from, size)
#define memset(to, byte, size) __builtin_memset(to, byte, size)
#define memcmp(left, right, size) __builtin_memcmp(left, right, size)
#endif

#endif
