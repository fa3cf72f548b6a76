"""Prove the guest, verify the proof, and compare the output with the same computation in Python."""

from pathlib import Path

from Crypto.Hash import keccak

from graphprover import Prover

FOLDER = Path(__file__).resolve().parents[1]


def expected(data: bytes) -> bytes:
    """Return the Keccak-256 of the input."""
    return keccak.new(digest_bits=256, data=data).digest()


def main() -> None:
    """Prove one run."""
    data = (FOLDER / "README.md").read_bytes()
    prover = Prover(FOLDER / "main.elf")
    claim = prover.verify(prover.prove(data)).claim
    assert claim is not None and claim.output == expected(data)
    print(f"proved: {claim.output.hex()}")


if __name__ == "__main__":
    main()
