"""Tables for proofs about proofs: the computation of a verifier, as tables that can be proved.

There is no recursion yet. docs/recursion.md lists the tables that exist and the missing parts.

- tables/: a class for each table. compress.py has the compression function of BLAKE3, xor.py the xors of bytes that it
  looks up, buses.py the messages between them and with the tables that use digests, places.py the order of words.
- kernels/: the traces of these tables, on a CPU and on a GPU.
"""
