"""The PROOF argument: its bytes, and errors about other files in its place."""

from collections.abc import Sequence
from pathlib import Path

from graphprover.jobs.kinds import MOCK, PROOF, kind_of, kind_of_file
from graphprover.runtime.errors import UsageError
from graphprover.runtime.files import read_proof

FIRST = "the proof comes first, then PROGRAM"


def proof_bytes(path: Path, programs: Sequence[str | None] = (), remedy: str = FIRST) -> bytes:
    """Return the contents of the file that is given as PROOF.

    Args:
        path: The file.
        programs: The files that are given as PROGRAM.
        remedy: What to do about a file that is no proof, for the error.

    Raises:
        UsageError: The file is a key or a program.
        FileError: The file cannot be read.
    """
    data = read_proof(path)
    kind = kind_of(data) or ("a .py file" if path.suffix == ".py" else None)
    if kind in (None, PROOF, MOCK):  # a mock is refused by whatever reads it as a proof
        return data
    swapped = next((name for name in programs if name and kind_of_file(Path(name)) in (PROOF, MOCK)), None)
    if swapped:
        raise UsageError(f"{path} is {kind}, {swapped} a proof: swap them")
    raise UsageError(f"{path}: {kind}, not a proof: {remedy}")
