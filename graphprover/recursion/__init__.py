"""Compressed proofs: the computation of a verifier as tables that can be proved, and the proofs about it.

docs/recursion.md explains all parts. `graphprover.verifier` imports layer_tables.py, head/ and tables/, which need no
compiler.

- layer.py: the statement that proofs are accepted, with its traces; layer_tables.py: its tables.
- tables/: three tables. blake3.py has the compression function of BLAKE3 and places.py the order of its words.
  machine.py has all other rows and memory: steps.py a processor, segments.py opened rows with their weighted sums,
  nodes.py the nodes of Merkle trees; columns.py the columns that they share, slots.py their messages. fixed.py has the
  xors of bytes, the program and a public digest. buses.py lists all messages.
- program/: programs for the processor: how they are written, and the verifier's.
- head/: everything of a statement that the verifier's program has as data.
- openings.py: the rows and nodes of a proof, as the tables take them.
- witness/: their hashes, the run of the program and its memory, on the host.
- kernels/: calls of `blake3`, steps and segments of opened rows as rows of traces, on a CPU and on a GPU.
- traces/: nodes as rows of traces, and the trace tasks of all tables.
"""
