"""The machine's kernels on a CPU, compiled by Numba; see ``graphprover.vm.kernels``."""

from graphprover.vm.kernels.cpu.bumps import fill_bumps
from graphprover.vm.kernels.cpu.counting import count_entries, count_keys
from graphprover.vm.kernels.cpu.lanes import fill_lanes
from graphprover.vm.kernels.cpu.tape import census, replay

__all__ = [
    "census",
    "count_entries",
    "count_keys",
    "fill_bumps",
    "fill_lanes",
    "replay",
]
