"""Observations as a Chrome trace for Perfetto and chrome://tracing: a process for each proof, a row for each thread."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphprover.telemetry.model import ObservedTask, lanes_of
from graphprover.telemetry.observation import Observation

STAGES, FIRST_THREAD = 0, 1  # rows of a process: its stages, its threads
SHARDS, DEVICE = 999, 1000  # the first rows of shards, downwards, and of GPU streams, upwards: one for each worker

Event = dict[str, Any]


def chrome_trace(observations: Sequence[Observation]) -> dict[str, Any]:
    """Return the JSON object of a trace file, in microseconds from the start of the first observation.

    Each task is an event on its thread, named "round of table", and on a GPU another event on its stream. A counter
    shows the memory that the device held. Shards have rows with the times of commit, prove and verify. Each layer of a
    compressed proof is a process of its own.
    """
    observations = [proof for observation in observations for proof in observation.proofs]
    began = min((observation.began for observation in observations), default=0.0)
    events = [
        event
        for number, observation in enumerate(observations)
        for event in _events(number, observation, observation.began - began)
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _events(process: int, observation: Observation, shift: float) -> Iterator[Event]:
    def span(row: int, name: str, start: float, end: float, kind: str, **args: object) -> Event:
        times = {"ts": (start + shift) * 1e6, "dur": max(end - start, 0.0) * 1e6}
        return {"ph": "X", "name": name, "cat": kind, "pid": process, "tid": row, **times, "args": args}

    def named(what: str, row: int, name: str) -> Event:
        return {"ph": "M", "name": what, "pid": process, "tid": row, "args": {"name": name}}

    on_gpu = observation.machine.gpu is not None
    yield named(
        "process_name", STAGES, f"{observation.name or 'proof'} by {observation.worker or observation.machine.host}"
    )
    yield named("thread_name", STAGES, "stages")
    for thread in sorted({task.thread for task in observation.tasks}):
        yield named("thread_name", FIRST_THREAD + thread, observation.lane(thread))
    if on_gpu:
        for maker in dict.fromkeys(observation.maker(task.thread) for task in observation.tasks):
            yield named("thread_name", DEVICE + maker, _of(observation, maker, "GPU stream"))
    for stage in observation.stages:
        yield span(STAGES, stage.name, stage.start, stage.end, "stage")
    lanes: dict[str, int] = {}
    for index, stage, lane in lanes_of(observation.shards):
        shard = observation.shards[index]
        says = {"shard": index, "keeps": shard.keep, "planned bytes kept": shard.kept}
        row = lanes.setdefault(lane, SHARDS - len(lanes))
        yield span(row, f"{stage.name} of shard {index}", stage.start, stage.end, "shard", **says)
    for lane, row in lanes.items():
        yield named("thread_name", row, lane)
    for task in observation.tasks:
        maker = observation.maker(task.thread)
        name, args = f"{task.round} of {task.name}", _args(observation, task)
        yield span(FIRST_THREAD + task.thread, name, task.start, task.end, "host", **args)
        if on_gpu:
            yield span(DEVICE + maker, name, task.device_start, task.device_end, "device", **args)
        memory = {
            "name": _of(observation, maker, "memory"),
            "pid": process,
            "tid": STAGES,
            "args": {"bytes": task.held},
        }
        yield {"ph": "C", "ts": (task.end + shift) * 1e6, **memory}


def _of(observation: Observation, maker: int, what: str) -> str:
    """Return the name of a row, with the worker's address if there are several workers."""
    return f"{observation.workers[maker].address} {what}" if observation.workers else what


def _args(observation: Observation, task: ObservedTask) -> Mapping[str, object]:
    """Return the details that a viewer shows for a selected task."""
    tables = ", ".join(observation.tables[part.table].name for part in task.tables)
    shard = {} if task.shard is None else {"shard": task.shard}
    counts = {"launches": task.launches, "bytes up": task.uploaded, "bytes down": task.downloaded}
    return (
        shard
        | {"tables": tables, "waited ms": task.waited * 1e3, **counts, "bytes held": task.held}
        | {f"planned {name}": value for name, value in task.planned._asdict().items()}
    )
