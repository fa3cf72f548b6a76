"""Bytecode against direct evaluation of the graph, on rows of random words."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.air import Air
from graphprover.air.air import TableBuilder
from graphprover.air.bytecode import LINEAR_TERMS, Opcode, lookup_bytecode, quotient_bytecode
from graphprover.field import ZERO, P
from graphprover.kernels.constant_planes import constants
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.tables.chips import CHIPS
from tests import naive
from tests.air.strategies import descriptions, extensions, words

GUEST = Path(__file__).parents[2] / "examples/guests/json.elf"


def draw_row(data, description, selectors):
    """Return one row of random words, and the function by which bytecode reads it."""

    def cells(count):
        return data.draw(st.lists(words, min_size=count, max_size=count))

    columns = len(description.lookups) + 1
    row = naive.Row(
        main=(cells(description.main_width), cells(description.main_width)),
        preprocessed=(cells(description.preprocessed_width), cells(description.preprocessed_width)),
        public=cells(description.num_public_values),
        selectors=tuple(cells(selectors)),
        permutation=tuple(data.draw(st.lists(extensions, min_size=columns, max_size=columns)) for _ in range(2)),
    )
    permutation = tuple([word for value in values for word in value] for values in row.permutation)
    sources = (row.main, row.preprocessed, permutation, (row.selectors, row.selectors))
    return row, lambda matrix, index, offset: sources[matrix][offset][index]


@settings(max_examples=150, deadline=None)
@given(st.data(), descriptions)
def test_quotient_is_the_batched_constraints(data, description):
    row, read = draw_row(data, description, 4)
    prefixes = [data.draw(extensions) for _ in description.lookups]
    tau, alpha, terminal = data.draw(st.tuples(extensions, extensions, extensions))
    bytecode = quotient_bytecode(description)
    filled = constants(bytecode, row.public, prefixes, tau, alpha, terminal)
    assert len(filled) == bytecode.constant_planes
    assert filled.tolist() == naive.constants(bytecode, row.public, prefixes, tau, alpha, terminal)
    assert tuple(naive.run_bytecode(bytecode, filled, read)) == naive.quotient(
        description, row, prefixes, tau, alpha, terminal
    )


@settings(max_examples=150, deadline=None)
@given(st.data(), descriptions)
def test_lookup_bytecode_gives_denominators_then_multiplicities(data, description):
    row, read = draw_row(data, description, 3)
    prefixes = [data.draw(extensions) for _ in description.lookups]
    tau = data.draw(extensions)
    bytecode = lookup_bytecode(description)
    nodes = naive.node_values(description, row)
    denominators, multiplicities = [], []
    for lookup, prefix in zip(description.lookups, prefixes, strict=True):
        for entry in lookup.tuples:
            denominators += naive.denominator([nodes[field] for field in entry.fields], prefix, tau)
            multiplicities.append(nodes[entry.multiplicity])
    filled = constants(bytecode, row.public, prefixes, tau)
    assert filled.tolist() == naive.constants(bytecode, row.public, prefixes, tau, ZERO, ZERO)
    assert naive.run_bytecode(bytecode, filled, read) == denominators + multiplicities


def test_constants_of_the_machine_s_tables_are_the_weighted_sums():
    rng, machine = random.Random(5), Machine(load_elf(GUEST.read_bytes()))
    tables = [machine.air(number, tables=30, output_words=5, input_words=3) for number in (0, *TableNumber)]
    descriptions = [table.describe() for table in (*tables, *(chip(1) for chip in CHIPS.values()))]
    draws = [[tuple(rng.randrange(P) for _ in range(3)) for _ in range(4)] for _ in range(2)]
    for description in descriptions:
        public = [rng.randrange(P) for _ in range(description.num_public_values)]
        for prefix, tau, alpha, terminal in draws:
            prefixes = [prefix] * len(description.lookups)
            for bytecode in (lookup_bytecode(description), quotient_bytecode(description)):
                given = (public, prefixes, tau, alpha, terminal)
                assert constants(bytecode, *given).tolist() == naive.constants(bytecode, *given), description.name


def test_constants_need_the_public_values_and_prefixes_that_the_bytecode_reads():
    machine = Machine(load_elf(GUEST.read_bytes()))
    description = machine.air(0, tables=30, output_words=5, input_words=3).describe()
    public, prefixes = [1] * description.num_public_values, [(1, 2, 3)] * len(description.lookups)
    read = set()
    for bytecode in (lookup_bytecode(description), quotient_bytecode(description)):
        program = bytecode.constant_program
        constants(bytecode, public[: program.public_values], prefixes[: program.prefixes])
        for name, values in (("public_values", public), ("prefixes", prefixes)):
            if least := getattr(program, name):
                read.add(name)
                with pytest.raises(ValueError, match="the bytecode reads"):
                    constants(bytecode, **{"public_values": public, "prefixes": prefixes, name: values[: least - 1]})
    assert read == {"public_values", "prefixes"}


class Wide(Air):
    """Sums with weights and constraints with a common factor, which have special lowerings; one sum is very deep."""

    columns = ("flag", "limb[40]")

    def define(self, t: TableBuilder) -> None:
        for i in range(6):
            t.transition(t.flag * (t.next.limb[i] - t.limb[i]))
        t.every_row(sum(3**i * limb for i, limb in enumerate(t.limb)) - t.flag)
        total = t.flag
        for i in range(5000):
            total = total + t.limb[i % 40]
        t.every_row(total)


def test_common_factors_are_multiplied_by_once_and_weighted_sums_are_linear():
    bytecode = quotient_bytecode(Wide().describe())
    ops = [Opcode(op) for op in bytecode.instructions[:, 0]]
    assert ops.count(Opcode.MUL) == 0  # the factors transition and flag scale a sum of six
    assert ops.count(Opcode.SCALE) == 3  # the two, and the inverse of the vanishing polynomial
    assert max(bytecode.instructions[:, 5]) == LINEAR_TERMS
    assert len(bytecode.instructions) < 5000 + 30
    row = naive.Row(([P - 1] * 41, [1] * 41), ([], []), [], (2, 3, 5, 7))
    value = naive.quotient(Wide().describe(), row, [], (0, 0, 0), (1, 2, 3), (0, 0, 0))
    filled = constants(bytecode, [], alpha=(1, 2, 3))
    sources = (row.main, None, None, (row.selectors, row.selectors))
    assert tuple(naive.run_bytecode(bytecode, filled, lambda m, i, o: sources[m][o][i])) == value


def test_few_registers_serve_long_programs():
    class Chain(Air):
        columns = ("x[100]",)

        def define(self, t: TableBuilder) -> None:
            for a, b in zip(t.x, t.x[1:], strict=False):
                t.every_row((a * b - 1) * (a + b) * b)

    bytecode = quotient_bytecode(Chain().describe())
    assert len(bytecode.instructions) > 300
    assert bytecode.registers < 2 * LINEAR_TERMS
