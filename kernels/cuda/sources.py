"""The text of kernels, as a compiler takes it."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
STANDARD = "c++17"  # of C++, for every kernel


def source(file: str) -> str:
    """The text of a file of this folder with every ``#include "..."`` replaced by what it names, once."""
    included: set[str] = set()

    def text(name: str) -> str:
        if name in included:
            return ""
        included.add(name)
        return re.sub(r'^#include "(.+)"$', lambda match: text(match[1]), (FOLDER / name).read_text(), flags=re.M)

    return text(file).replace("#pragma once\n", "")
