"""Arguments that name files of this machine."""

import argparse
from pathlib import Path

from graphprover.cli.files import refused_url


def path_argument(text: str) -> Path:
    """Read the path of a file or folder.

    Args:
        text: The argument as given; `Path` would make a relative path of an address, with one slash fewer.

    Returns:
        The path.

    Raises:
        argparse.ArgumentTypeError: The argument is an address, as ``s3://bucket/data``.
    """
    return Path(program_argument(text))


def program_argument(text: str) -> str:
    """Read the name of a program, which may be a file's or an example's.

    Args:
        text: The argument as given.

    Returns:
        The same text.

    Raises:
        argparse.ArgumentTypeError: The argument is an address.
    """
    if why := refused_url(text):
        raise argparse.ArgumentTypeError(f"{text!r}: {why}")
    return text
