"""Kernels for a CPU: Python compiled by Numba, with explicit vectors in hot loops.

Start with ``simd``, the vectors of all other kernels, then ``field``, arithmetic on them, then any operation; ``ntt``
and the hashes (``keccak``, ``blake3``) take most of the time. A kernel works on a range ``(first, last)`` of rows or
columns, holds no lock and starts no thread; ``parallel`` divides the ranges among a device's threads. A device calls
the public functions, which have the same names as on a GPU.
"""
