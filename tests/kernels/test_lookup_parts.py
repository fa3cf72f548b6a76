"""The parts of a lookup program compute what the whole program does."""

import numpy as np
import pytest
from hypothesis import given, settings

from graphprover.air.bytecode import Bytecode, lookup_bytecode
from graphprover.air.description import AirDescription
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cpu import bytecode as cpu
from graphprover.kernels.cpu import domain
from graphprover.kernels.cuda.lookup_parts import COLUMNS, Part, parts_of, planes
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds
from graphprover.vm.tables.chips import CHIPS
from tests.air.strategies import descriptions
from tests.kernels.words import random_words

LOG_ROWS = 4


def evaluated(program: Bytecode, words: np.ndarray, matrices: tuple[np.ndarray, ...]) -> np.ndarray:
    rows = 1 << LOG_ROWS
    target = np.empty((program.outputs, rows), dtype=np.uint64)
    cpu.evaluate(program, words, (*matrices, None, domain.indicators(rows)), (target,), LOG_ROWS, False, 0, rows)
    return target


def check(air: AirDescription) -> list[Part]:
    """Compare the outputs of all parts with the whole program's; return the parts."""
    whole, groups = lookup_bytecode(air), tuple(len(lookup.tuples) for lookup in air.lookups)
    rows, tuples = 1 << LOG_ROWS, sum(groups)
    matrices = random_words(1, air.main_width, rows), random_words(2, air.preprocessed_width, rows)
    public = random_words(3, air.num_public_values).tolist()
    prefixes = [tuple(prefix) for prefix in random_words(4, len(groups), 3).tolist()]
    words = constants(whole, public, prefixes, (5, 6, 7))
    expected = evaluated(whole, words, matrices)
    parts, t = parts_of(whole, groups), 0
    for part in parts:
        assert part.groups == groups[part.first : part.first + len(part.groups)] and len(part.groups) <= COLUMNS
        own = evaluated(part.program, words, matrices)
        end = t + sum(part.groups)
        np.testing.assert_array_equal(own[: 3 * (end - t)], expected[3 * t : 3 * end])
        np.testing.assert_array_equal(own[3 * (end - t) :], expected[3 * tuples + t : 3 * tuples + end])
        t = end
    assert t == tuples
    return parts


@settings(max_examples=60, deadline=None)
@given(descriptions)
def test_parts_of_any_table(air: AirDescription) -> None:
    check(air)


@pytest.mark.parametrize("name", ["add", "lb", "divw", "sh_crossing"])
def test_parts_of_the_machine_s_tables(name: str) -> None:
    """They fit a block of 128 threads four times a multiprocessor, and few values are computed twice."""
    air = CHIPS[name](1).describe()
    parts, whole = check(air), lookup_bytecode(air)
    assert planes(parts) <= 48
    assert sum(len(part.program.instructions) for part in parts) <= 1.5 * len(whole.instructions)


def test_parts_of_the_largest_table_fit() -> None:
    assert 8 * 128 * planes(check(KeccakRounds().describe())) <= 128 << 10


def test_a_table_without_lookups_has_no_parts() -> None:
    program = lookup_bytecode(CHIPS["add"](1).describe())
    assert parts_of(program, ()) == [] and planes([]) == 0
