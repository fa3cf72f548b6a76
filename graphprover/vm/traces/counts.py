"""Counts of lookups in the fixed tables and in the program table: the columns that these tables commit to.

A lookup is a sum of a table's cells with constant weights. So one kernel counts the lookups of any table, from its
trace and a list of such sums (vm/kernels/keys.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphprover.air import AirDescription
from graphprover.air.description import reachable
from graphprover.air.expression import ADD, CONST, MAIN, MUL, NEG, SUB
from graphprover.device import Array, Device
from graphprover.field import P
from graphprover.statement.trace_task import TraceTask
from graphprover.vm.kernels import count_entries, count_keys
from graphprover.vm.kernels.keys import KEY_WORDS, TERM_WORDS, Keys
from graphprover.vm.statement.shape import SPARSE_NUMBERS, sparse_range_packing
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.tables.buses import LOOKUPS, VM, Tag, tag_of
from graphprover.vm.tables.limbs import BYTE, HALF
from graphprover.vm.traces.run import ReplayedRange

SIZES = {tag: 64 if tag in (Tag.LEFT, Tag.RIGHT) else HALF for tag in LOOKUPS}  # rows of each tag's table
FIRSTS = {tag: sum(list(SIZES.values())[:i]) for i, tag in enumerate(LOOKUPS)}  # its first count
TABLES = {
    TableNumber.NUMBERS: (Tag.HALF, Tag.SIGN, Tag.BYTES, Tag.AND),
    TableNumber.POWERS: (Tag.LEFT, Tag.RIGHT),
}

_KEY = {Tag.HALF: -1, Tag.SIGN: -2, Tag.BYTES: -2, Tag.AND: -3, Tag.LEFT: -2, Tag.RIGHT: -2}  # index of the key
_PLACES = np.array([*range(8, 16), *range(8)], dtype=np.uint64)  # positions of the bits of a and b in 256 a + b
_PAIRS = (Tag.BYTES, Tag.AND)  # tags with the key 256 a + b


@dataclass(frozen=True)
class Asking:
    """Rows that look up numbers, as the lookups of a table ask."""

    trace: int  # among all traces
    air: AirDescription
    first: int = 0  # row
    last: int | None = None  # row
    columns: tuple[int, ...] | None = None  # the trace's column for each of the table's columns, if it is another one


def count_trace_task(needs: Sequence[TraceTask], asking: Sequence[Asking]) -> TraceTask:
    """Return the task of all counts in traces, of trace tasks that each give one trace or a list of them."""
    return TraceTask("counts", count, {"asking": asking}, tuple(needs))


def fixed_trace_tasks(total: TraceTask) -> list[tuple[TableNumber, TraceTask]]:
    """Return the fixed tables and their trace tasks, from the task of all counts."""
    return [
        (number, TraceTask(number.name.lower(), fixed_table, {"tags": tags}, (total,), (len(tags), SIZES[tags[0]])))
        for number, tags in TABLES.items()
    ]


def sparse_range_trace_tasks(counts: np.ndarray, words: int) -> list[tuple[TableNumber, TraceTask]] | None:
    """Return a short run's fixed tables and trace tasks, from counts on the host; None for too many different numbers.

    ``words``: committed cells a row of all other tables but the boundary.
    """
    of_numbers, of_powers = (
        np.stack([counts[FIRSTS[tag] : FIRSTS[tag] + SIZES[tag]] for tag in TABLES[number]])
        for number in (TableNumber.NUMBERS, TableNumber.POWERS)
    )
    numbers = np.flatnonzero(of_numbers.any(axis=0))
    if len(numbers) > SPARSE_NUMBERS:
        return None
    asked = np.vstack([numbers.astype(np.uint64), of_numbers[:, numbers]])
    found = []
    for height, first, last in sparse_range_packing(words).shares(len(numbers)):
        shape = len(_PLACES) + 1 + len(of_numbers), height
        fixed = {"asked": asked[:, first:last], "shape": shape}
        found.append((TableNumber.SPARSE_RANGE, TraceTask("sparse_range", sparse_range, fixed, shape=shape)))
    return [*found, (TableNumber.POWERS, TraceTask("powers", loaded, {"trace": of_powers}, shape=of_powers.shape))]


def count(device: Device, *made: Array | list[Array], asking: Sequence[Asking]) -> Array:
    """Return how often traces look up each row of the fixed tables: uint64.

    Args:
        device: The device.
        made: Traces, or lists of them.
        asking: The rows that look up numbers.
    """
    traces = [trace for some in made for trace in (some if isinstance(some, list) else [some])]
    counts = device.arrays.zeros(sum(SIZES.values()), dtype=np.uint64)
    looking = []
    for rows in asking:
        trace, keys = traces[rows.trace], looked_up(rows.air)
        if rows.columns is not None:
            trace, keys = trace[:, rows.first : rows.last], _within(rows.air, rows.columns, len(trace))
        if len(keys.keys):
            looking.append((trace, keys))
    count_keys(device, looking, counts)
    return counts


@lru_cache(maxsize=256)
def _within(air: AirDescription, columns: tuple[int, ...], width: int) -> Keys:
    """Return the keys of a table's lookups in a trace of ``width`` columns, of which ``columns`` are the table's."""
    return looked_up(air).within(columns, width)


def fixed_table(device: Device, counts: Array, *, tags: Sequence[Tag]) -> Array:
    """Return the trace of a fixed table: the counts of its tags, which are neighbours and have as many numbers each."""
    first, size = FIRSTS[tags[0]], SIZES[tags[0]]
    return counts[first : first + len(tags) * size].reshape(len(tags), size)


def sparse_range(device: Device, *, asked: np.ndarray, shape: tuple[int, int]) -> Array:
    """Return the trace of a sparse range table; ``asked``: uint64 (1 + tags, numbers), the numbers and their counts."""
    there, places = device.load(asked), device.load(_PLACES)
    numbers, last = there[0], there.shape[1]
    trace = device.arrays.zeros(shape, dtype=np.uint64)
    trace[: len(_PLACES), :last] = numbers >> places[:, None] & np.uint64(1)
    trace[len(_PLACES), :last] = numbers >> np.uint64(8) & numbers & np.uint64(BYTE - 1)
    trace[len(_PLACES) + 1 :, :last] = there[1:]
    return trace


def loaded(device: Device, *, trace: np.ndarray) -> Array:
    """Return a trace that the host already has."""
    return device.load(trace)


def program_trace(device: Device, run: ReplayedRange, *, rows: int) -> Array:
    """Return the trace of the program table: how often cycles look up each of its rows."""
    counts = device.arrays.zeros((1, rows), dtype=np.uint64)
    count_entries(device, run.cycles.entry, counts[0])
    return counts


@lru_cache(maxsize=256)
def looked_up(air: AirDescription) -> Keys:
    """Return the keys of all lookups of a table in fixed ones."""
    keys: list[tuple[int, int, int, int, int]] = []
    terms: list[tuple[int, int]] = []
    sums: dict[int, dict[int, int]] = {}
    constants = [a if op == CONST else None for op, a, _ in air.nodes]
    for interaction in air.globals:
        (entry,) = interaction.tuples
        tag = tag_of(constants[node] for node in entry.fields) if interaction.bus == VM.name else None
        if tag not in SIZES or not entry.weight:
            continue
        at = _KEY[tag]
        key = _sum_of(air, entry.fields[at], sums)
        if tag in _PAIRS:
            key = _combined(key, BYTE, _sum_of(air, entry.fields[at + 1], sums), 1)
        op, flag, _ = air.nodes[entry.multiplicity]
        if op == CONST:
            flag = air.main_width
        elif op != MAIN:
            raise ValueError(
                f"table {air.name}: the multiplicity of a lookup must be a cell or a constant\n  {interaction.label}"
            )
        terms += [(column, weight) for column, weight in key.items() if column != _ONE]
        keys.append((len(terms), key.get(_ONE, 0), flag, FIRSTS[tag], SIZES[tag]))
    return Keys(
        np.array(keys, dtype=np.uint64).reshape(-1, KEY_WORDS), np.array(terms, dtype=np.uint64).reshape(-1, TERM_WORDS)
    )


_ONE = -1  # stands for a column: the constant of a sum


def _sum_of(air: AirDescription, root: int, known: dict[int, dict[int, int]]) -> dict[int, int]:
    """Return an expression as weights mod p of columns; raise ValueError if it is no such sum."""
    for node in reachable(air.nodes, [root]):
        if node in known:
            continue
        op, a, b = air.nodes[node]
        if op == CONST:
            known[node] = {_ONE: a}
        elif op == MAIN and b == 0:
            known[node] = {a: 1}
        elif op == NEG:
            known[node] = _combined(known[a], -1, {}, 0)
        elif op in (ADD, SUB):
            known[node] = _combined(known[a], 1, known[b], 1 if op == ADD else -1)
        elif op == MUL and not known[b].keys() - {_ONE}:
            known[node] = _combined(known[a], known[b].get(_ONE, 0), {}, 0)
        elif op == MUL and not known[a].keys() - {_ONE}:
            known[node] = _combined(known[b], known[a].get(_ONE, 0), {}, 0)
        else:
            raise ValueError(f"table {air.name} has a lookup that is not a weighted sum of its cells")
    return known[root]


def _combined(x: dict[int, int], by: int, y: dict[int, int], and_by: int) -> dict[int, int]:
    """Return x by + y and_by."""
    weights = {column: (by * x.get(column, 0) + and_by * y.get(column, 0)) % P for column in {**x, **y}}
    return {column: weight for column, weight in weights.items() if weight}
