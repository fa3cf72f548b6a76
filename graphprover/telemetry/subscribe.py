"""Subscribe to observations (``observed``) and publish them (``publish``); also the clock that they use."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation

_OFFSET = time.time() - time.perf_counter()


def clock() -> float:
    """Seconds since 1970, by a clock of this process that runs evenly."""
    return time.perf_counter() + _OFFSET


def on_clock(counter: float) -> float:
    """A value of time.perf_counter on `clock`."""
    return counter + _OFFSET


@dataclass(frozen=True)
class _Watch:
    """Somebody who has asked."""

    seen: list[Observation]
    stages: dict[str, Stage]  # of the next observation, on `clock`


_watch: ContextVar[_Watch | None] = ContextVar("graphprover-observed", default=None)


@contextmanager
def observed() -> Iterator[list[Observation]]:
    """Observe the proofs that this thread makes meanwhile, itself or by a cluster.

        with graphprover.observed() as seen:
            proof = prove(statement)
        seen[0].save("out.json")

    The list gets an `Observation` for each proof as it is made. Elsewhere nothing is seen, which costs nothing.
    """
    watch = _Watch([], {})
    token = _watch.set(watch)
    try:
        yield watch.seen
    finally:
        _watch.reset(token)


def observing() -> bool:
    """Whether somebody has asked for what is seen here."""
    return _watch.get() is not None


@contextmanager
def stage(name: str) -> Iterator[None]:
    """A stage of the observation that comes next, if anybody has asked."""
    started = clock()
    yield
    if watch := _watch.get():
        watch.stages[name] = Stage(name, started, clock())


def first_began(otherwise: float) -> float:
    """When the first stage of the observation that comes next did, on `clock`; ``otherwise`` without one."""
    watch = _watch.get()
    return min([otherwise, *(stage.start for stage in watch.stages.values())]) if watch else otherwise


def publish(observation: Observation) -> Observation:
    """Give whoever has asked what was seen, with the stages before it; returns that."""
    if watch := _watch.get():
        observation = observation.with_stages([*watch.stages.values()])
        watch.stages.clear()
        watch.seen.append(observation)
    return observation
