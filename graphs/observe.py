"""Sees the tasks of a proof while its graph runs: what each took on host and device, beside what was planned."""

import os
import platform
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dask.delayed import Delayed

from graphprover import __version__
from graphprover.device import Device
from graphprover.device.interface import Reading
from graphprover.graphs.batches import batches, named
from graphprover.graphs.ceilings import Ceilings, assumed
from graphprover.graphs.costs import Cost, Costs, kept_by_size
from graphprover.graphs.keys import Place, place_of
from graphprover.graphs.tasks import Around
from graphprover.observation import Machine, Planned, SeenTable, SeenTask, Share, on_clock
from graphprover.protocol.layout import Layout

PACKAGES = ("dask", "distributed", "numpy", "numba")
GPU_PACKAGES = ("cupy", "cupy-cuda12x", "cupy-cuda13x", "rmm", "rmm-cu12", "rmm-cu13")


@dataclass(frozen=True)
class _Ran:
    """A task as the host saw it; when the device came to it is read at the end."""

    place: Place
    thread: int  # as the process knows it
    start: float  # of time.perf_counter
    end: float
    first: Reading
    last: Reading
    held: int  # bytes


class Observer:
    """Sees the tasks of one proof on one device. Threads share it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._ran: list[_Ran] = []
        device.memory.reset()
        self.before = device.memory.held()  # bytes

    @contextmanager
    def task(self, place: Place) -> Iterator[None]:
        """Around a task; one that fails is forgotten."""
        with self._device.task():
            start = time.perf_counter()
            first = self._device.reading()
            yield
            last, end = self._device.reading(), time.perf_counter()
            self._ran.append(_Ran(place, threading.get_ident(), start, end, first, last, self._device.memory.held()))

    def tasks(self, graph: Delayed, layout: Layout, made: Sequence[int], began: float) -> tuple[SeenTask, ...]:
        """All that ran, by when they began, beside what is planned of them; waits for the device.

        ``made``: the tables whose traces the proof makes. ``began``: of `clock`, the 0 of the times.
        """
        device, ran = self._device, sorted(self._ran, key=lambda one: one.start)
        plan = _plan(layout, device.log_batch_rows, tuple(made), device.memory.keeps, device.kind, device.threads)
        ended = [one.place for one in sorted(ran, key=lambda one: one.end)]
        held = _planned_memory(ended, graph, plan, kept_by_size(layout))
        numbers: dict[int, int] = {}
        times = iter(device.times([reading.mark for one in ran for reading in (one.first, one.last)]))
        zero = began - on_clock(0)
        return tuple(
            SeenTask(
                *one.place,
                thread=numbers.setdefault(one.thread, len(numbers)),
                start=one.start - zero,
                end=one.end - zero,
                device_start=next(times) - zero,
                device_end=next(times) - zero,
                waited=one.last.waited - one.first.waited,
                launches=one.last.launches - one.first.launches,
                uploaded=one.last.uploaded - one.first.uploaded,
                downloaded=one.last.downloaded - one.first.downloaded,
                held=one.held,
                tables=plan[one.place].shares,
                planned=replace(plan[one.place].planned, held=held[one.place]),
            )
            for one in ran
        )


def in_ranges(device: Device, around: Around | None) -> Around:
    """The same around each task, within a range by its round for NVIDIA's profilers, and in that one by its name."""

    @contextmanager
    def named(place: Place) -> Iterator[None]:
        with device.profiled(place.round), device.profiled(place.name), around(place) if around else nullcontext():
            yield

    return named


@dataclass(frozen=True)
class _Part:
    """What is planned of a task."""

    kept: int  # bytes
    planned: Planned  # but for what is held after it
    shares: tuple[Share, ...]


class _Plan(dict[Place, _Part]):
    """What is planned of tasks, found when it is first asked for."""

    def __init__(self, costs: Costs, ceilings: Ceilings) -> None:
        super().__init__()
        self._costs, self._ceilings = costs, ceilings

    def __missing__(self, place: Place) -> _Part:
        cost = self._costs.of(*place)
        floor = self._ceilings.modelled(cost)
        counts = cost.multiplications, cost.butterflies, cost.permutations, cost.moved
        shares = _shares(self._costs.by_table(*place), self._ceilings)
        self[place] = _Part(cost.kept, Planned(*counts, floor.seconds, floor.bound, 0), shares)
        return self[place]


@lru_cache(64)
def _plan(
    layout: Layout, log_batch_rows: int, made: tuple[int, ...], loaded: bool, kind: str, threads: int
) -> Mapping[Place, _Part]:
    """The plan of a shape, once for all proofs of it: it takes longer than the sight of them."""
    return _Plan(Costs(layout, batches(layout, log_batch_rows), made, loaded), assumed(kind, threads).ceilings)


def _shares(costs: Mapping[int, Cost], ceilings: Ceilings) -> tuple[Share, ...]:
    """The parts of tables in a task, by their modelled times."""
    times = {table: ceilings.modelled(cost).seconds for table, cost in costs.items()}
    total = sum(times.values())
    if not total:
        return tuple(Share(table, 1 / len(times)) for table in times)
    return tuple(Share(table, seconds / total) for table, seconds in times.items() if seconds)


def _planned_memory(ended: Sequence[Place], graph: Delayed, plan: Mapping[Place, _Part], live: int) -> dict[Place, int]:
    """Bytes that the plan says are held as each task ends, in the order in which they ended, from ``live`` on.

    What a task has read is held until then, and given back after the last that reads it.
    """
    tasks = graph.__dask_graph__().items()
    needs = {place_of(key): [place_of(needed) for needed in task.dependencies] for key, task in tasks}
    readers = Counter(needed for places in needs.values() for needed in places)
    found = {}
    for place in ended:
        live += plan[place].kept
        found[place] = live
        for needed in needs[place]:
            readers[needed] -= 1
            if not readers[needed]:
                live -= plan[needed].kept
    return found


def seen_tables(layout: Layout) -> tuple[SeenTable, ...]:
    """The tables of a statement."""
    airs = zip(layout.tables, layout.log_heights, strict=True)
    return tuple(
        SeenTable(named(layout, table), 1 << log_rows, air.main_width) for table, (air, log_rows) in enumerate(airs)
    )


def machine(device: Device) -> Machine:
    """This one."""
    return Machine(
        socket.gethostname(), _cpu_model(), os.cpu_count() or 1, device.threads, device.model, device.memory.total
    )


@cache
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
