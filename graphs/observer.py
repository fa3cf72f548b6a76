"""The observer of a proof's graph: measures each task on host and device, and adds its plan."""

import os
import platform
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from dask.delayed import Delayed

from graphprover import __version__
from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.device.host_processor import ProcessorMeter
from graphprover.device.interface import Reading
from graphprover.graphs.batches import Hold, Holds, batches, named
from graphprover.graphs.builder import Around
from graphprover.graphs.planner.costs import Cost, Costs
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.roofline import Roofline, assumed
from graphprover.graphs.task_keys import Place, place_of
from graphprover.protocol.layout import Layout
from graphprover.runtime.settings import NVTX, setting
from graphprover.telemetry.model import ObservedMachine, ObservedTable, ObservedTask, Processor, TableShare, TaskPlan
from graphprover.telemetry.subscribe import observing, on_clock

PACKAGES = ("dask", "distributed", "numpy", "numba")
GPU_PACKAGES = ("cupy", "cupy-cuda12x", "cupy-cuda13x", "rmm", "rmm-cu12", "rmm-cu13")


@dataclass(frozen=True)
class GraphOfProof:
    """One of the graphs of a proof; a sharded proof has two for each shard."""

    task: Delayed
    layout: Layout
    made: Sequence[int]  # tables whose traces the proof generates
    live: int  # planned bytes on the device before the graph
    shard: int | None = None
    tables: int = 0  # tables of all earlier shards
    holds: Holds = field(default_factory=dict)  # what the device holds of each table


class _Ran(NamedTuple):
    """A task as measured on the host; its device times are read later."""

    place: Place
    graph: int  # number of its graph in the proof
    thread: int  # thread identifier
    start: float  # of time.perf_counter
    end: float
    first: Reading
    last: Reading
    stamp: Any  # device position after the task
    held: int  # bytes


@dataclass(frozen=True)
class TaskTime:
    """The measured time of a task."""

    round: str
    start: float  # time.perf_counter at its start on the device
    end: float  # at its end on the device
    uploaded: int  # trace bytes over the bus
    downloaded: int  # result bytes over the bus


@dataclass(frozen=True)
class _Timing:
    """A request by `timed`."""

    wanted: Callable[[Layout], bool]
    times: list[TaskTime]


_timed: ContextVar[_Timing | None] = ContextVar("graphprover-timed", default=None)


@contextmanager
def timed(wanted: Callable[[Layout], bool] = lambda layout: True) -> Iterator[list[TaskTime]]:
    """Measure the tasks of the proofs that this thread makes in the block, in no order.

    ``wanted`` decides for an unsharded proof of a layout. Measuring takes 20 µs for each task on a GPU's host, 10 % of
    a small proof.
    """
    timing = _Timing(wanted, [])
    token = _timed.set(timing)
    try:
        yield timing.times
    finally:
        _timed.reset(token)


def observer_for(device: Device, layout: Layout | None = None) -> "Observer | None":
    """Return an observer if one is requested; ``layout``: of an unsharded proof."""
    timing = _timed.get()
    asked = timing is not None and (layout is None or timing.wanted(layout))
    return Observer(device) if asked or observing() else None


class Observer:
    """The observer of one proof's tasks on one device; shared by threads."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._ran: list[_Ran] = []
        self._spans: list[tuple[float, float]] = []  # the device times, once all tasks have ended
        device.memory.reset()
        self.before = device.memory.held()  # bytes
        self._meter = ProcessorMeter() if observing() else None
        self._processor: Processor | None = None

    def task(self, place: Place, run: Callable[[], Any], graph: int = 0) -> Any:
        """Run and measure a task of one of the proof's graphs; return its value. A failed task is not recorded."""
        with self._device.task():
            start, first = time.perf_counter(), self._device.reading()
            value = run()
            stamp, last, end = self._device.stamp(), self._device.reading(), time.perf_counter()
            thread, held = threading.get_ident(), self._device.memory.held()
            self._ran.append(_Ran(place, graph, thread, start, end, first, last, stamp, held))
        return value

    @property
    def processor(self) -> Processor:
        """Return the processor time of the process until `tell`."""
        assert self._processor is not None
        return self._processor

    def tell(self) -> None:
        """Finish the measurement after all graphs, and add the tasks to the list of `timed`; waits for the device."""
        if self._meter:
            self._processor = self._meter.read(always=self._device.kind == CPU)
        if timing := _timed.get():
            for one, span in self._on_device():
                moved = one.last.uploaded - one.first.uploaded, one.last.downloaded - one.first.downloaded
                timing.times.append(TaskTime(one.place.round, *span, *moved))

    def _on_device(self) -> list[tuple[_Ran, tuple[float, float]]]:
        """Return the tasks with their start and end on the device; waits for the device."""
        if not self._spans:
            with self._device.task():
                self._spans = self._device.spans([(one.start, one.stamp) for one in self._ran])
        return list(zip(self._ran, self._spans, strict=True))

    def tasks(self, graphs: Sequence[GraphOfProof], began: float) -> tuple[ObservedTask, ...]:
        """Return all tasks with their plans, ordered by start; waits for the device.

        Args:
            graphs: The graphs of the proof.
            began: Time 0 of the returned times, on `telemetry.subscribe.clock`.
        """
        device = self._device
        ended: list[list[Place]] = [[] for _ in graphs]
        for one in sorted(self._ran, key=lambda one: one.end):
            ended[one.graph].append(one.place)
        plans, held = [], []
        for graph, places in zip(graphs, ended, strict=True):
            made, holds = tuple(graph.made), tuple(graph.holds.items())
            plans.append(_plan(graph.layout, On.of(device), made, holds, device.kind))
            held.append(_planned_memory(places, graph.task, plans[-1], graph.live))
        numbers: dict[int, int] = {}
        zero = began - on_clock(0)
        return tuple(
            ObservedTask(
                *one.place,
                thread=numbers.setdefault(one.thread, len(numbers)),
                start=one.start - zero,
                end=one.end - zero,
                device_start=came - zero,
                device_end=done - zero,
                waited=one.last.waited - one.first.waited,
                launches=one.last.launches - one.first.launches,
                uploaded=one.last.uploaded - one.first.uploaded,
                downloaded=one.last.downloaded - one.first.downloaded,
                held=one.held,
                tables=_numbered(plans[one.graph][one.place].shares, graphs[one.graph].tables),
                planned=TaskPlan(*plans[one.graph][one.place].work, held[one.graph][one.place]),
                shard=graphs[one.graph].shard,
            )
            for one, (came, done) in sorted(self._on_device(), key=lambda seen: seen[0].start)
        )


