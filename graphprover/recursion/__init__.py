"""Compressed proofs: the computation of a verifier as tables that can be proved, and the proofs about it.

docs/recursion.md explains all parts. A verifier imports compressed.py, key.py, head/, program/ and tables/, which need
no compiler.

- compressed.py: the verification of a compressed proof; key.py and commitments.py: the recursion key.
- layer.py: the statement that a proof is accepted, with its traces; layer_tables.py: its tables.
- tables/: a class for each table. compress.py has the compression function of BLAKE3, xor.py the xors of bytes that it
  looks up, row.py opened rows with their weighted sums, node.py the nodes of Merkle trees, core.py, memory.py and
  program.py a processor, stated.py the facts of a statement, buses.py all messages, places.py the order of words in
  `compress`.
- program/: programs for the processor: how they are written and run, and the verifier's.
- head/: everything of a statement that the verifier's program has as data.
- openings.py: the rows and nodes of a proof, as the tables take them.
- witness/: their hashes and their memory, on the host.
- kernels/: the traces of `compress`, `xor` and `row`, on a CPU and on a GPU.
- traces/: the trace of `node`, and the trace tasks of all tables.
- statement.py: the statement that caps bind opened rows, whose weighted sums are these.
"""
