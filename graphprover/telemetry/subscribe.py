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
    """Return the seconds since 1970, by a monotonic clock of this process."""
    return time.perf_counter() + _OFFSET


def on_clock(counter: float) -> float:
    """Convert a value of time.perf_counter to `clock`."""
    return counter + _OFFSET


@dataclass(frozen=True)
class _Watch:
    """A subscription to observations."""

    seen: list[Observation]
    stages: dict[str, Stage]  # of the next observation, on `clock`


_watch: ContextVar[_Watch | None] = ContextVar("graphprover-observed", default=None)


@contextmanager
def observed() -> Iterator[list[Observation]]:
    """Observe the proofs that this thread makes in the block, in this process or by a cluster.

        with graphprover.observed() as seen:
            proof = prove(statement)
        seen[0].save("out.json")

    The list gets an `Observation` for each finished proof. Outside of such a block nothing is recorded, at no cost.
    """
    watch = _Watch([], {})
    token = _watch.set(watch)
    try:
        yield watch.seen
    finally:
        _watch.reset(token)


def observing() -> bool:
    """Return whether this thread has a subscription."""
    return _watch.get() is not None


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Record a stage of the next observation, if there is a subscription."""
    started = clock()
    yield
    if watch := _watch.get():
        watch.stages[name] = Stage(name, started, clock())


def first_began(otherwise: float) -> float:
    """Return the start of the next observation's first stage, on `clock`; ``otherwise`` without one."""
    watch = _watch.get()
    return min([otherwise, *(stage.start for stage in watch.stages.values())]) if watch else otherwise


def with_stages_before(observation: Observation) -> Observation:
    """Return an observation with the stages before it, if there is a subscription; the next one does not get them."""
    if watch := _watch.get():
        observation = observation.with_stages([*watch.stages.values()])
        watch.stages.clear()
    return observation


def deliver(observation: Observation) -> Observation:
    """Deliver an observation as it is to the subscription, if there is one; return it."""
    if watch := _watch.get():
        watch.seen.append(observation)
    return observation


def publish(observation: Observation) -> Observation:
    """Deliver an observation, with the stages before it, to the subscription; return it."""
    return deliver(with_stages_before(observation))
