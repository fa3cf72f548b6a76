"""The expected work of a layer is the one that it has."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from graphprover.recursion.expected import MARGIN, LayerWork, run_work, work_about
from graphprover.recursion.head.heads import heads_of
from graphprover.recursion.layer import layer_statement
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.traces.machine import TraceInputs
from graphprover.recursion.witness.run import run
from graphprover.recursion.witness.run_data import run_data
from graphprover.statement.statement import with_traces
from tests.interop.tables import PLAIN
from tests.recursion.layered import CASES, SHARDS, Child, child, child_of

NAMES = (*CASES, *SHARDS)


@dataclass(frozen=True)
class Taken:
    """The steps, and the cells of memory, of a run."""

    steps: int
    cells: int


def taken(children: Sequence[Child]) -> Taken:
    """Run the program about some proofs."""
    heads = heads_of([own.stated for own in children])
    opened = [own.opened(head.start) for own, head in zip(children, heads.heads, strict=True)]
    trace = run(verifier_program(), run_data(heads, opened))
    return Taken(len(trace.pcs), trace.cells.shape[1])


def inputs_of(child: Child) -> TraceInputs:
    """Return the inputs of the traces of a layer about a proof."""
    (task,) = layer_statement([(child.stated, child.proof)]).tables[0].main.needs
    found = task.fixed["inputs"]
    assert isinstance(found, TraceInputs)
    return found


def expected(children: Sequence[Child]) -> LayerWork:
    return sum((work_about(own.layout) for own in children), run_work())


@pytest.mark.parametrize("name", NAMES)
def test_steps_and_memory_are_exact(name: str) -> None:
    work = expected([child(name)])
    assert Taken(work.steps, work.cells) == taken([child(name)])


def test_the_work_about_several_proofs_is_the_sum() -> None:
    several = [child(name) for name in ("one height", "a shard", "two heights", "one height")]
    work = expected(several)
    assert Taken(work.steps, work.cells) == taken(several)


def test_a_merged_layer_is_a_child_as_any_other() -> None:
    parameters = replace(PLAIN, log_blowup=2, num_queries=3, log_final_poly_len=5, max_log_arity=3, cap_height=0)
    own = child_of(with_traces(child("one height").statement(merged=True)).tables, parameters)
    work = expected([own])
    assert len(own.layout.tables) == 1 and Taken(work.steps, work.cells) == taken([own])


def test_one_query_meets_a_row_of_each_height_and_all_nodes_above() -> None:
    """So nothing is random."""
    own = child("a shard with a query")
    work, found = expected([own]), inputs_of(own)
    assert work.blocks == len(found.segments.words)
    assert work.segments == len(found.segments.firsts)
    assert work.nodes == len(found.nodes.places)
    assert work.machine_rows == found.machine_rows


def test_queries_that_meet_are_expected() -> None:
    """Over all cases the sums are within a few per cent: the tests' proofs have few queries."""
    children = [child(name) for name in CASES]
    wanted = sum(inputs_of(own).calls for own in children)
    work = sum((expected([own]) for own in children), LayerWork())
    assert work.compressions == pytest.approx(wanted, rel=0.02)


def test_numbers_just_below_a_power_of_two_count_as_above() -> None:
    rows = 1 << 18
    most = int(rows / 16 / (1 + MARGIN))
    assert [LayerWork(blocks=calls).log_heights[0] for calls in (most - 1, most + 2)] == [18, 19]
