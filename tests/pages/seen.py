"""Proofs that were seen, for pages."""

from dataclasses import replace
from functools import cache

from graphprover import prove
from graphprover.examples import memory
from graphprover.observation import Observation, Share, observed
from tests.graphs.test_proof import FEW, example

HOSTILE = "</script><script>throw 'x'</script>"


@cache
def on_cpu() -> Observation:
    """A small statement's proof, whose tables share tasks."""
    with observed() as seen:
        prove(example(memory), executor="threads", parameters=FEW)
    return replace(seen[0], name="memory")


def on_gpu() -> Observation:
    """The same as a GPU would be seen, with hostile names."""
    cpu = on_cpu()
    bus = {"launches": 7, "uploaded": 1 << 20, "waited": 0.0}
    tasks = tuple(
        replace(task, device_start=task.start + 0.001, device_end=task.end + 0.003, **bus) for task in cpu.tasks
    )
    tables = tuple(replace(table, name=f"{table.name}{HOSTILE}") for table in cpu.tables)
    machine = replace(cpu.machine, gpu="A GPU")
    return replace(cpu, name=HOSTILE, device="cuda", machine=machine, tasks=tasks, tables=tables)


def slow(seen: Observation, round_: str, table: int | None, seconds: float) -> Observation:
    """As if a round's tasks had taken so long, all for one table."""
    tables = () if table is None else (Share(table, 1.0),)
    tasks = tuple(
        replace(task, end=task.start + seconds, device_end=task.device_start + seconds, tables=tables, waited=seconds)
        if task.round == round_
        else task
        for task in seen.tasks
    )
    return replace(seen, tasks=tasks)
