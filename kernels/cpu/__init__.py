"""Kernels for a CPU: Python that Numba compiles, with explicit vectors where it is hot.

Read ``simd`` first, the vectors that all others are written with, then ``field``, arithmetic on them, then any
operation; ``ntt`` and ``keccak`` are where the time goes. A kernel works on a range ``(first, last)`` of rows or
columns, holds no lock and starts no thread; ``pieces`` shares the ranges out over a device's threads. The functions
that a device calls are public and have the same names in the GPU's twin.
"""
