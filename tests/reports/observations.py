"""Proofs that were seen, for pages."""

from dataclasses import replace
from functools import cache

import dask

from graphprover import Statement, prove
from graphprover.device import CpuDevice
from graphprover.examples import memory, synthetic
from graphprover.prover.local import make
from graphprover.runtime import settings
from graphprover.statement.shards import shards_of
from graphprover.telemetry.layers import ObservedLayer, with_layers
from graphprover.telemetry.model import TableShare
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import observed
from tests.cluster.processes import workers
from tests.graphs.test_proof_graph import FEW, example
from tests.preparing import prepare_shards
from tests.trace_tasks import as_trace_tasks

HOSTILE = "</script><script>throw 'x'</script>"


@cache
def on_cpu() -> Observation:
    """Return the observation of a small statement's proof, whose tables share tasks."""
    with observed() as seen:
        prove(example(memory), executor="threads", parameters=FEW)
    return replace(seen[0], name="memory")


def compressed() -> Observation:
    """Return `on_cpu` with a layer, which has the same tasks."""
    found = with_layers(on_cpu(), [""], [ObservedLayer("", (0,), replace(on_cpu(), layer=1))])
    assert found
    return found


@cache
def in_shards() -> Observation:
    """Observe a proof of three tables in a shard each, with traces from trace tasks, verified shard by shard."""
    statement = as_trace_tasks(
        Statement([synthetic.table(6, 20, 5), synthetic.table(9, 50, 5), synthetic.table(6, 20, 5)])
    )
    prepared = prepare_shards(shards_of(statement, [[0], [1], [2]]), parameters=FEW)
    make(prepared, "sync", CpuDevice(1))  # kernels compile
    with observed():
        found = make(prepared, "sync", CpuDevice(1)).observation
    assert found
    return found


@cache
def by_workers() -> Observation:
    """Observe a proof of two tables in a shard each, by two workers of a cluster."""
    with workers(2) as client, dask.config.set({settings.WAIT: 200}), observed() as seen:
        prove(example(memory), client, parameters=FEW, shards=[[0], [1]])
    return replace(seen[0], name="memory")


def on_gpu() -> Observation:
    """Return `on_cpu` as if a GPU had run it, with hostile names."""
    cpu = on_cpu()
    bus = {"launches": 7, "uploaded": 1 << 20, "waited": 0.0}
    tasks = tuple(
        task._replace(device_start=task.start + 0.001, device_end=task.end + 0.003, **bus) for task in cpu.tasks
    )
    tables = tuple(replace(table, name=f"{table.name}{HOSTILE}") for table in cpu.tables)
    machine = replace(cpu.machine, gpu="A GPU")
    return replace(cpu, name=HOSTILE, device="cuda", machine=machine, tasks=tasks, tables=tables)


def on_a_free_host(seen: Observation) -> Observation:
    """As if the process had got all of the processor that it asked for."""
    return replace(seen, processor=replace(seen.processor, used=seen.processor.seconds, waited=0.0))


def slow(seen: Observation, round_: str, table: int | None, seconds: float) -> Observation:
    """As if a round's tasks had taken so long on a free host, all for one table."""
    tables = () if table is None else (TableShare(table, 1.0),)
    tasks = tuple(
        task._replace(end=task.start + seconds, device_end=task.device_start + seconds, tables=tables, waited=seconds)
        if task.round == round_
        else task
        for task in seen.tasks
    )
    return on_a_free_host(replace(seen, tasks=tasks))
