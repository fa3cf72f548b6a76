/* All that a guest may use: input and output, accelerators, and what only this machine has. */
#ifndef ZKVM_H
#define ZKVM_H

#include "zkvm_accelerators.h"
#include "zkvm_io.h"

#include <stddef.h>
#include <stdint.h>

/* The C library's headers where there is one. Without one, the functions that libzkvm.a has itself. */
#ifdef __has_include
#if __has_include(<stdlib.h>) && __has_include(<string.h>)
#define ZKVM_HAS_C_LIBRARY
#endif
#endif

#ifdef ZKVM_HAS_C_LIBRARY
#include <stdlib.h>
#include <string.h>
#endif

#ifdef __cplusplus
extern "C" {
#define ZKVM_NORETURN [[noreturn]]
#define ZKVM_RESTRICT
#else
#define ZKVM_NORETURN _Noreturn
#define ZKVM_RESTRICT restrict
#endif

#ifndef ZKVM_HAS_C_LIBRARY
void *memcpy(void *ZKVM_RESTRICT to, const void *ZKVM_RESTRICT from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *left, const void *right, size_t size);
size_t strlen(const char *text);

/* End here; 0 means success. Returning from main does the same. Both run what atexit() was given, and destructors. */
ZKVM_NORETURN void exit(int code);
/* End here with ZKVM_ABORTED, and run nothing else. */
ZKVM_NORETURN void abort(void);
int atexit(void (*function)(void));
#endif

/* Exit codes of the kit. */
#define ZKVM_ABORTED 134       /* abort(), a failed assert() */
#define ZKVM_OUT_OF_MEMORY 254 /* allocate() */

/* `size` bytes of the heap that nobody else has, aligned to 16; never given back. Exits with ZKVM_OUT_OF_MEMORY at the
   end of the heap. */
void *allocate(size_t size);

/* Write to the standard error of the machine that runs the guest. It is no part of the output, and of no proof. */
void zkvm_print(const uint8_t *text, size_t size);

/* A random number. Whoever proves chooses it, as the private input: a proof says nothing about it. With a stated input
   (graphprover prove --commit-input) every run has the same ones. */
uint64_t zkvm_random_u64(void);

/* Keccak-f[1600] in place, by the machine. */
void keccak_f(uint64_t state[25]);
/* Xor a block into the first words of the state, then keccak_f, by the machine. Both may overlap: the block is as it was
   before the call. */
void keccak_absorb(uint64_t state[25], const uint64_t block[17]);

/* The compression of SHA-256, by the machine: the state takes in a block. The state is eight numbers of 32 bits, the
   lower half of a word before the upper one; a block is 64 bytes in the order of the message. Both may overlap. */
void sha256_compress(uint64_t state[4], const uint64_t block[8]);

/* r = (a b + c) mod m, by the machine. Numbers have 256 bits, the lowest word first. An m of 0 stands for 2^256. The
   quotient must be below 2^256, otherwise it is a fault; it is if a or b is below m, or one of them 1 and m above 1.
   Numbers may overlap, except m and c. */
void multiply_add_256(uint64_t r[4], const uint64_t a[4], const uint64_t b[4], const uint64_t m[4], const uint64_t c[4]);
/* The same with the quotient q: a b + c = q m + r. Words 0 to 3 of the result are r, words 4 to 7 are q. */
void multiply_divide_256(uint64_t r_and_q[8], const uint64_t a[4], const uint64_t b[4], const uint64_t m[4],
                         const uint64_t c[4]);

/* The same for numbers of 384 bits, six words each. */
void multiply_add_384(uint64_t r[6], const uint64_t a[6], const uint64_t b[6], const uint64_t m[6], const uint64_t c[6]);
void multiply_divide_384(uint64_t r_and_q[12], const uint64_t a[6], const uint64_t b[6], const uint64_t m[6],
                         const uint64_t c[6]);

/* r = a b + c in Fp[u] / (u^2 + 1), for the field Fp of a curve, by the machine. An element is its real part, then its
   factor of u. These are any numbers in a, b and c, and below p in r. Elements may overlap. */
void multiply_add_fp2_bn254(uint64_t r[8], const uint64_t a[8], const uint64_t b[8], const uint64_t c[8]);
void multiply_add_fp2_bls12_381(uint64_t r[12], const uint64_t a[12], const uint64_t b[12], const uint64_t c[12]);

/* Words anywhere in memory: the machine takes misaligned ones. */
typedef uint64_t __attribute__((aligned(1), may_alias)) word64;
typedef uint32_t __attribute__((aligned(1), may_alias)) word32;

#ifdef __cplusplus
}
#endif

#endif
