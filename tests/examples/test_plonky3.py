"""Plonky3 proves and accepts the examples, and our verifier accepts its proofs."""

from pathlib import Path

import pytest

from graphprover.jobs.opening import load_packaged
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("examples/fibonacci", None),
        ("examples/memory", b"Quiz!"),
        ("examples/keccak", b""),
        ("examples/keccak", bytes(300)),
    ],
)
def test_plonky3_accepts(name: str, data: bytes | None, tmp_path: Path) -> None:
    case = Case(PLAIN, load_packaged(name).record(data))
    files = case.write_and_prove(tmp_path)
    assert plonky3.verify(files.statement, files.proof) is None
    assert case.our_verdict(files.proof.read_bytes()) is None
