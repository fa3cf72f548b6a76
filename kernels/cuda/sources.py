"""The text of kernels, as a compiler takes it."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).parent
STANDARD = "c++17"  # of C++, for every kernel


def source(file: str | Path, defines: Mapping[str, int] = MappingProxyType({})) -> str:
    """The text of a file, by its name in this folder or by its path, behind ``defines``.

    Every ``#include "..."``, of a file of this folder, is replaced by what it names, once.
    """
    included: set[str | Path] = set()

    def text(name: str | Path) -> str:
        if name in included:
            return ""
        included.add(name)
        return re.sub(r'^#include "(.+)"$', lambda match: text(match[1]), (FOLDER / name).read_text(), flags=re.M)

    lines = [f"#define {name} {value}\n" for name, value in defines.items()]
    return "".join(lines) + text(file).replace("#pragma once\n", "")
