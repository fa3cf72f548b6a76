"""Sees the tasks of a proof while its graph runs: what each took on host and device, beside what was planned."""

import os
import platform
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
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
from graphprover.graphs.batches import batches, named
from graphprover.graphs.builder import Around
from graphprover.graphs.planner.costs import Cost, Costs
from graphprover.graphs.planner.roofline import Roofline, assumed
from graphprover.graphs.task_keys import Place, place_of
from graphprover.protocol.layout import Layout
from graphprover.runtime.settings import NVTX, setting
from graphprover.telemetry.model import Machine, ObservedTable, ObservedTask, Planned, Processor, Share
from graphprover.telemetry.subscribe import observing, on_clock

PACKAGES = ("dask", "distributed", "numpy", "numba")
GPU_PACKAGES = ("cupy", "cupy-cuda12x", "cupy-cuda13x", "rmm", "rmm-cu12", "rmm-cu13")


@dataclass(frozen=True)
class GraphOfProof:
    """One of the graphs that make a proof: of a sharded proof there are two a shard."""

    task: Delayed
    layout: Layout
    made: Sequence[int]  # the tables whose traces it makes
    live: int  # bytes that the device holds before it, by the plan
    shard: int | None = None
    tables: int = 0  # of the shards before


class _Ran(NamedTuple):
    """A task as the host saw it; when the device came to it is read at the end."""

    place: Place
    graph: int  # number of its graph in the proof
    thread: int  # as the process knows it
    start: float  # of time.perf_counter
    end: float
    first: Reading
    last: Reading
    stamp: Any  # of the device, after it
    held: int  # bytes


@dataclass(frozen=True)
class TaskTime:
    """What a task took."""

    round: str
    start: float  # of time.perf_counter, when the device came to it
    end: float  # when it was done with it
    uploaded: int  # bytes of traces over the bus
    downloaded: int  # bytes of results over the bus


@dataclass(frozen=True)
class _Timing:
    """What somebody asks for with `timed`."""

    wanted: Callable[[Layout], bool]
    times: list[TaskTime]


_timed: ContextVar[_Timing | None] = ContextVar("graphprover-timed", default=None)


@contextmanager
def timed(wanted: Callable[[Layout], bool] = lambda layout: True) -> Iterator[list[TaskTime]]:
    """What the tasks take of the proofs that this thread makes meanwhile, in no order.

    ``wanted`` says whether a proof of this shape that is whole is to be timed, which takes 20 µs a task on a GPU's
    host: a tenth of a small proof.
    """
    timing = _Timing(wanted, [])
    token = _timed.set(timing)
    try:
        yield timing.times
    finally:
        _timed.reset(token)


def observer_for(device: Device, layout: Layout | None = None) -> "Observer | None":
    """An observer, if somebody wants to know; ``layout``: of a whole proof."""
    timing = _timed.get()
    asked = timing is not None and (layout is None or timing.wanted(layout))
    return Observer(device) if asked or observing() else None


class Observer:
    """Sees the tasks of one proof on one device. Threads share it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._ran: list[_Ran] = []
        self._spans: list[tuple[float, float]] = []  # the same by the device, once all have ended
        device.memory.reset()
        self.before = device.memory.held()  # bytes
        self._meter = ProcessorMeter() if observing() else None
        self._processor: Processor | None = None

    def task(self, place: Place, run: Callable[[], Any], graph: int = 0) -> Any:
        """Runs a task of one of the proof's graphs, and gives its value; one that fails is forgotten."""
        with self._device.task():
            start, first = time.perf_counter(), self._device.reading()
            value = run()
            stamp, last, end = self._device.stamp(), self._device.reading(), time.perf_counter()
            thread, held = threading.get_ident(), self._device.memory.held()
            self._ran.append(_Ran(place, graph, thread, start, end, first, last, stamp, held))
        return value

    @property
    def processor(self) -> Processor:
        """What the process got of the host's processor until `tell`."""
        assert self._processor is not None
        return self._processor

    def tell(self) -> None:
        """Note that all graphs have run, and give whoever has asked by `timed` what ran; waits for the device."""
        if self._meter:
            self._processor = self._meter.read(always=self._device.kind == CPU)
        if timing := _timed.get():
            for one, span in self._on_device():
                moved = one.last.uploaded - one.first.uploaded, one.last.downloaded - one.first.downloaded
                timing.times.append(TaskTime(one.place.round, *span, *moved))

    def _on_device(self) -> list[tuple[_Ran, tuple[float, float]]]:
        """What ran, and when the device came to each and was done with it; waits for the device."""
        if not self._spans:
            with self._device.task():
                self._spans = self._device.spans([(one.start, one.stamp) for one in self._ran])
        return list(zip(self._ran, self._spans, strict=True))

    def tasks(self, graphs: Sequence[GraphOfProof], began: float) -> tuple[ObservedTask, ...]:
        """All that ran, by when they began, beside what is planned of them; waits for the device.

        ``began``: of `clock`, the 0 of the times.
        """
        device = self._device
        ended: list[list[Place]] = [[] for _ in graphs]
        for one in sorted(self._ran, key=lambda one: one.end):
            ended[one.graph].append(one.place)
        plans, held = [], []
        for graph, places in zip(graphs, ended, strict=True):
            made, keeps = tuple(graph.made), device.memory.keeps
            plans.append(_plan(graph.layout, device.log_batch_rows, made, keeps, device.kind, device.threads))
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
                planned=Planned(*plans[one.graph][one.place].work, held[one.graph][one.place]),
                shard=graphs[one.graph].shard,
            )
            for one, (came, done) in sorted(self._on_device(), key=lambda seen: seen[0].start)
        )


