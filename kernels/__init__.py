"""The prover's arithmetic: the same operations on a CPU (``cpu``) and on an NVIDIA GPU (``cuda``).

Both have the same modules with the same functions: ``ntt`` (low-degree extensions), ``keccak``, ``blake3`` and
``merkle`` (rows to a tree), ``logup`` (lookup columns), ``quotient`` with ``bytecode`` (constraints), ``opening``
(values at a point), ``deep`` (the batched quotient), ``fri`` (folds), ``gather`` (queried rows), ``grind`` (proofs of
work), ``inverse``.
Shared by both: ``operands``, the inputs of an operation for each table, and ``domain``, the number theory of evaluation
domains.

Inputs and outputs are arrays of a device, uint64 (columns, rows) of words below p. Kernels know neither tables' rules
nor the transcript: they get constraints as bytecode (``graphprover.air.bytecode``). Each operation has a test against
tests/naive.py, and each CUDA kernel one against its CPU twin.
"""
