"""Prove the guest, verify the proof, and compare the output with the same computation in Python."""

from collections import Counter
from pathlib import Path

from graphprover import Prover

FOLDER = Path(__file__).resolve().parents[1]


def expected(data: bytes) -> bytes:
    """Return the lines of each word with its count, the most frequent first."""
    counts = sorted(Counter(data.split()).items(), key=lambda entry: (-entry[1], entry[0]))
    return b"".join(b"%d %s\n" % (count, word) for word, count in counts)


def main() -> None:
    """Prove one run."""
    data = (FOLDER / "README.md").read_bytes()
    prover = Prover(FOLDER / "main.elf")
    claim = prover.verify(prover.prove(data)).claim
    assert claim is not None and claim.output == expected(data)
    print(f"proved: {len(claim.output)} bytes of output in {claim.cycles:,} cycles")


if __name__ == "__main__":
    main()
