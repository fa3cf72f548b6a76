"""A sharded proof has the same valid bytes on every device, by every executor and with any cached data."""

import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover import Air, Statement, Table, VerificationError, prove, verify
from graphprover.admission.admission import TooLarge
from graphprover.air import received, sent
from graphprover.device import CpuDevice, Device
from graphprover.device.interface import CPU_BATCH
from graphprover.examples import memory, synthetic
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.shard_memory import plan_keeping, plan_shards
from graphprover.graphs.proof_graph import Keep
from graphprover.proof.sharded import ShardedProof, join
from graphprover.prover.local import make
from graphprover.prover.made import Made
from graphprover.prover.prepare import PreparedShards
from graphprover.prover.sharded import prove_shards
from graphprover.statement.shards import ShardedStatement, shards_of
from graphprover.statement.trace_task import TraceTask
from tests.failing_device import FailingDevice
from tests.graphs.test_proof_graph import FEW, example
from tests.naive_device import NaiveDevice
from tests.preparing import prepare_shards
from tests.random_statements import random_statement
from tests.trace_tasks import as_trace_tasks


def in_one_each(statement: Statement) -> ShardedStatement:
    return shards_of(statement, [[table] for table in range(len(statement.tables))])


def made_with(prepared: PreparedShards, keep: Keep, device: Device | None = None) -> Made:
    """Prove on a device that caches exactly ``keep`` of each shard."""
    device = device or CpuDevice(1)
    return prove_shards(prepared, device, "sync", plan_keeping(prepared.shapes, On(CPU_BATCH, 1, False), keep))


class Counting(CpuDevice):
    """A device that counts the calls of each operation."""

    def __init__(self) -> None:
        super().__init__(1)
        self.asked: Counter[str] = Counter()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return partial(self._counted, name, found) if name in vars(Device) and callable(found) else found

    def _counted(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        self.asked[name] += 1
        return function(*arguments)


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shards=st.sampled_from([2, 3, 5]), max_degree=st.integers(1, 7))
def test_shards_of_any_statement_verify_and_no_device_changes_a_byte(seed: int, shards: int, max_degree: int) -> None:
    parameters, statement = random_statement(seed, tables=5, max_log_height=4, max_degree=max_degree)
    options: dict[str, Any] = {"parameters": parameters, "shards": shards}
    proof = prove(statement, "sync", device=NaiveDevice(), **options)
    assert prove(statement, "threads", device=CpuDevice(2), **options) == proof
    assert isinstance(proof, ShardedProof) and len(proof.proofs) == shards
    verdict = verify(proof.to_bytes(), statement, security=-10)
    assert verdict.public_values == tuple(tuple(table.public_values or ()) for table in statement.tables)


def test_parameters_are_chosen_for_all_shards() -> None:
    statement = example(memory)
    proof = prove(statement, "sync", security=100, shards=2)
    assert verify(proof, statement, security=100).bits >= 100


def test_one_shard_is_the_proof_itself() -> None:
    statement = example(memory)
    assert prove(statement, "sync", parameters=FEW, shards=1) == prove(statement, "sync", parameters=FEW)


def test_buses_balance_over_shards_and_not_within() -> None:
    """Balance reads in one shard with their memory in another, whose columns are preprocessed."""
    statement = example(memory)
    proof = prove(statement, "sync", parameters=FEW, shards=[[1], [0]])
    verify(proof, statement, security=-10)
    statement = example(memory)
    counts = np.array(statement.tables[1].main)
    counts[0, 0] += 1
    wrong = Statement([statement.tables[0], replace(statement.tables[1], main=counts)])
    with pytest.raises(VerificationError, match="do not balance"):
        make(prepare_shards(shards_of(wrong, [[0], [1]]), parameters=FEW), "sync", "cpu")


class Shuffle(Air):
    """A column that permutes another, by a local lookup; a preprocessed column fixes the first value."""

    columns = ("x", "y")
    preprocessed = ("first",)

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.name = f"shuffle {rows}"

    def preprocessed_trace(self) -> np.ndarray:
        return np.arange(self.rows, dtype=np.uint64)[None]

    def define(self, t: Any) -> None:
        t.every_row(t.x - t.first)
        t.local_lookup(sent([t.x], 1), received([t.y], 1))


def shuffles() -> Statement:
    """Return tables with preprocessed columns and local lookups, and no bus."""
    columns = (np.arange(rows, dtype=np.uint64) for rows in (16, 32, 16))
    return Statement([Table(Shuffle(x.size), (), np.stack([x, x[::-1]])) for x in columns])


