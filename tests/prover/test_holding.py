"""A proof that holds fewer columns between its rounds has the same bytes in less memory, as planned."""

import struct
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import dask
import numpy as np
import pytest

from graphprover import Statement, Table
from graphprover.admission.admission import TooLarge
from graphprover.device import CpuDevice, Device
from graphprover.device.interface import CPU_BATCH
from graphprover.examples import memory, synthetic
from graphprover.graphs.batches import NO_HOLDS, Hold, Holds
from graphprover.graphs.planner import holding, shard_memory
from graphprover.graphs.planner.holding import plan_holding, plan_whole
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.shard_memory import plan_keeping, plan_recomputed, plan_shards
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.rounds import lookup
from graphprover.kernels import absorption
from graphprover.protocol.hashing import HASHES
from graphprover.prover.local import make
from graphprover.prover.peak_memory import memory_plan
from graphprover.prover.prepare import Prepared, PreparedShards, prepare
from graphprover.prover.sharded import prove_shards
from graphprover.proving.prover import Prover
from graphprover.runtime.settings import MEMORY_LIMIT
from graphprover.statement.shards import shards_of
from tests.failing_device import FailingDevice
from tests.graphs.test_proof_graph import FEW, example
from tests.naive_device import NaiveDevice
from tests.preparing import prepare_shards
from tests.random_statements import random_statement
from tests.trace_tasks import as_trace_tasks

FIB = Path(__file__).parents[2] / "examples/guests/fib_iterative.elf"
ON = On(CPU_BATCH, 1, False)
LESS = (Hold.TRACES, Hold.MAIN)


@pytest.fixture(params=[absorption.PIECE_BYTES, 1 << 12], ids=["whole", "pieces"])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extend columns and compute lookup columns all at once, or a few at a time."""
    monkeypatch.setattr(absorption, "PIECE_BYTES", request.param)
    monkeypatch.setattr(lookup, "TURN_BYTES", request.param)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extend few columns at a time, because these tables are small."""
    monkeypatch.setattr(absorption, "PIECE_BYTES", 1 << 16)
    monkeypatch.setattr(lookup, "TURN_BYTES", 1 << 16)
    monkeypatch.setattr(holding, "_plans", {})
    monkeypatch.setattr(shard_memory, "_plans", {})


def every(prepared: Prepared) -> range:
    """Return all tables."""
    return range(len(prepared.layout.tables))


def choices(prepared: Prepared) -> Iterator[Holds]:
    """Return all tables at each level, and the first one and the others by themselves."""
    tables = every(prepared)
    for hold in LESS:
        yield from (dict.fromkeys(some, hold) for some in (tables, tables[:1], tables[1:]) if some)
    yield dict(zip(tables, LESS * len(tables), strict=False))


def proof_of(prepared: Prepared, holds: Holds = NO_HOLDS, device: Device | None = None) -> bytes:
    return prove_shards(prepared, device or CpuDevice(1), "sync", holds=holds).proof.to_bytes()


def assert_same(prepared: Prepared) -> None:
    expected = proof_of(prepared)
    for holds in choices(prepared):
        assert proof_of(prepared, holds) == expected, holds


@pytest.mark.parametrize("hash", sorted(HASHES))
@pytest.mark.parametrize("rate", [2, 8])
@pytest.mark.usefixtures("pieces")
def test_the_bytes_are_the_same(hash: str, rate: int) -> None:
    assert_same(prepare(example(memory), security=40, rate=rate, hash=hash))


@pytest.mark.parametrize("hold", LESS)
def test_the_bytes_are_those_of_the_definitions(hold: Hold) -> None:
    parameters, statement = random_statement(3, tables=2, max_log_height=4)
    prepared = prepare(statement, parameters=parameters)
    assert proof_of(prepared, dict.fromkeys(every(prepared), hold), NaiveDevice()) == proof_of(prepared)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.usefixtures("pieces")
def test_the_bytes_of_random_statements_are_the_same(seed: int) -> None:
    """With quotients on larger domains than the extensions, preprocessed columns, and tables of one row."""
    parameters, statement = random_statement(seed, tables=4, max_log_height=9, max_degree=1 + seed % 7)
    assert_same(prepare(statement, parameters=parameters))


