"""The options of the machine, and their translation to Dask's configuration."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TypeVar

from graphprover.graphs.executor_names import THREADS
from graphprover.proving.settings import ProvingSettings, applied

T = TypeVar("T")


def picked(kind: type[T], options: argparse.Namespace) -> T:
    """Return a dataclass whose fields are options of the same names."""
    return kind(**{field.name: getattr(options, field.name) for field in fields(kind)})  # type: ignore[arg-type]


@contextmanager
def configured(options: argparse.Namespace, alone: str = THREADS) -> Iterator[ProvingSettings]:
    """Apply the options of the machine, and yield them with the executor that auto has chosen; print the choice.

    Args:
        options: The command's parsed arguments.
        alone: The executor of auto without a background cluster.

    Raises:
        UsageError: An option does not fit the executor, or its value is invalid.
    """
    settings, choice = picked(ProvingSettings, options).chosen(alone)
    if choice:
        print(f"graphprover: {choice}", file=sys.stderr)
    with applied(settings):
        yield settings
