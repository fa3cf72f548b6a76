"""The text of kernels, as a compiler takes it."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

FOLDER = Path(__file__).parent
STANDARD = "c++17"  # of C++, for every kernel


def source(file: str | Path, defines: Mapping[str, int | str] = MappingProxyType({})) -> str:
    """Return the text of a file, by its name in this folder or by its path, after ``defines``.

    Every ``#include "..."`` of a file of this folder, or of one by its path from the including file, is replaced by the
    file's text, once.
    """
    return "".join(f"#define {name} {value}\n" for name, value in defines.items()) + _with_includes(file)


def list_of(numbers: np.ndarray) -> str:
    """Return an array's numbers as a list of C, for defines."""
    return str(numbers.tolist()).translate(str.maketrans("[]", "{}"))


HASHES: Mapping[str, Mapping[str, int]] = MappingProxyType({"keccak": {}, "blake3": {"BLAKE3": 1}})  # to hash.cuh
HASHING = ("grind.cu", "merkle.cu")  # files that include hash.cuh


@cache
def _with_includes(file: str | Path) -> str:
    included: set[Path] = set()

    def text(path: Path) -> str:
        if path in included:
            return ""
        included.add(path)

        def inner(match: re.Match[str]) -> str:
            return text((path.parent if match[1].startswith("../") else FOLDER) / match[1])

        return re.sub(r'^#include "(.+)"$', inner, path.read_text(), flags=re.M)

    return text(FOLDER / file).replace("#pragma once\n", "")


NTT = (
    "whole_columns",
    *(f"{name}_{levels}" for name in ("down_bottom", "up_bottom") for levels in (9, 10, 11, 12)),
    *(f"up_natural_{levels}" for levels in (5, 6, 7, 8)),
    *(f"{name}_{levels}" for name in ("down", "up", "turn") for levels in (4, 8)),
)  # the kernels of ntt.cu


@cache
def ntt(kernel: str) -> str:
    """Return the text of one kernel of ``ntt.cu``: all together would compile longer than the rest of a proof."""
    name, _, levels = kernel.rpartition("_")
    number = {f"KERNEL_{name.upper()}": int(levels)} if levels.isdecimal() else {"KERNEL_WHOLE": 1}
    return source("ntt.cu", number)


def texts() -> dict[str, str]:
    """Return the texts of all files of this folder, by name."""
    names = sorted({file.name for file in FOLDER.glob("*.cu")} - {"ntt.cu", *HASHING})
    files = {name: source(name) for name in names}
    hashing = {f"{name}, {hash}": source(name, HASHES[hash]) for name in HASHING for hash in HASHES}
    return files | hashing | {f"ntt.cu, {kernel}": ntt(kernel) for kernel in NTT}
