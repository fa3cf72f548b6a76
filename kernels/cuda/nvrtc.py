"""CUDA C++ to machine code of any architecture, without a GPU and without CuPy: NVIDIA's runtime compiler.

The library is in the wheels ``nvidia-cuda-nvrtc-cu12`` and ``nvidia-cuda-nvrtc``. Machine code of release 12 also runs
with the drivers of release 13, so that one is taken if both are installed.

No CPU twin: Numba compiles for the CPU.
"""

import ctypes
import importlib.util
from functools import cache
from pathlib import Path

from graphprover.kernels.cuda.sources import STANDARD

_PACKAGES = ("nvidia.cuda_nvrtc", "nvidia.cu13")  # of the wheels


class NvrtcError(Exception):
    """The compiler's messages about an invalid source text."""


@cache
def library() -> Path | None:
    """Return the path of the compiler; None if no wheel has it."""
    for package in _PACKAGES:
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in (spec and spec.submodule_search_locations) or ():
            for file in sorted(Path(folder).glob("lib/libnvrtc.so.*")):
                return file
    return None


def version() -> str:
    """Return the compiler's release, such as "12.9"."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def compile(code: str, architecture: str) -> bytes:
    """Return a cubin, the ELF file that a GPU of this architecture loads. Raises NvrtcError."""
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), code.encode(), b"code.cu", 0, None, None))
    try:
        options = (ctypes.c_char_p * 2)(f"-std={STANDARD}".encode(), f"-arch={architecture}".encode())
        if nvrtc.nvrtcCompileProgram(program, len(options), options):
            raise NvrtcError(_bytes("ProgramLog", program).rstrip(b"\0").decode())
        return _bytes("CUBIN", program)
    finally:
        _check(nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))


@cache
def _nvrtc() -> ctypes.CDLL:
    return ctypes.CDLL(str(library()))


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
