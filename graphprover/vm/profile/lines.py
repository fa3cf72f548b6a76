"""Finds the source line of an instruction in DWARF's line table; pyelftools reads it."""

import io
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from graphprover.vm.program.elf import Image

_SECTION = b"\0.debug_line\0"


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a program."""

    names: tuple[str, ...]  # "sort.c:17"
    of: np.ndarray  # int64 (instructions,), the index in ``names``; -1 if unknown

    @classmethod
    def none(cls, image: Image) -> "Lines":
        """Return no lines, for a program without them."""
        return cls((), np.full(len(image.code), -1, dtype=np.int64))


def lines_of(image: Image) -> Lines:
    """Return the lines of a program; none if its file has none.

    Invalid parts of the file are skipped.

    Raises:
        ModuleNotFoundError: If the file has lines, but pyelftools is not installed.
    """
    none = Lines.none(image)
    if _SECTION not in image.file:
        return none
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    numbers: dict[str, int] = {}
    of = none.of.copy()
    try:
        debug = ELFFile(io.BytesIO(image.file)).get_dwarf_info()
        for unit in debug.iter_CUs():
            program = debug.line_program_for_CU(unit)
            if program is not None:
                _mark(program, image, numbers, of)
    except (ELFError, ValueError, KeyError, IndexError, AttributeError, TypeError, UnicodeError, AssertionError):
        return none  # the library rejects malformed files with many kinds of errors
    return Lines(tuple(numbers), of)


def _mark(program, image: Image, numbers: dict[str, int], of: np.ndarray) -> None:  # type: ignore[no-untyped-def]
    """Write the lines of a unit."""
    files = program.header["file_entry"]
    first = 0 if program.header["version"] >= 5 else 1  # of the files
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None:
            name = files[before.file - first].name.decode("utf-8", "replace")
            number = numbers.setdefault(f"{PurePosixPath(name).name}:{before.line}", len(numbers))
            start, end = ((address - image.code_base) // 4 for address in (before.address, state.address))
            of[max(start, 0) : max(end, 0)] = number if before.line else -1
        before = None if state.end_sequence else state
