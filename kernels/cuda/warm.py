"""Compile kernels in advance on all cores: CuPy caches them on disk for every process of this user.

No CPU twin: no Numba kernel depends on a table.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType

import cupy

from graphprover.air.description import AirDescription
from graphprover.kernels.cuda import sources
from graphprover.kernels.cuda.compile_queue import Ahead, Job, Turn
from graphprover.kernels.cuda.launch import compiled
from graphprover.kernels.cuda.source_cache import folder, table_jobs

Tell = Callable[[str, float, int], object]  # the compiled text, its seconds, the number of known remaining texts


@cache
def ahead(device: int) -> Ahead:
    """Return this process's compile queue of a device."""

    def run(job: Job) -> None:
        with cupy.cuda.Device(device):
            compiled(job.text, job.name).load()

    return Ahead(table_jobs, run)


@cache
def _operations() -> list[Job]:
    return _named(sources.texts())


def _named(texts: Mapping[str, str]) -> list[Job]:
    return [Job(Turn.OPERATION, name, text) for name, text in texts.items()]


def expect(
    tables: Iterable[AirDescription],
    device: int,
    more: Mapping[str, str] = MappingProxyType({}),
    *,
    guess: bool = False,
) -> None:
    """Compile the kernels of all operations and of these tables in the background: `Ahead.expect`.

    ``more``: texts of other operations by their names.
    """
    ahead(device).expect(tables, [*_operations(), *_named(more)], guess=guess)


def expects(text: str) -> bool:
    """Whether this process compiles a text ahead for the current device, or has."""
    return ahead(cupy.cuda.runtime.getDevice()).expects(text)


def kept() -> int:
    """Return the number of texts that CuPy has cached on disk."""
    return len(list(folder().glob("*.cubin")))


def compile_kernels(airs: Iterable[AirDescription], more: Mapping[str, str], device: int, tell: Tell) -> None:
    """Compile the kernels of all operations and of these tables for a device; ``tell`` is called after each of them.

    ``more``: texts of other kernels by their names. Raises the compiler's first error, after all others are done.
    """
    errors: list[Exception] = []

    def run(job: Job) -> None:
        started = time.perf_counter()
        try:
            with cupy.cuda.Device(device):
                compiled(job.text, job.name).load()
        except Exception as error:
            errors.append(error)
        tell(job.name, time.perf_counter() - started, own.left())

    own = Ahead(table_jobs, run)
    own.expect(airs, [*_operations(), *_named(more)])
    own.wait()
    if errors:
        raise errors[0]
