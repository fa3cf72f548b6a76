"""Every message of every table counts, and every element of it: buses do not balance with another one or without it."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from graphprover.air.evaluate import evaluate
from graphprover.field import P, array_add, array_mul
from graphprover.statement.statement import Statement, Table, with_traces
from graphprover.vm.executor.execute import execute
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run
from tests.slow import slow_after
from tests.vm.mutation import inverse
from tests.vm.programs import everything, set_policy
from tests.vm.tables.test_tables import on_input, run
from tests.vm.traces.test_cycle_ranges import far_accesses

RNG = np.random.default_rng(1)
POINT, FACTOR = RNG.integers(1, P, 2, dtype=np.uint64).tolist()  # of the fractions that stand for messages


def fractions(table: Table) -> Iterator[tuple[str, list[int]]]:
    """Yield for each message of a table its bus and its sum of fractions: as it is, and with each element 1 more."""
    air = table.air.describe()
    assert isinstance(table.main, np.ndarray)
    messages = [interaction.tuples[0] for interaction in air.globals]
    roots = [node for message in messages for node in (message.multiplicity, *message.fields)]
    parts = [v for _, v in evaluate(air, table.main, table.preprocessed, tuple(table.public_values or ()), roots)]
    values = iter(np.concatenate(part) for part in zip(*parts, strict=True))
    for interaction, message in zip(air.globals, messages, strict=True):
        counts, fields = next(values), [next(values) for _ in message.fields]
        assert interaction.bus is not None
        said = np.flatnonzero(counts)
        if not len(said):
            yield interaction.bus, [0] * (1 + len(fields))
            continue
        powers = [pow(FACTOR, i, P) for i in range(len(fields))]
        own = np.full(len(said), POINT, dtype=np.uint64)
        for power, of in zip(powers, fields, strict=True):
            own = array_add(own, array_mul(of[said], np.array([power], dtype=np.uint64)))
        variants = [own, *(array_add(own, np.array([power], dtype=np.uint64)) for power in powers)]
        numerators = counts[said]
        sums = [array_mul(one, numerators) for one in np.split(inverse(np.concatenate(variants)), len(variants))]
        yield interaction.bus, [sum(of.tolist()) % P for of in sums]


@cache
def stated(name: str) -> Statement:
    """Return a statement with traces: of every chip, with its own table or in shared ones, or of far accesses."""
    if name.isdigit():
        return run(int(name))
    if name == "input":
        return on_input()
    with pytest.MonkeyPatch.context() as patch:
        if name == "wide":
            set_policy(patch, wide_permutations=1)
        execution = execute(everything(4) if name in ("shared", "wide") else far_accesses(), b"some input", record=True)
        return with_traces(statement_of_run(Machine(execution.image), execution))


SILENT = {"1": {"common"}, "shared": set[str](), "input": {"common", "sparse_range", "powers"}}  # not all are sent


@pytest.mark.parametrize("name", slow_after(2, ["shared", "1", "input", "wide", "far", "2"]))
def test_every_element_of_every_message_counts(name: str) -> None:
    """Change an element of a message, or remove the message: the sum of all fractions is no longer 0."""
    balance, silent = dict[str, int](), set()
    for table in stated(name).tables:
        for bus, (own, *changed) in fractions(table):
            balance[bus] = (balance.get(bus, 0) + own) % P
            if own or any(changed):
                assert own and own not in changed, table.air.name
            else:
                silent.add(table.air.name)
    assert balance and not any(balance.values())
    assert name not in SILENT or silent <= SILENT[name]
