"""Compilation of many kernels at a time without a GPU; registers and stack of a kernel, read from its machine code."""

import os
import struct
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import pytest

from graphprover.kernels.cuda.nvrtc import NvrtcError, compile, library

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")  # A100; H100 and H200; B200; RTX 50
REQUIRE = "GRAPHPROVER_REQUIRE_NVRTC"  # set to 1, a missing compiler fails the tests instead of skipping them

_REGISTERS, _FRAME = 0x2F, 0x11  # attributes of a kernel in section .nv.info
_INDEXED = 4  # format of an attribute that names a symbol


@dataclass(frozen=True)
class Kernel:
    """The resources of one kernel."""

    name: str
    registers: int  # per thread
    stack: int  # bytes per thread: spilled registers, arrays and calls


@dataclass(frozen=True)
class Job:
    """One compilation."""

    title: str  # display name
    code: str  # CUDA C++, with everything that it includes
    architecture: str  # "sm_90"


def require() -> None:
    """Skip the calling test, or module of tests, if the compiler is not installed (see REQUIRE)."""
    if library() is not None:
        return
    reason = "nvidia-cuda-nvrtc is not installed (the extra [test] has it for Linux)"
    if os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{REQUIRE}=1, but {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def compile_all(jobs: Iterable[Job]) -> list[tuple[Job, Kernel]]:
    """Compile all jobs, in one process per processor because the compiler's threads block each other.

    Raises NvrtcError, naming the job, for the first one that does not compile.
    """
    longest_first = sorted(jobs, key=lambda job: -len(job.code))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        compiled = zip(longest_first, pool.map(_kernels_of, longest_first), strict=True)
        return [(job, kernel) for job, found in compiled for kernel in found]


def _kernels_of(job: Job) -> list[Kernel]:
    try:
        return kernels(compile(job.code, job.architecture))
    except NvrtcError as error:
        raise NvrtcError(f"{job.title} for {job.architecture}: {error}") from None


def kernels(cubin: bytes) -> list[Kernel]:
    """Return the kernels of a cubin.

    Its section ``.nv.info`` is a list of attributes (format, code, size, value), some of which give a symbol's
    registers or frame.
    """
    assert cubin[:4] == b"\x7fELF"
    sections = struct.unpack_from("<Q", cubin, 0x28)[0]
    header_size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, sections + i * header_size) for i in range(count)]

    def text(table: int, offset: int) -> str:
        start = headers[table][4] + offset
        return cubin[start : cubin.index(b"\0", start)].decode()

    by_name = {text(names_at, header[0]): header for header in headers}
    symbols, info = by_name[".symtab"], by_name[".nv.info"]
    values: dict[str, dict[int, int]] = {}
    place, end = info[4], info[4] + info[5]
    while place < end:
        kind, code, size = struct.unpack_from("<BBH", cubin, place)
        place += 4
        if kind != _INDEXED:  # the value is in place of the size
            continue
        if code in (_REGISTERS, _FRAME):
            symbol, value = struct.unpack_from("<II", cubin, place)
            name = text(symbols[6], struct.unpack_from("<I", cubin, symbols[4] + 24 * symbol)[0])
            values.setdefault(name, {})[code] = value
        place += size
    return [
        Kernel(name, found[_REGISTERS], found.get(_FRAME, 0)) for name, found in values.items() if _REGISTERS in found
    ]
