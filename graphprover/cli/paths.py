"""Types of arguments that name local files."""

import argparse
from pathlib import Path

from graphprover.cli.files import url_error


def path_argument(text: str) -> Path:
    """Return the path of a file or folder.

    Args:
        text: The argument. It must not be a `Path` yet, which would turn a URL into a relative path.

    Returns:
        The path.

    Raises:
        argparse.ArgumentTypeError: The argument is a URL, such as ``s3://bucket/data``.
    """
    return Path(program_argument(text))


def program_argument(text: str) -> str:
    """Return the name of a program: a path, or ``examples/NAME``.

    Args:
        text: The argument.

    Returns:
        The same text.

    Raises:
        argparse.ArgumentTypeError: The argument is a URL.
    """
    if reason := url_error(text):
        raise argparse.ArgumentTypeError(f"{text!r}: {reason}")
    return text
