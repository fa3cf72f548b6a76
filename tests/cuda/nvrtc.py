"""Compilation of many kernels at a time without a GPU; registers and stack of a kernel, read from its machine code.

What was read is in files of `CACHE`, whose names are digests of all that it depends on: a later run of the tests
compiles the texts that have changed, and all if the compiler or its options have.
"""

import hashlib
import json
import os
import struct
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

from graphprover.kernels.cuda import nvrtc as compiler
from graphprover.kernels.cuda.nvrtc import NvrtcError, compile, library
from graphprover.kernels.cuda.sources import STANDARD
from graphprover.runtime.files import FileError, write

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")  # A100; H100 and H200; B200; RTX 50
REQUIRE = "GRAPHPROVER_REQUIRE_NVRTC"  # set to 1, a missing compiler fails the tests instead of skipping them

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphprover-tests/nvrtc"

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
    """Return the kernels of all jobs, compiled in one process per processor: the compiler's threads block each other.

    Raises NvrtcError, naming the job, for the first one that does not compile.
    """
    longest_first = sorted(jobs, key=lambda job: -len(job.code))
    found = {job: cached(job) for job in longest_first}
    missing = [job for job, of in found.items() if of is None]
    if missing:
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            found.update(zip(missing, pool.map(_kernels_of, missing), strict=True))
    return [(job, kernel) for job, of in found.items() for kernel in of or ()]


def cached(job: Job) -> list[Kernel] | None:
    """Return the kernels that an earlier compilation of the same text had; None if there was none."""
    with suppress(OSError, ValueError, TypeError):
        return [Kernel(**fields) for fields in json.loads(_file_of(job).read_text())]
    return None


def _file_of(job: Job) -> Path:
    own = hashlib.sha256(Path(__file__).read_bytes() + Path(compiler.__file__).read_bytes()).hexdigest()
    size = library().stat().st_size  # type: ignore[union-attr]
    of = (compiler.version(), size, STANDARD, job.architecture, own, job.code)
    return CACHE / f"{hashlib.sha256(json.dumps(of, allow_nan=False).encode()).hexdigest()}.json"


def _kernels_of(job: Job) -> list[Kernel]:
    try:
        found = kernels(compile(job.code, job.architecture))
    except NvrtcError as error:
        raise NvrtcError(f"{job.title} for {job.architecture}: {error}") from None
    with suppress(OSError, FileError):  # without the folder, a later run compiles again
        CACHE.mkdir(parents=True, exist_ok=True)
        write(_file_of(job), json.dumps([asdict(kernel) for kernel in found], allow_nan=False).encode(), synced=False)
    return found


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