def around_tasks(device: Device, observer: Observer | None, graph: int = 0) -> Around | None:
    """Return the wrapper of a graph's tasks: the observer and, if set, NVTX ranges.

    ``graph`` is the number of the graph in the observed proof.
    """
    around: Around | None = partial(observer.task, graph=graph) if observer else None
    return _in_ranges(device, around) if setting(NVTX) else around


def _in_ranges(device: Device, around: Around | None) -> Around:
    """Wrap each task in NVTX ranges for NVIDIA's profilers: one by its round, and one by its name within."""

    def named(place: Place, run: Callable[[], Any]) -> Any:
        with device.profiled(place.round), device.profiled(place.name):
            return around(place, run) if around else run()

    return named


@dataclass(frozen=True)
class _Part:
    """The plan of a task."""

    kept: int  # bytes
    work: tuple[int, int, int, int, float, str]  # as in `TaskPlan`, without the held bytes
    shares: tuple[TableShare, ...]


class _Plan(dict[Place, _Part]):
    """The plans of tasks, computed on first use."""

    def __init__(self, costs: Costs, roofline: Roofline) -> None:
        super().__init__()
        self._costs, self._roofline = costs, roofline

    def __missing__(self, place: Place) -> _Part:
        cost = self._costs.of(*place)
        lower_bound = self._roofline.modelled(cost)
        counts = cost.multiplications, cost.butterflies, cost.hash_calls, cost.moved
        shares = _shares(self._costs.by_table(*place), self._roofline)
        self[place] = _Part(cost.kept, (*counts, lower_bound.seconds, lower_bound.bound), shares)
        return self[place]


@lru_cache(64)
def _plan(
    layout: Layout, on: On, made: tuple[int, ...], holds: tuple[tuple[int, Hold], ...], kind: str
) -> Mapping[Place, _Part]:
    """Return the plan of a shape, cached because it takes longer than the observation of a proof."""
    batched = batches(layout, on.log_batch_rows, dict(holds))
    return _Plan(Costs(layout, batched, made, on.loads), assumed(kind, on.threads).roofline)


def _shares(costs: Mapping[int, Cost], roofline: Roofline) -> tuple[TableShare, ...]:
    """Return the tables' shares of a task by their modelled times."""
    times = {table: roofline.modelled(cost).seconds for table, cost in costs.items()}
    total = sum(times.values())
    if not total:
        return tuple(TableShare(table, 1 / len(times)) for table in times)
    return tuple(TableShare(table, seconds / total) for table, seconds in times.items() if seconds)


def _numbered(shares: tuple[TableShare, ...], first: int) -> tuple[TableShare, ...]:
    """Return shares of a shard's tables as shares of the proof's tables, which start at ``first``."""
    return tuple(replace(share, table=first + share.table) for share in shares) if first else shares


def _planned_memory(ended: Sequence[Place], graph: Delayed, plan: Mapping[Place, _Part], live: int) -> dict[Place, int]:
    """Return the planned bytes held at the end of each task, in the order of their ends, starting from ``live``.

    The inputs of a task are held until its end and freed after their last reader.
    """
    tasks = graph.__dask_graph__()
    numbers = {key: number for number, key in enumerate(tasks)}
    numbered = {place_of(key): number for key, number in numbers.items()}
    needs = [[numbers[key] for key in task.dependencies] for task in tasks.values()]
    readers, kept = Counter(chain.from_iterable(needs)), [plan[place].kept for place in numbered]
    found = {}
    for place in ended:
        number = numbered[place]
        live += kept[number]
        found[place] = live
        for needed in needs[number]:
            readers[needed] -= 1
            if not readers[needed]:
                live -= kept[needed]
    return found


@lru_cache(64)
def observed_tables(layout: Layout, shard: int | None = None) -> tuple[ObservedTable, ...]:
    """Return the tables of a statement, or of a shard."""
    airs = zip(layout.tables, layout.log_heights, strict=True)
    return tuple(
        ObservedTable(named(layout, table), 1 << log_rows, air.main_width, shard)
        for table, (air, log_rows) in enumerate(airs)
    )


def machine(device: Device) -> ObservedMachine:
    """Return this machine."""
    return ObservedMachine(*_host(), device.threads, device.model, device.memory.total)


@cache
def _host() -> tuple[str, str, int]:
    """Return the host's name, its CPU model and its cores."""
    return socket.gethostname(), _cpu_model(), os.cpu_count() or 1


def _cpu_model() -> str:
    """Return the CPU model, as far as the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def versions(gpu: bool) -> dict[str, str]:
    """Return the versions of the packages that make a proof; with ``gpu`` also of the GPU's packages."""
    found = {"graphprover": __version__, "python": platform.python_version()}
    for package in PACKAGES + GPU_PACKAGES * gpu:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
