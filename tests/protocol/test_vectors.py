"""Plonky3's own proofs are accepted, encode to the same bytes, and have the same transcript."""

from itertools import groupby

import pytest

from graphprover.protocol.challenger import Challenger
from graphprover.protocol.proof import encode
from tests.protocol import vectors


@pytest.mark.parametrize("name", vectors.NAMES)
def test_accepts_a_proof_of_plonky3(name: str) -> None:
    vector = vectors.load(name)
    vector.check(vector.proof)


@pytest.mark.parametrize("name", vectors.NAMES)
def test_writes_the_bytes_that_it_read(name: str) -> None:
    vector = vectors.load(name)
    assert encode(vector.proof) == vector.payload


@pytest.mark.parametrize(
    "name", [name for name in vectors.NAMES if (vectors.FOLDER / name / "transcript.txt").exists()]
)
def test_absorbs_and_squeezes_what_plonky3_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vector = vectors.load(name)
    log: list[tuple[str, bytes]] = []
    absorb, sample_bytes = Challenger.absorb, Challenger.sample_bytes

    def logged_absorb(self: Challenger, data: bytes) -> Challenger:
        log.append(("absorb", data))
        return absorb(self, data)

    def logged_sample(self: Challenger, count: int) -> tuple[Challenger, bytes]:
        after, sampled = sample_bytes(self, count)
        log.append(("squeeze", sampled))
        return after, sampled

    monkeypatch.setattr(Challenger, "absorb", logged_absorb)
    monkeypatch.setattr(Challenger, "sample_bytes", logged_sample)
    vector.check(vector.proof)
    runs = groupby((event for event in log if event[1]), key=lambda event: event[0])
    ours = [f"{kind} {b''.join(data for _, data in run).hex()}" for kind, run in runs]
    assert [f"start {vector.binding.hex()}", *ours] == vectors.transcript(name)


def test_there_are_transcripts_with_and_without_lookups() -> None:
    lookups = {bool(vectors.load(path.parent.name).layout.lookup_tables) for path in vectors.FOLDER.glob("*/*.txt")}
    assert lookups == {True, False}
