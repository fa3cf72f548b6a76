"""A sparse range table answers for its numbers as the full table does, and its constraints allow no other rows."""

from itertools import pairwise

import numpy as np

from graphprover.air import AirDescription
from graphprover.air.evaluate import evaluate
from graphprover.device import CpuDevice
from graphprover.vm.statement.shape import MIN_ROWS, SPARSE_NUMBERS, SPARSE_WORDS
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.tables.buses import Tag, tag_of
from graphprover.vm.tables.fixed import Numbers, SparseRange
from graphprover.vm.traces.counts import FIRSTS, SIZES, sparse_range_trace_tasks
from tests.vm.tables.checks import member

AIR = SparseRange().describe()
BITS = [f"{byte}[{i}]" for byte in "ab" for i in range(8)]


def tables_of(numbers: np.ndarray, words: int) -> list[np.ndarray]:
    """Return the traces of these numbers beside ``words`` words; each tag asks for each number once."""
    counts = np.zeros(sum(SIZES.values()), dtype=np.uint64)
    for tag in (Tag.HALF, Tag.SIGN, Tag.BYTES, Tag.AND):
        counts[FIRSTS[tag] + numbers] = 1
    trace_tasks = sparse_range_trace_tasks(counts, words)
    assert trace_tasks is not None
    sparse = [trace_task for number, trace_task in trace_tasks if number == TableNumber.SPARSE_RANGE]
    return [np.asarray(trace_task.function(CpuDevice(1), **trace_task.fixed)) for trace_task in sparse]


def rows_of(numbers: np.ndarray) -> np.ndarray:
    """Return the only trace of these numbers."""
    (trace,) = tables_of(numbers, 0)
    return trace


def messages(air: AirDescription, main: np.ndarray, preprocessed: np.ndarray | None = None) -> list[np.ndarray]:
    """Return the messages that the rows provide, one array for each: uint64 (elements, rows)."""
    fields = [interaction.tuples[0].fields for interaction in air.globals]
    blocks = evaluate(air, main, preprocessed, [], [node for own in fields for node in own])
    values = np.concatenate([np.array(block) for _, block in blocks], axis=1)
    ends = np.cumsum([0, *map(len, fields)])
    return [values[start:end] for start, end in pairwise(ends.tolist())]


def violated(row: np.ndarray) -> list[int]:
    """Return the constraints that a row does not satisfy."""
    ((_, values),) = evaluate(AIR, row, None, [], list(AIR.constraints))
    return [i for i, value in enumerate(values) if value[0]]


def wrong(row: np.ndarray) -> bool:
    """Return whether it answers a lookup that should have no answer."""
    return not all(member(tag_of(fields[:, 0].tolist()), fields).all() for fields in messages(AIR, row))


def test_they_provide_what_all_numbers_do() -> None:
    all_numbers = Numbers()
    preprocessed, nothing = all_numbers.preprocessed_trace(), np.zeros((4, 1 << 16), dtype=np.uint64)
    expected = messages(all_numbers.describe(), nothing, preprocessed)
    for half in np.split(np.arange(1 << 16), 2):
        main = rows_of(half)
        assert not any(
            value.any() for _, block in evaluate(AIR, main, None, [], list(AIR.constraints)) for value in block
        )
        for found, whole in zip(messages(AIR, main), expected, strict=True):
            np.testing.assert_array_equal(found, whole[:, half])


def test_every_constraint_is_needed() -> None:
    """Violate each constraint alone by a row that answers a lookup wrongly."""
    found = set()
    for i, name in enumerate([*BITS, "both"]):
        row = np.zeros((AIR.main_width, 1), dtype=np.uint64)
        if name == "both":
            row[i] = 1
        else:  # two in place of a bit, beside the other byte's
            row[i], row[(i + 8) % 16], row[16] = 2, 1, 2 << i % 8
        assert len(violated(row)) == 1 and wrong(row)
        found |= {*violated(row)}
    assert found == {*range(len(AIR.constraints))}


def test_a_bit_too_much_of_nothing() -> None:
    """Notice any changed cell of a row of zeros, the number 0, unless it is a count or gives another number."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        row = np.zeros((AIR.main_width, 1), dtype=np.uint64)
        row[:17, 0] = rng.integers(0, 3, 17) * rng.integers(0, 2, 17)
        assert violated(row) or not wrong(row)


def test_so_many_and_no_more() -> None:
    for count, height in ((1, MIN_ROWS), (65, 128), (SPARSE_NUMBERS, SPARSE_NUMBERS)):
        assert rows_of(np.arange(count)).shape == (AIR.main_width, height)
    counts = np.zeros(sum(SIZES.values()), dtype=np.uint64)
    counts[FIRSTS[Tag.AND] : FIRSTS[Tag.AND] + SPARSE_NUMBERS + 1] = 1
    assert sparse_range_trace_tasks(counts, 0) is None


def test_they_are_split_beside_many_words() -> None:
    """Split only if a second table has at most half the rows, and keep every number exactly once."""
    for count, words, heights in (
        ((3 << 13) - 1, SPARSE_WORDS, [1 << 14, 1 << 13]),
        ((3 << 13) - 1, SPARSE_WORDS - 1, [1 << 15]),
        (3 << 13, SPARSE_WORDS, [1 << 15]),
        ((1 << 14) + 1, SPARSE_WORDS, [1 << 14, MIN_ROWS]),
        (1 << 14, SPARSE_WORDS, [1 << 14]),
    ):
        numbers = np.arange(0, 2 * count, 2)
        tables = tables_of(numbers, words)
        assert [table.shape[1] for table in tables] == heights
        found = [sum(table[8 + i] << i | table[i] << 8 + i for i in range(8)) for table in tables]
        asked = [own[table[-1] > 0] for own, table in zip(found, tables, strict=True)]
        np.testing.assert_array_equal(np.concatenate(asked), numbers)
