/* Input and output of a guest, as in the zkVM standards (eth-act/zkvm-standards, io-interface). */
#ifndef ZKVM_IO_H
#define ZKVM_IO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The private input, in place: aligned to 8 bytes, the same at every call.

   Unless the proof states it (graphprover prove --commit-input), whoever proves is free to choose it: any size up to
   2^30 - 8, any bytes, and any bytes behind its end as well. Put out its hash if it matters which input it was. "Private"
   means that the proof does not state it, not that it hides it: there is no zero-knowledge. */
void read_input(const uint8_t** buf_ptr, size_t* buf_size);

/* Append to the public output. */
void write_output(const uint8_t* output, size_t size);

#ifdef __cplusplus
}
#endif

#endif
