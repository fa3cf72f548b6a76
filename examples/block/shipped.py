"""Real blocks with their witnesses, of the distribution graphprover-examples."""

import lzma
from importlib.resources.abc import Traversable
from pathlib import Path

from graphprover.examples.block.block_input import BlockInput
from graphprover.examples.data import data_folder

_SUFFIX = ".bin.xz"


def names() -> list[str]:
    """Return the names of the blocks: the chain and the block's number."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in _folder().iterdir() if file.name.endswith(_SUFFIX))


def load(name: str) -> BlockInput:
    """Return a block and its witness.

    Raises:
        ValueError: There is no such block.
    """
    if name not in names():
        raise ValueError(f"no block {name!r}: the blocks are {', '.join(names())}")
    return BlockInput.from_bytes(lzma.decompress((_folder() / f"{name}{_SUFFIX}").read_bytes()))


def _folder() -> Traversable:
    return data_folder(Path(__file__).with_name("inputs"), "blocks")
