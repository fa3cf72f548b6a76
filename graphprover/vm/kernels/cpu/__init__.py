"""The machine's kernels on a CPU, compiled by Numba; see ``graphprover.vm.kernels``."""

from graphprover.vm.kernels.cpu.counting import count_keys
from graphprover.vm.kernels.cpu.keccak_f import count_evens, fill_keccak_f, permuted
from graphprover.vm.kernels.cpu.lanes import fill_lanes

__all__ = ["count_evens", "count_keys", "fill_keccak_f", "fill_lanes", "permuted"]
