"""CUDA C++ to machine code without a GPU: NVIDIA's runtime compiler, from the wheel ``nvidia-cuda-nvrtc``.

Also reads from the machine code what a kernel takes of a multiprocessor.
"""

import ctypes
import importlib.util
import os
import struct
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pytest

from graphprover.kernels.cuda.sources import STANDARD

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")  # A100; H100 and H200; B200; RTX 50
BY_DEFAULT_ONE = [  # as parameters of a test
    architecture if architecture == "sm_90" else pytest.param(architecture, marks=pytest.mark.slow)
    for architecture in ARCHITECTURES
]
REQUIRE = "GRAPHPROVER_REQUIRE_NVRTC"  # set to 1, a missing compiler fails the tests instead of skipping them

_REGISTERS, _FRAME = 0x2F, 0x11  # attributes of a kernel in section .nv.info
_INDEXED = 4  # format of an attribute that names a symbol


class CompileError(Exception):
    """What the compiler says of a source text that it does not take."""


@dataclass(frozen=True)
class Kernel:
    """What one kernel takes."""

    name: str
    registers: int  # a thread
    stack: int  # bytes a thread: spilled registers, arrays and calls


@dataclass(frozen=True)
class Job:
    """One compilation."""

    title: str  # for people
    code: str  # CUDA C++, with everything that it includes
    architecture: str  # "sm_90"


def require() -> None:
    """Skips the calling test, or module of tests, where the compiler is not installed (see REQUIRE)."""
    if _library() is not None:
        return
    reason = "nvidia-cuda-nvrtc is not installed (the extra [test] has it for Linux)"
    if os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{REQUIRE}=1, but {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def compile_all(jobs: Iterable[Job]) -> list[tuple[Job, Kernel]]:
    """The kernels of all jobs, compiled by as many processes as there are processors: threads wait for each other.

    Raises CompileError, naming the job, where one does not compile.
    """
    longest_first = sorted(jobs, key=lambda job: -len(job.code))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        compiled = zip(longest_first, pool.map(_kernels_of, longest_first), strict=True)
        return [(job, kernel) for job, found in compiled for kernel in found]


def _kernels_of(job: Job) -> list[Kernel]:
    try:
        return kernels(compile(job.code, job.architecture))
    except CompileError as error:
        raise CompileError(f"{job.title} for {job.architecture}: {error}") from None


def compile(code: str, architecture: str) -> bytes:
    """A cubin, the ELF file that a GPU of this architecture loads. Raises CompileError."""
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), code.encode(), b"code.cu", 0, None, None))
    try:
        options = (ctypes.c_char_p * 2)(f"-std={STANDARD}".encode(), f"-arch={architecture}".encode())
        if nvrtc.nvrtcCompileProgram(program, len(options), options):
            raise CompileError(_bytes("ProgramLog", program).rstrip(b"\0").decode())
        return _bytes("CUBIN", program)
    finally:
        _check(nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))


def kernels(cubin: bytes) -> list[Kernel]:
    """The kernels of a cubin.

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


@cache
def _library() -> Path | None:
    """Where the wheel has put the compiler."""
    try:
        spec = importlib.util.find_spec("nvidia.cu13")
    except ModuleNotFoundError:
        return None
    folders = [] if spec is None else spec.submodule_search_locations or []
    return next((file for folder in folders for file in Path(folder).glob("lib/libnvrtc.so.*")), None)


@cache
def _nvrtc() -> ctypes.CDLL:
    return ctypes.CDLL(str(_library()))


def _bytes(what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(_nvrtc(), f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(getattr(_nvrtc(), f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _check(result: int) -> None:
    if result:
        message = _nvrtc().nvrtcGetErrorString
        message.restype = ctypes.c_char_p
        raise RuntimeError(f"NVRTC: {message(result).decode()}")