def around_tasks(device: Device, observer: Observer | None, graph: int = 0) -> Around | None:
    """What is done around each task of a graph: the observer sees it, and it is in ranges of NVTX where those are set.

    ``graph``: its number among those that the observer is told of.
    """
    around: Around | None = partial(observer.task, graph=graph) if observer else None
    return _in_ranges(device, around) if setting(NVTX) else around


def _in_ranges(device: Device, around: Around | None) -> Around:
    """The same around each task, within a range by its round for NVIDIA's profilers, and in that one by its name."""

    def named(place: Place, run: Callable[[], Any]) -> Any:
        with device.profiled(place.round), device.profiled(place.name):
            return around(place, run) if around else run()

    return named


@dataclass(frozen=True)
class _Part:
    """What is planned of a task."""

    kept: int  # bytes
    work: tuple[int, int, int, int, float, str]  # as `Planned` has it, but for what is held
    shares: tuple[Share, ...]


class _Plan(dict[Place, _Part]):
    """What is planned of tasks, found when it is first asked for."""

    def __init__(self, costs: Costs, roofline: Roofline) -> None:
        super().__init__()
        self._costs, self._roofline = costs, roofline

    def __missing__(self, place: Place) -> _Part:
        cost = self._costs.of(*place)
        lower_bound = self._roofline.modelled(cost)
        counts = cost.multiplications, cost.butterflies, cost.permutations, cost.moved
        shares = _shares(self._costs.by_table(*place), self._roofline)
        self[place] = _Part(cost.kept, (*counts, lower_bound.seconds, lower_bound.bound), shares)
        return self[place]


@lru_cache(64)
def _plan(
    layout: Layout, log_batch_rows: int, made: tuple[int, ...], loaded: bool, kind: str, threads: int
) -> Mapping[Place, _Part]:
    """The plan of a shape, once for all proofs of it: it takes longer than the sight of them."""
    return _Plan(Costs(layout, batches(layout, log_batch_rows), made, loaded), assumed(kind, threads).roofline)


def _shares(costs: Mapping[int, Cost], roofline: Roofline) -> tuple[Share, ...]:
    """The parts of tables in a task, by their modelled times."""
    times = {table: roofline.modelled(cost).seconds for table, cost in costs.items()}
    total = sum(times.values())
    if not total:
        return tuple(Share(table, 1 / len(times)) for table in times)
    return tuple(Share(table, seconds / total) for table, seconds in times.items() if seconds)


def _numbered(shares: tuple[Share, ...], first: int) -> tuple[Share, ...]:
    """The same, of a shard whose first table has this number."""
    return tuple(replace(share, table=first + share.table) for share in shares) if first else shares


def _planned_memory(ended: Sequence[Place], graph: Delayed, plan: Mapping[Place, _Part], live: int) -> dict[Place, int]:
    """Bytes that the plan says are held as each task ends, in the order in which they ended, from ``live`` on.

    What a task has read is held until then, and given back after the last that reads it.
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
    """The tables of a statement, or of a shard of one."""
    airs = zip(layout.tables, layout.log_heights, strict=True)
    return tuple(
        ObservedTable(named(layout, table), 1 << log_rows, air.main_width, shard)
        for table, (air, log_rows) in enumerate(airs)
    )


def machine(device: Device) -> Machine:
    """This one."""
    return Machine(*_host(), device.threads, device.model, device.memory.total)


@cache
def _host() -> tuple[str, str, int]:
    """Its name, its processor and how many cores it has."""
    return socket.gethostname(), _cpu_model(), os.cpu_count() or 1


def _cpu_model() -> str:
    """The processor's name, as well as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def versions(gpu: bool) -> dict[str, str]:
    """Of what makes a proof; with ``gpu`` also of what drives one."""
    found = {"graphprover": __version__, "python": platform.python_version()}
    for package in PACKAGES + GPU_PACKAGES * gpu:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
