"""The recursion machine's kernels on a CPU, compiled by Numba; see ``graphprover.recursion.kernels``."""
