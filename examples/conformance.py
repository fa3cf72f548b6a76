"""Batches of calls for the conformance guests, and the output that a guest must have.

    python -m graphprover.examples.conformance batch.bin expected.txt --small
    graphprover execute examples/guests/conformance/conformance_c.elf --input batch.bin --output output.txt
    cmp output.txt expected.txt

The calls are the vectors in guests/conformance/vectors, of the distribution graphprover-examples. docs/conformance.md
describes them, the batch and the output.
"""

import argparse
import gzip
import json
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from Crypto.Hash import keccak

from graphprover.examples.data import data_folder

FOLDER = Path(__file__).parent / "guests/conformance"
FUNCTIONS = (  # in the order of zkvm_accelerators.h; the place is the number in a batch
    "keccak256",
    "secp256k1_verify",
    "secp256k1_ecrecover",
    "sha256",
    "ripemd160",
    "modexp",
    "bn254_g1_add",
    "bn254_g1_mul",
    "bn254_pairing",
    "blake2f",
    "kzg_point_eval",
    "bls12_g1_add",
    "bls12_g1_msm",
    "bls12_g2_add",
    "bls12_g2_msm",
    "bls12_pairing",
    "bls12_map_fp_to_g1",
    "bls12_map_fp2_to_g2",
    "secp256r1_verify",
)
LISTED = 16  # failed cases in an output
LEAST = {"bn254_pairing": 2 * 192, "bls12_pairing": 2 * 288, "modexp": 100}  # bytes of an input


@dataclass(frozen=True)
class Case:
    """One call of a function.

    Attributes:
        function: The function's name, without ``zkvm_``.
        input: The arguments in one piece.
        expect: The result, a verdict as one byte; None for ``ZKVM_EFAIL``.
        source: The file and the name of the vector.
    """

    function: str
    input: bytes
    expect: bytes | None
    source: str


def load(function: str) -> list[Case]:
    """Return the vectors of a function.

    Args:
        function: One of `FUNCTIONS`.

    Raises:
        FileNotFoundError: The distribution graphprover-examples is not installed.
    """
    vectors = data_folder(FOLDER / "vectors", "vectors")
    with (vectors / f"{function}.jsonl.gz").open("rb") as file, gzip.open(file, "rt", encoding="utf-8") as lines:
        return [_case(function, **json.loads(line)) for line in lines]


def _case(function: str, input: str, expect: str | None, source: str) -> Case:
    return Case(function, bytes.fromhex(input), None if expect is None else bytes.fromhex(expect), source)


def small(cases: Iterable[Case]) -> list[Case]:
    """Return a few cases of one function: of each kind of outcome a short one, with as varied bytes as there are."""
    kinds: dict[object, Case] = {}
    for case in sorted(cases, key=lambda case: (len(case.input), -len(set(case.input)))):
        if len(case.input) >= LEAST.get(case.function, 1):
            verdict = case.expect if case.function.endswith(("verify", "pairing", "eval")) else b""
            kinds.setdefault((case.expect is None, verdict), case)
    return list(kinds.values())


def batch(cases: Iterable[Case]) -> bytes:
    """Return the input of a guest: for each case a head, the arguments and the expected result, each padded to 8."""
    parts = []
    for case in cases:
        expect = case.expect or b""
        sizes = (FUNCTIONS.index(case.function), case.expect is None, len(case.input), len(expect))
        parts += [struct.pack("<4I", *sizes), *(part + bytes(-len(part) % 8) for part in (case.input, expect))]
    return b"".join(parts)


def output(cases: Sequence[Case], failed: Sequence[int] = (), digest: bytes | None = None) -> bytes:
    """Return the output of a guest.

    Args:
        cases: The cases of the batch.
        failed: The places of cases whose outcome is not the expected one.
        digest: The digest of the outcomes; by default of the expected ones.
    """
    names = [case.function for case in cases]
    lines = [f"{function} {names.count(function)}" for function in FUNCTIONS]
    lines += [f"cases {len(cases)}", f"failures {len(failed)}", *(f"failed {place}" for place in failed[:LISTED])]
    return "\n".join([*lines, f"digest {(digest or digest_of(cases)).hex()}", ""]).encode()


def digest_of(cases: Iterable[Case]) -> bytes:
    """Return the digest of the expected outcomes: a chain of Keccak-256 from 32 zeros."""
    digest = bytes(32)
    for case in cases:
        result = case.expect or b""
        words = struct.pack("<3I", FUNCTIONS.index(case.function), case.expect is None, len(result))
        digest = keccak.new(digest_bits=256, data=digest + words + result).digest()
    return digest


def chosen(functions: Iterable[str], few: bool) -> Iterator[Case]:
    """Yield the vectors of some functions, or a few of each function."""
    for function in functions:
        cases = load(function)
        yield from small(cases) if few else cases


def main() -> None:
    """Write a batch and the output that a guest must have."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batch", type=Path, metavar="BATCH")
    parser.add_argument("expected", type=Path, metavar="EXPECTED")
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=FUNCTIONS, metavar="NAME")
    parser.add_argument("--small", action="store_true", help="a few cases of each function, for a proof")
    options = parser.parse_args()
    try:
        cases = list(chosen(options.functions, options.small))
    except FileNotFoundError as error:
        sys.exit(f"graphprover.examples.conformance: {error}")
    options.batch.write_bytes(batch(cases))
    options.expected.write_bytes(output(cases))
    print(f"{len(cases)} cases, {options.batch.stat().st_size} bytes")


if __name__ == "__main__":
    main()
