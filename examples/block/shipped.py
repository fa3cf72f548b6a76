"""Real blocks with their witnesses that come along."""

import lzma
from importlib.resources import files
from importlib.resources.abc import Traversable

from graphprover.examples.block.block_input import BlockInput

_SUFFIX = ".bin.xz"


def names() -> list[str]:
    """Return the names of the blocks: the chain and the block's number."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in _folder().iterdir() if file.name.endswith(_SUFFIX))


def load(name: str) -> BlockInput:
    """Return a block and its witness."""
    return BlockInput.from_bytes(lzma.decompress((_folder() / f"{name}{_SUFFIX}").read_bytes()))


def _folder() -> Traversable:
    return files("graphprover.examples.block") / "inputs"
