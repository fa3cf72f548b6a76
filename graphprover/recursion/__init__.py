"""Tables for proofs about proofs: the computation of a verifier, as tables that can be proved.

There is no recursion yet. docs/recursion.md lists the tables that exist and the missing parts.

- tables/: a class for each table. compress.py has the compression function of BLAKE3, xor.py the xors of bytes that it
  looks up, node.py the nodes of Merkle trees, buses.py all messages, places.py the order of words in `compress`.
- kernels/: the traces of `compress` and `xor`, on a CPU and on a GPU.
- traces/: the trace of `node`, by functions of arrays of any device.
- openings.py: the rows and nodes of a proof, as the tables take them.
"""
