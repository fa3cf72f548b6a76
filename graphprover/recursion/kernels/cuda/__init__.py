"""The recursion machine's kernels on an NVIDIA GPU; see ``graphprover.recursion.kernels``."""
