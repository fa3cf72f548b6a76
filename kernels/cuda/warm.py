"""Compiling kernels ahead, by all cores: CuPy keeps what it compiled on disk, for every process of this user.

No CPU twin: Numba's kernels belong to no table.
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

Tell = Callable[[str, float, int], object]  # what was compiled, its seconds, how many texts are known to be left


@cache
def ahead(device: int) -> Ahead:
    """What this process compiles ahead for a device."""

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
    """Have the kernels of all operations and of these tables compiled, beside what this thread does: `Ahead.expect`.

    ``more``: texts of other operations by their names.
    """
    ahead(device).expect(tables, [*_operations(), *_named(more)], guess=guess)


def expects(text: str) -> bool:
    """Whether this process compiles a text ahead for the current device, or has."""
    return ahead(cupy.cuda.runtime.getDevice()).expects(text)


def kept() -> int:
    """How many texts CuPy has compiled and keeps on disk."""
    return len(list(folder().glob("*.cubin")))


def compile_kernels(airs: Iterable[AirDescription], more: Mapping[str, str], device: int, tell: Tell) -> None:
    """Compile the kernels of all operations and of these tables for a device; ``tell`` is called after each of them.

    ``more``: texts of other kernels by their names. Raises the first error of the compiler, once all others are done.
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
