"""Every kernel compiles for every generation of GPUs we run on, without a GPU, and keeps its values in registers."""

import importlib.util
import os
import struct

import pytest

from graphprover.kernels.cuda.sources import FOLDER, STANDARD, source

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
REQUIRED = "GRAPHPROVER_REQUIRE_NVRTC"  # set where a missing compiler is a failure, as in CI

if not os.environ.get(REQUIRED) and (not importlib.util.find_spec("cuda") or not importlib.util.find_spec("cuda.core")):
    pytest.skip(f"cuda-core[cu13] is not installed ({REQUIRED} makes this an error)", allow_module_level=True)


def resources(cubin: bytes) -> dict[str, tuple[int, int]]:
    """Registers a thread and bytes of stack a thread of each kernel of a cubin.

    An ELF file; section ``.nv.info`` is a list of attributes (format, code, size, value), in which code 0x2f gives a
    symbol's registers and 0x11 its frame.
    """
    sections, header_size, count, names_at = _elf_header(cubin)
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
        if kind != 4:  # the value is in place of the size
            continue
        if code in (0x2F, 0x11):
            symbol, value = struct.unpack_from("<II", cubin, place)
            name = text(symbols[6], struct.unpack_from("<I", cubin, symbols[4] + 24 * symbol)[0])
            values.setdefault(name, {})[code] = value
        place += size
    return {name: (each[0x2F], each.get(0x11, 0)) for name, each in values.items() if 0x2F in each}


def _elf_header(cubin: bytes) -> tuple[int, int, int, int]:
    assert cubin[:4] == b"\x7fELF"
    sections = struct.unpack_from("<Q", cubin, 0x28)[0]
    return sections, *struct.unpack_from("<HHH", cubin, 0x3A)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("file", sorted(each.name for each in FOLDER.glob("*.cu")))
def test_compiles(file: str, architecture: str, capsys: pytest.CaptureFixture[str]) -> None:
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(arch=architecture, std=STANDARD)
    kernels = resources(Program(source(file), "c++", options).compile("cubin").code)
    assert kernels
    with capsys.disabled():
        for name, (registers, stack) in sorted(kernels.items()):
            print(f"\n{architecture} {file} {name}: {registers} registers, {stack} bytes of stack", end="")
    assert all(0 < registers <= 255 for registers, _ in kernels.values())
    # A few spilled addresses are harmless, an array in local memory is not.
    assert all(stack <= 256 for _, stack in kernels.values())
