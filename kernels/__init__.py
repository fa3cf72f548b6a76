"""The prover's arithmetic: one name for each operation, on a CPU (``cpu``) and on an NVIDIA GPU (``cuda``).

The twins have the same modules with the same functions: ``ntt`` (low-degree extensions), ``keccak`` and ``merkle``
(rows to a tree), ``logup`` (lookup columns), ``quotient`` with ``bytecode`` (constraints), ``opening`` (values at a
point), ``deep`` (the batched quotient), ``fri`` (folds), ``gather`` (queried rows), ``grind`` (proofs of work),
``inverse``. What both need stands here: ``operands``, what an operation is given of each table, and ``domain``, the
number theory of evaluation domains.

In go arrays of a device, uint64 (columns, rows) of words below p; out come arrays of the same kind. Kernels know
neither tables' rules nor the transcript: constraints reach them as bytecode (``graphprover.air.bytecode``).
Each operation has a test against tests/naive.py, and each CUDA kernel one against its twin.
"""
