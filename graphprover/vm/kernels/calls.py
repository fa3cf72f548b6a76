"""The host calls of a table as the kernels of their traces take them: formats of cpu/absorb.py, cpu/fp2.py,
cpu/modular.py, cpu/point.py, cpu/sha256.py and cuda/calls.cu.

The i-th call is the cycle ``order[i]`` of a cycle range. Its columns are in ``rows`` (tape.py), its accesses in
``old``, ``time`` and ``new``, its instruction's address in ``pc`` by its entry of the program table.
"""

from dataclasses import dataclass
from typing import NamedTuple

from graphprover.air.columns import Columns
from graphprover.device import Array
from graphprover.vm.program.curves import ALL_CURVES
from graphprover.vm.program.fields import ALL_FIELDS
from graphprover.vm.tables.absorb import Absorb
from graphprover.vm.tables.call import CallTable
from graphprover.vm.tables.fp2 import Fp2
from graphprover.vm.tables.integers import NUMBER, WIDE
from graphprover.vm.tables.keccak_planes import PLANES
from graphprover.vm.tables.modular import Modular
from graphprover.vm.tables.point import Point
from graphprover.vm.tables.sha256 import Sha256


class ModularColumns(NamedTuple):
    """The first columns of the names of a table `Modular`."""

    on: int
    first: int
    clk: int
    third: int
    full: int
    pointer: int
    register_t: int
    a7_pc: int
    u: int
    v: int
    s: int
    word_t: int
    old_v: int
    old_s: int
    low: int
    high: int


class Fp2Columns(NamedTuple):
    """The first columns of the names of a table `Fp2`."""

    on: int
    first: int
    clk: int
    pointer: int
    register_t: int
    a7_pc: int
    sign: int
    x: int
    y: int
    r: int
    q: int
    low: int
    high: int
    flag: int
    part: int
    word_t: int
    c: int
    old: int


@dataclass(frozen=True, eq=False)
class Calls:
    """Host calls of one chip: contiguous arrays of one device."""

    order: Array  # uint32 (calls,)
    rows: Array  # uint64 (cycles, ROW_WORDS)
    old: Array  # uint64 (accesses,), see ``tape.Tape``
    time: Array  # uint64 (accesses,), see ``tape.Tape``
    new: Array  # uint64 (accesses,), see ``tape.Cycles``
    pc: Array  # uint64 (entries,)
    first_clock: int  # of cycle 0

    def require(self, main: Array, width: int, rows: int) -> None:
        """Raise ValueError for calls of ``rows`` rows each that do not fit the trace, and for other arrays."""
        if main.shape[0] != width or main.dtype != "uint64" or not main.flags.c_contiguous:
            raise ValueError(f"a trace of {width} columns is contiguous uint64, not {main.dtype} {main.shape}")
        if rows * len(self.order) > main.shape[1]:
            raise ValueError(f"{len(self.order)} calls of {rows} rows do not fit {main.shape[1]} rows")
        for name in ("order", "rows", "old", "time", "new", "pc"):
            array = getattr(self, name)
            if array.dtype != ("uint32" if name == "order" else "uint64") or not array.flags.c_contiguous:
                raise ValueError(f"{name} is {array.dtype} {array.shape}")


def columns_of(table: CallTable) -> dict[str, int]:
    """Return the first column of each name of a table."""
    return {name: family.offset for name, family in Columns(table.cells).families.items()}


def width_of(table: CallTable) -> int:
    """Return the number of a table's columns."""
    return Columns(table.cells).width


MODULAR_TABLES = {size: Modular(size=size) for size in (NUMBER, WIDE)}
FP2_TABLES = {field: Fp2(field=field) for field in ALL_FIELDS}
POINT, ABSORB, SHA256 = (columns_of(table()) for table in (Point, Absorb, Sha256))
POINT_WIDTH, ABSORB_WIDTH, SHA256_WIDTH = (width_of(table()) for table in (Point, Absorb, Sha256))
MODULAR_ROWS, FP2_ROWS, POINT_ROWS, ABSORB_ROWS = 2, 2, 3, PLANES  # of a call

LIMBS = NUMBER.limbs  # of a coordinate of a point
PRIME_LIMBS = [NUMBER.limbs_of(curve.p) for curve in ALL_CURVES]
PRIME_INVERSES = [pow(curve.p, -1, 1 << 32) for curve in ALL_CURVES]  # of the primes, mod 2^32