def test_local_lookups_and_preprocessed_columns_in_each_shard() -> None:
    statement = shuffles()
    proof = prove(statement, "sync", parameters=FEW, shards=3)
    verify(proof, statement, security=-10)
    made = make(prepare_shards(in_one_each(statement), parameters=FEW), "sync", "cpu")
    assert made.preprocessed_caps and all(made.preprocessed_caps) and len(made.preprocessed_caps) == 3


@pytest.mark.parametrize("as_made", [False, True])
def test_whatever_is_kept_the_bytes_are_the_same(as_made: bool) -> None:
    """Recompute less, the more is cached."""
    statement = example(memory)
    prepared = prepare_shards(in_one_each(as_trace_tasks(statement) if as_made else statement), parameters=FEW)
    proofs, asked = [], []
    for keep in Keep:
        device = Counting()
        proofs.append(made_with(prepared, keep, device).proof)
        asked.append(device.asked)
    assert all(proof == proofs[0] for proof in proofs)
    nothing, trees, traces, everything = asked
    # Both shards commit to main columns, one of them to preprocessed ones.
    hashed, extended, made = (
        {keep: counts[name] - everything[name] for keep, counts in zip(Keep, asked, strict=True)}
        for name in ("merkle_tree", "extend", "inverse")
    )
    assert hashed == {Keep.NOTHING: 3, Keep.TREES: 0, Keep.TRACES: 0, Keep.ALL: 0}
    assert extended == {Keep.NOTHING: 3, Keep.TREES: 3, Keep.TRACES: 3, Keep.ALL: 0}
    # The values at the separating points of both shards are cached with the trees.
    evaluated = {keep: counts["evaluate"] for keep, counts in zip(Keep, asked, strict=True)}
    assert evaluated == {Keep.NOTHING: 6, Keep.TREES: 4, Keep.TRACES: 4, Keep.ALL: 4}
    again = nothing["inverse"] // 2
    assert made == {Keep.NOTHING: again, Keep.TREES: again, Keep.TRACES: 0, Keep.ALL: 0}
    assert bool(again) == as_made and traces["grind"] == trees["grind"]


