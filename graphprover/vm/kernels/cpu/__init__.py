"""The machine's kernels on a CPU, compiled by Numba; see ``graphprover.vm.kernels``."""

from graphprover.vm.kernels.cpu.counting import count_keys
from graphprover.vm.kernels.cpu.lanes import fill_lanes

__all__ = ["count_keys", "fill_lanes"]
