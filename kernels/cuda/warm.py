"""Compiling kernels ahead, by all cores: CuPy keeps what it compiled on disk, for every process of this user.

No CPU twin: Numba's kernels belong to no table.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import cupy

from graphprover.air.description import AirDescription
from graphprover.kernels.cuda.generate import table_sources
from graphprover.kernels.cuda.sources import FOLDER, STANDARD, source


def compile_kernels(
    airs: Iterable[AirDescription], more: Mapping[str, str], device: int
) -> Iterator[tuple[str, float]]:
    """Compile the kernels of all operations and of these tables for a device; yields what was done, and its seconds.

    ``more``: texts of other kernels by their names.

    Processes are started anew: one that was forked could not use the GPU that this one uses.
    """
    texts = {source(file.name): file.name for file in sorted(FOLDER.glob("*.cu"))}
    texts |= {text: name for name, text in more.items()}
    for air in airs:
        for text in table_sources(air):
            texts.setdefault(text, f"table {air.name}, {air.main_width} columns")
    workers = min(os.cpu_count() or 1, len(texts))
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (device,)) as pool:
        # The longest first, or one of them runs alone at the end.
        jobs = {pool.submit(_compile, text): texts[text] for text in sorted(texts, key=len, reverse=True)}
        try:
            for job in as_completed(jobs):
                yield jobs[job], job.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(device: int) -> None:
    """What a process does once: it takes the device, and has the compiler loaded, by a kernel that does nothing."""
    cupy.cuda.Device(device).use()
    _compile('extern "C" __global__ void nothing() {}')


def _compile(text: str) -> float:
    """Seconds that it took, some hundredths for what is kept already."""
    started = time.perf_counter()
    cupy.RawModule(code=text, options=(f"-std={STANDARD}",), backend="nvrtc").compile()
    return time.perf_counter() - started