def test_a_budget_says_what_is_kept() -> None:
    """Cache trees first; then all of the last shard; then traces, and then extensions."""
    prepared = prepare_shards(in_one_each(as_trace_tasks(Statement([synthetic.table(10, 50, 5)] * 3))), parameters=FEW)
    plans = partial(plan_shards, prepared.shapes, On(CPU_BATCH, 1, True))
    least, most = plans(0), plans(1 << 60)
    assert least.peak.bytes <= plan_keeping(prepared.shapes, On(CPU_BATCH, 1, True), Keep.NOTHING).peak.bytes
    assert {shard.keep for shard in most.shards} == {Keep.ALL} and least.peak.bytes < most.peak.bytes
    steps = []
    for budget in range(least.peak.bytes, most.peak.bytes + 1, (most.peak.bytes - least.peak.bytes) // 40):
        plan = plans(budget)
        assert plan.peak.bytes <= budget
        steps.append(tuple(shard.keep for shard in plan.shards))
    assert all(step[-1] == max(step) for step in steps), "the last shard waits for no other"
    assert all(min(step) >= Keep.TREES or max(step[:-1]) <= Keep.TREES for step in steps)
    assert steps == sorted(steps, key=sum) and len(set(steps)) > 4


@pytest.mark.parametrize("share", [0.0, 0.35, 1.0])
def test_measured_peak_is_near_the_planned_one(share: float) -> None:
    tables = [synthetic.table(12, 60, 12)] * 3
    prepared = prepare_shards(in_one_each(as_trace_tasks(Statement(tables))), parameters=FEW)
    device = CpuDevice(1)
    plans = partial(plan_shards, prepared.shapes, On(CPU_BATCH, 1, False))
    least, most = plans(0).peak.bytes, plans(1 << 60).peak.bytes
    plan = plans(int(least + share * (most - least)))
    prove_shards(prepared, device, "sync", plan)
    tracemalloc.start()
    try:
        prove_shards(prepared, device, "sync", plan)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.6 * plan.peak.bytes <= peak <= 1.3 * plan.peak.bytes


def test_the_memory_that_there_is_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = as_trace_tasks(Statement([synthetic.table(10, 50, 5)] * 3))
    prepared = prepare_shards(in_one_each(statement), parameters=FEW)
    roomy = make(prepared, "sync", "cpu")
    with dask.config.set({"graphprover.memory-limit": roomy.peak_bytes - 1}):
        narrow = make(prepared, "sync", "cpu")
    assert narrow.proof == roomy.proof and narrow.peak_bytes < roomy.peak_bytes
    least = plan_keeping(prepared.shapes, On(CPU_BATCH, 1, False), Keep.NOTHING)
    with (
        dask.config.set({"graphprover.memory-limit": least.peak.bytes // 2}),
        pytest.raises(TooLarge, match=r"^shard \d of 3: \w+ of .* needs [\d,]+ bytes"),
    ):
        make(prepared, "sync", CpuDevice(1))


def test_a_trace_that_is_made_twice_must_be_the_same() -> None:
    calls = iter(range(100))

    def other(device: Any) -> Any:
        return np.full((1, 16), next(calls), dtype=np.uint64)

    class Free(Air):
        """A table with one unconstrained column."""

        columns = ("x",)
        unread = ("x",)

        def define(self, t: Any) -> None:
            pass

    statement = Statement([Table(Free(), (), TraceTask("other", other, shape=(1, 16))) for _ in range(2)])
    prepared = prepare_shards(in_one_each(statement), parameters=FEW)
    with pytest.raises(RuntimeError, match="shard 1 of 2: recomputed commitment differs"):
        made_with(prepared, Keep.NOTHING)


def test_made_says_how_long_each_shard_took() -> None:
    made = make(prepare_shards(in_one_each(shuffles()), parameters=FEW), "sync", "cpu")
    assert [set(seconds) for seconds in made.shards] == [{"commit", "prove", "verify"}] * 3
    assert set(made.seconds) == {"wait", "prove", "verify"}
    assert sum(sum(seconds.values()) for seconds in made.shards) <= made.seconds["prove"]


def test_a_shard_that_does_not_hold_is_named() -> None:
    statement = shuffles()
    broken = np.array(statement.tables[1].main)
    broken[1, 3] += 1
    tables = [*statement.tables[:1], replace(statement.tables[1], main=broken), statement.tables[2]]
    with pytest.raises(
        VerificationError, match="buses do not balance"
    ):  # a local lookup may be out of balance by itself
        make(prepare_shards(in_one_each(Statement(tables)), parameters=FEW), "sync", "cpu")
    broken[0, 3] += 1
    with pytest.raises(VerificationError, match=r"^shard 1 of 3: "):
        make(prepare_shards(in_one_each(Statement(tables)), parameters=FEW), "sync", "cpu")


@pytest.mark.parametrize(
    ("operation", "call"), [("extend", 1), ("extend", 3), ("lookup_columns", 1), ("quotient", 2), ("gather", 2)]
)
def test_errors_name_the_shard_the_round_and_the_table(operation: str, call: int) -> None:
    device = FailingDevice(operation, call, MemoryError("no 96 bytes"))
    with pytest.raises(MemoryError, match=r"^shard [01] of 2: \w+ of .*: no 96 bytes$"):
        prove(example(memory), "sync", parameters=FEW, device=device, shards=2)


def test_progress_goes_on_over_shards() -> None:
    told: list[tuple[int, int, str]] = []
    prove(example(memory), "sync", parameters=FEW, device="cpu", shards=2, progress=lambda *what: told.append(what))
    ended, totals, begun = zip(*told, strict=True)
    assert len(set(totals)) == 1 and list(ended) == sorted(ended) and ended[-1] == totals[0] == len(told) - 1
    assert begun[-1] == "" and all(task.startswith(("shard 0 of 2: ", "shard 1 of 2: ")) for task in begun[:-1])


def test_shards_are_joined_again_and_each_is_a_file() -> None:
    proof = prove(example(memory), "sync", parameters=FEW, shards=2)
    assert isinstance(proof, ShardedProof)
    assert join(reversed(proof.shards)) == proof == ShardedProof.from_bytes(proof.to_bytes())


def test_shares_that_are_none_are_refused() -> None:
    statement = example(memory)
    for shards, message in (
        ([[0], [0]], "table 0 is in two shards"),
        ([[0, 1]], "2 to 1024 shards"),
        (0, "2 to 1024 shards"),
        (3, "3 shards, .* the statement has 2"),
    ):
        with pytest.raises(ValueError, match=message):
            prove(statement, "sync", parameters=FEW, shards=shards)  # type: ignore[call-overload]


def test_one_worker_of_a_cluster_makes_all_shards() -> None:
    statement = example(memory)
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, Client(cluster) as client:
        proof = prove(statement, client, parameters=FEW, shards=2)
    assert proof == prove(statement, "sync", parameters=FEW, shards=2)
