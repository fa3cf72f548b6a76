"""Which family proves which cycle: what must be known before any table is made, since it decides their heights."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphprover.compiled import njit
from graphprover.vm import shape
from graphprover.vm.families import FAMILIES, IN_PLACE
from graphprover.vm.isa import disassemble
from graphprover.vm.record import Record
from graphprover.vm.statement import Machine
from graphprover.vm.traces.rows import host_rows
from graphprover.vm.traces.run import Run


class Unprovable(ValueError):
    """An instruction that executed, but that no family can prove."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The cycles of a run, or of a window and counted from its first, family by family.

    In each of them by kind of instruction (by ways it can go), then by time.
    """

    order: np.ndarray  # uint32 (cycles,)
    entries: np.ndarray  # uint32 (cycles,), the row of the program table that each of them meets
    shares: dict[str, tuple[int, int]]  # where each family that proves any begins and ends in them


def partition(machine: Machine, record: Record, run: Run) -> Partition:
    """Every cycle to the cheapest family that can prove it; ``run`` is the record's on the host. Raises Unprovable."""
    found: dict[str, list[tuple[np.ndarray, int]]] = {}
    for family, cycles, outcome in _provable(machine, record, run):
        found.setdefault(family, []).append((cycles, outcome))
    counts = [len(outcomes) for outcomes in machine.outcomes]
    first = np.concatenate([[0], np.cumsum(counts)])  # row of the first outcome
    order = np.empty(len(record.index), dtype=np.uint32)
    entries = np.empty_like(order)
    shares, end = {}, 0
    for family, groups in found.items():
        start = end
        for cycles, outcome in groups:
            begin, end = end, end + len(cycles)
            order[begin:end] = cycles
            _rows_met(record.index, first + outcome, cycles, entries[begin:end])
        if start < end:
            shares[family] = start, end
    return Partition(order, entries, shares)


def _provable(machine: Machine, record: Record, run: Run) -> Iterator[tuple[str, np.ndarray, int]]:
    """Families, cycles that they prove, and the number of the outcome that this is of those instructions."""
    kinds: dict[tuple[str, ...], int] = {}
    families_of = (tuple(outcome.family for outcome in outcomes) for outcomes in machine.outcomes)
    kind_of = np.array([kinds.setdefault(families, len(kinds)) for families in families_of], np.uint16)
    order, bounds = _by_kind(record.index, kind_of, len(kinds))
    many: dict[str, int] = {}
    for families, kind in kinds.items():
        for family in families:
            many[family] = many.get(family, 0) + int(bounds[kind + 1] - bounds[kind])
    for families, kind in kinds.items():
        cycles = order[bounds[kind] : bounds[kind + 1]]
        for outcome, family in enumerate(families):
            if not len(cycles):
                break
            if family.endswith(IN_PLACE) and many[family] < shape.MANY:
                continue  # not worth a table of its own
            executed = host_rows(run, cycles, run.entries)  # what fits does not depend on entries
            fits = np.broadcast_to(FAMILIES[family](1).fits(executed), cycles.shape)
            if fits.all():
                yield family, cycles, outcome
                cycles = cycles[:0]
            else:
                yield family, cycles[fits], outcome
                cycles = cycles[~fits]
        if len(cycles):
            at = int(record.index[cycles[0]])
            pc = machine.image.code_base + 4 * at
            line = disassemble(int(machine.image.code[at]), pc)
            raise Unprovable(f"cycle {run.start + cycles[0]}, pc {pc:#x}: {line}: no table proves this")


@njit(cache=True)
def _by_kind(index, kind_of, kinds):
    """The cycles by kind of instruction, and where each kind begins: a counting sort."""
    bounds = np.zeros(kinds + 1, dtype=np.int64)
    for i in range(len(index)):
        bounds[kind_of[index[i]] + 1] += 1
    for kind in range(kinds):
        bounds[kind + 1] += bounds[kind]
    place = bounds[:-1].copy()
    order = np.empty(len(index), dtype=np.uint32)
    for i in range(len(index)):
        kind = kind_of[index[i]]
        order[place[kind]] = i
        place[kind] += 1
    return order, bounds


@njit(cache=True)
def _rows_met(index, row_of, cycles, rows):
    for i in range(len(cycles)):
        rows[i] = row_of[index[cycles[i]]]
