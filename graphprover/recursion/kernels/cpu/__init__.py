"""The recursion machine's kernels on a CPU, compiled by Numba; see ``graphprover.recursion.kernels``."""

from graphprover.recursion.kernels.cpu.compress import count_xors, fill_compress

__all__ = ["count_xors", "fill_compress"]
