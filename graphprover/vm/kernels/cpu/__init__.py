"""The machine's kernels on a CPU, compiled by Numba; see ``graphprover.vm.kernels``."""

from graphprover.vm.kernels.cpu.absorb import fill_absorbs
from graphprover.vm.kernels.cpu.bumps import fill_bumps
from graphprover.vm.kernels.cpu.counting import count_entries, count_keys
from graphprover.vm.kernels.cpu.fp2 import fill_fp2
from graphprover.vm.kernels.cpu.keccak_f import (
    count_keccak_digits,
    fill_keccak_classes,
    fill_keccak_limbs,
    fill_keccak_planes,
    fill_keccak_rounds,
    permuted,
)
from graphprover.vm.kernels.cpu.lanes import fill_lanes
from graphprover.vm.kernels.cpu.modular import fill_modular
from graphprover.vm.kernels.cpu.point import fill_points
from graphprover.vm.kernels.cpu.sha256 import fill_sha256
from graphprover.vm.kernels.cpu.tape import census, replay

__all__ = [
    "census",
    "count_entries",
    "count_keccak_digits",
    "count_keys",
    "fill_absorbs",
    "fill_bumps",
    "fill_fp2",
    "fill_keccak_classes",
    "fill_keccak_limbs",
    "fill_keccak_planes",
    "fill_keccak_rounds",
    "fill_lanes",
    "fill_modular",
    "fill_points",
    "fill_sha256",
    "permuted",
    "place_columns",
    "replay",
]