def test_the_bytes_of_a_run_are_the_same() -> None:
    device = CpuDevice(2)
    whole = Prover(FIB, security=60).job(struct.pack("<Q", 3_000)).prepared(device)
    assert isinstance(whole, Prepared)
    expected = proof_of(whole, device=device)
    for hold in LESS:
        assert proof_of(whole, dict.fromkeys(every(whole), hold), device) == expected


def wide(log_rows: int = 11, count: int = 6) -> Prepared:
    """Return a statement of several large tables whose traces are made by the proof."""
    tables = [synthetic.table(log_rows, 60, 12, f"table {i}") for i in range(count)]
    return prepare(as_trace_tasks(Statement(tables)), parameters=FEW)


def measured(prepared: Prepared | PreparedShards, **options: object) -> int:
    """Return the peak of a proof's arrays."""
    prove_shards(prepared, CpuDevice(1), "sync", **options)  # type: ignore[arg-type]
    tracemalloc.start()
    try:
        prove_shards(prepared, CpuDevice(1), "sync", **options)  # type: ignore[arg-type]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("hold", list(Hold))
@pytest.mark.usefixtures("small_pieces")
def test_measured_peak_is_near_the_planned_one(hold: Hold) -> None:
    prepared = wide(12, 3)
    holds = dict.fromkeys(every(prepared), hold)
    planned = plan_holding(prepared.layout, prepared.traces, ON, holds).peak.bytes
    assert 0.85 * planned <= measured(prepared, holds=holds) <= 1.15 * planned


