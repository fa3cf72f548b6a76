"""Data of the examples: beside their sources in a checkout, else in the distribution graphprover-examples."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from graphprover import __version__

DISTRIBUTION = "graphprover-examples"  # examples/pyproject.toml


def data_folder(beside: Path, name: str) -> Traversable:
    """Return the folder with some data.

    Args:
        beside: The folder in a checkout.
        name: The folder in the package ``graphprover_examples``.

    Raises:
        FileNotFoundError: This is no checkout, and the distribution is not installed.
    """
    if beside.is_dir():
        return beside
    try:
        return files(f"graphprover_examples.{name}")
    except ModuleNotFoundError:
        raise FileNotFoundError(
            f"the {name} are in {DISTRIBUTION} {__version__}, which is not installed: install its wheel, which comes "
            f"with graphprover's, or 'pip install ./examples' in a checkout of graphprover"
        ) from None
