"""A guest's interface: regions of its memory, and host calls.

Input and output are memory, so that a proof only pays for the words that are touched:

- the input lies at INPUT_BASE from the start: its length in bytes as one word, then the bytes;
- a seed of random numbers is the last word of the input's region, a choice of the host like the input;
- the output lies at OUTPUT_BASE at the end: its length in bytes as one word, then the bytes.

A host call is an ``ecall`` with a number in a7; it leaves all registers unchanged. EXIT ends the execution with the
exit code a0. The others work on memory: vm/accelerators/registry.py lists them.

The instruction DEBUG_PRINT shows a0 .. a0 + a1 to the host: executor/debug.py. It is a hint, so it has no effect on the
machine, and a proof says nothing about it.
"""

import numpy as np

INPUT_BASE = 0x8000_0000  # the program's own memory ends below; the stack may grow down from here
OUTPUT_BASE = 0xC000_0000
RANDOM_SEED = OUTPUT_BASE - 8  # the address of a word that the host chooses
MEMORY_END = 1 << 32
MAX_INPUT_BYTES = OUTPUT_BASE - INPUT_BASE - 8
MAX_OUTPUT_BYTES = MEMORY_END - OUTPUT_BASE - 8

EXIT = 93  # Linux's number
DEBUG_PRINT = 0x7A603013  # sltiu x0, x0, 0x7a6


def region(data: bytes) -> np.ndarray:
    """Return the words of an input or output region with ``data``, as uint64: the length, then the padded bytes."""
    padded = len(data).to_bytes(8, "little") + data + bytes(-len(data) % 8)
    return np.frombuffer(padded, dtype="<u8").astype(np.uint64)