def test_few_lookup_columns_wait_for_their_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables share a task, which extends lookup columns before it computes those of further tables."""
    statement = Statement([synthetic.table(8, 60, 200, f"table {i}") for i in range(12)])
    prepared, peaks = prepare(as_trace_tasks(statement), parameters=FEW), list[tuple[int, int]]()
    for limit in (lookup.TURN_BYTES, 1):
        monkeypatch.setattr(lookup, "TURN_BYTES", limit)
        monkeypatch.setattr(holding, "_plans", {})
        peaks.append((measured(prepared), plan_holding(prepared.layout, prepared.traces, ON, NO_HOLDS).peak.bytes))
    assert all(after < 0.9 * before for before, after in zip(*peaks, strict=True)), peaks


@pytest.mark.usefixtures("small_pieces")
def test_each_level_takes_less_memory_and_more_time() -> None:
    prepared = wide()
    plans = [plan_holding(prepared.layout, prepared.traces, ON, dict.fromkeys(every(prepared), hold)) for hold in Hold]
    peaks, butterflies, products = zip(
        *((plan.peak.bytes, plan.cost.butterflies, plan.cost.multiplications) for plan in plans), strict=True
    )
    assert sorted(peaks, reverse=True) == [*peaks] and peaks[2] < 0.7 * peaks[0]
    assert butterflies[0] < butterflies[1] == butterflies[2] < 3.5 * butterflies[0]
    assert products[1] < products[2]


@pytest.mark.usefixtures("small_pieces")
def test_as_little_as_possible_is_given_up() -> None:
    """With room for all nothing changes; with less, large tables come first, and lookup columns last."""
    prepared = wide()

    def plan(budget: int | None):  # type: ignore[no-untyped-def]
        return plan_whole(prepared.layout, prepared.traces, ON, budget)

    roomy, least = plan(None), plan(0)
    assert not roomy.holds and set(least.holds.values()) == {Hold.MAIN}
    assert plan(roomy.peak.bytes) is roomy and plan(roomy.peak.bytes - 1).holds
    budgets = np.linspace(least.peak.bytes, roomy.peak.bytes, 15).astype(int).tolist()
    steps = [plan(budget) for budget in budgets]
    assert all(step.peak.bytes <= budget for step, budget in zip(steps, budgets, strict=True))
    given_up = [sum(step.holds.values()) for step in steps]
    assert given_up == sorted(given_up, reverse=True) and len(set(given_up)) > 2
    for step in steps:
        assert Hold.MAIN not in step.holds.values() or len(step.holds) == len(least.holds)
        assert list(step.holds) == list(least.holds)[: len(step.holds)]


@pytest.mark.usefixtures("small_pieces")
def test_the_memory_that_there_is_decides() -> None:
    device, prepared = CpuDevice(1), wide()
    roomy, expected = memory_plan(prepared, device), make(prepared, "sync", device).proof
    with dask.config.set({MEMORY_LIMIT: int(0.75 * roomy.bytes)}):
        narrow = memory_plan(prepared, device)
        assert narrow.holds and narrow.bytes <= 0.75 * roomy.bytes
        made = make(prepared, "sync", device)
        assert made.proof == expected and made.peak_bytes == narrow.bytes
    with dask.config.set({MEMORY_LIMIT: int(0.2 * roomy.bytes)}), pytest.raises(TooLarge):
        make(prepared, "sync", device)


def shards(tables: Sequence[Table]) -> PreparedShards:
    statement, half = as_trace_tasks(Statement(tables)), len(tables) // 2
    return prepare_shards(shards_of(statement, [range(half), range(half, len(tables))]), parameters=FEW)


@pytest.mark.parametrize("keep", list(Keep))
def test_shards_that_hold_less(keep: Keep) -> None:
    prepared = shards([synthetic.table(10, 50, 5)] * 2)
    expected = prove_shards(prepared, CpuDevice(1), "sync", plan_keeping(prepared.shapes, ON, keep)).proof
    for hold in LESS:
        holds = [dict.fromkeys(every(shard), hold) for shard in prepared.shards]
        plan = plan_keeping(prepared.shapes, ON, keep, holds)
        assert prove_shards(prepared, CpuDevice(1), "sync", plan).proof == expected


@pytest.mark.usefixtures("small_pieces")
def test_shards_hold_less_before_they_do_not_fit() -> None:
    prepared = shards([synthetic.table(11, 60, 12)] * 8)
    trees = plan_keeping(prepared.shapes, ON, Keep.TREES)
    assert not any(shard.holds for shard in plan_shards(prepared.shapes, ON, trees.peak.bytes).shards)
    budget = int(0.75 * trees.peak.bytes)
    plan = plan_shards(prepared.shapes, ON, budget)
    assert plan.peak.bytes <= budget and all(shard.holds for shard in plan.shards)
    assert 0.85 * plan.peak.bytes <= measured(prepared, plan=plan) <= 1.15 * plan.peak.bytes


@pytest.mark.usefixtures("small_pieces")
def test_a_recomputed_shard_holds_less_before_it_does_not_fit() -> None:
    layout, traces = shards([synthetic.table(11, 60, 12)] * 8).shapes[0]
    peak = plan_keeping([(layout, traces)], ON, Keep.NOTHING).peak.bytes
    assert not plan_recomputed(layout, traces, ON, peak).holds
    less = plan_recomputed(layout, traces, ON, peak - 1)
    assert less.holds and less.keep == Keep.NOTHING
    assert plan_keeping([(layout, traces)], ON, Keep.NOTHING, [less.holds]).peak.bytes < peak


@pytest.mark.parametrize(
    ("operation", "place"),
    [
        ("merkle_tree", "tree of main"),
        ("lookup_columns", "lookup of 0.table"),
        ("quotient", "quotient of 0.table"),
        ("evaluate", "opening of 0.table"),
        ("reduced_traces", "deep of 0.table"),
        ("gather", "query of all"),
    ],
)
def test_a_task_without_memory_is_named(operation: str, place: str) -> None:
    prepared = prepare(Statement([synthetic.table(9, 20, 4, "table")]), parameters=FEW)
    holds = dict.fromkeys(every(prepared), Hold.MAIN)
    device = FailingDevice(operation, 1, MemoryError("no memory is left"))
    with pytest.raises(MemoryError, match=f"{place}.*: no memory is left"):
        prove_shards(prepared, device, "sync", holds=holds)  # type: ignore[arg-type]
