"""Fixtures that choose the interpreter or compiled blocks."""

from collections.abc import Iterator

import numpy as np
import pytest

from graphprover.vm.executor import native
from graphprover.vm.program.elf import Image


def all_compiled(image: Image, *, record: bool) -> native.Translation:
    """Compile all possible instructions to machine code from the start."""
    found = native.Translation(image, record=record)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "MOST", len(image.code))
        found.native = native.compile_blocks(image, np.full(len(image.code), native.OFTEN), record=record)
    return found


@pytest.fixture(scope="module", params=["interpreter", "blocks"])
def by(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run every test once by the interpreter and once by compiled blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "translation_of", all_compiled if request.param == "blocks" else native.Translation)
        yield request.param
