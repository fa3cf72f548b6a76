"""Kernels for an NVIDIA GPU: CUDA C++ (``.cu``, and ``.cuh`` for what kernels share), and Python that launches it.

Read ``field.cuh`` and ``ext.cuh`` first, the arithmetic; then an operation's pair of files, such as ``merkle.cu`` and
``merkle.py``. Below all of them are ``sources`` (the text that a compiler gets), ``launch`` (text to kernels, and their
parameters), ``batch`` (one launch for many tables) and ``memory`` (the pool, and pinned buffers). A table's own kernels
are written by ``generate`` from its bytecode; ``bytecode`` runs a quotient by that kernel, or interprets one that is
too large for it. ``faults`` and ``warm`` are for tests and for compiling ahead.

Everything is enqueued on the device's one stream: arrays that come back are not computed yet.
"""
