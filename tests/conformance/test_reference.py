"""The vectors of the accelerator functions against other libraries, and their description against the files."""

import hashlib
import random
import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from graphprover.examples.conformance import FUNCTIONS, Case, load
from tests.conformance import reference

DOCUMENT = Path(__file__).parents[2] / "docs/conformance.md"
# Every Nth case runs by default, because py_ecc takes up to two seconds a case.
SLOW = {
    "bn254_g1_mul": 10,
    "bn254_pairing": 8,
    "kzg_point_eval": 25,
    "bls12_g1_msm": 40,
    "bls12_g2_msm": 40,
    "bls12_pairing": 40,
    "bls12_map_fp_to_g1": 10,
    "bls12_map_fp2_to_g2": 20,
}


def differing(cases: list[Case]) -> list[str]:
    return [case.source for case in cases if reference.FUNCTIONS[case.function](case.input) != case.expect]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_reference_gives_the_vectors(function: str) -> None:
    assert differing(load(function)[:: SLOW.get(function, 1)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("function", SLOW)
def test_the_reference_gives_all_vectors(function: str) -> None:
    assert differing(load(function)) == []


def test_the_document_states_the_number_of_cases() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", DOCUMENT.read_text(), re.MULTILINE)
    counts = {function: (int(cases), int(refused)) for function, cases, refused in rows}
    found = {function: load(function) for function in FUNCTIONS}
    assert counts == {name: (len(cases), sum(case.expect is None for case in cases)) for name, cases in found.items()}
    total = sum(len(cases) for cases in found.values())
    assert f"{total:,} calls" in DOCUMENT.read_text()


def test_an_input_is_in_one_case() -> None:
    for function in FUNCTIONS:
        inputs = [case.input for case in load(function)]
        assert len(inputs) == len(set(inputs))


def test_both_outcomes_are_there() -> None:
    """Each verdict is true in some cases and false in others; each function that may refuse has refused cases."""
    never_refuse = {"keccak256", "sha256", "ripemd160", "modexp", "secp256k1_verify", "secp256r1_verify"}
    for function in FUNCTIONS:
        results = {case.expect for case in load(function)}
        assert (None in results) == (function not in never_refuse), function
        if function.endswith(("verify", "pairing", "eval")):
            assert results - {None} == {b"\0", b"\1"}, function


def test_blake2f_is_the_compression_of_blake2b() -> None:
    """Hash one block by F and by hashlib."""
    for size in (1, 64, 128):
        block = random.Random(size).randbytes(size)
        start = [word ^ (0x01010040 if place == 0 else 0) for place, word in enumerate(reference.BLAKE2B_START)]
        state = b"".join(word.to_bytes(8, "little") for word in start)
        wire = state + block.ljust(128, b"\0") + size.to_bytes(16, "little") + bytes([12, 0, 0, 0, 1])
        assert reference.blake2f(wire) == hashlib.blake2b(block).digest()


def test_a_recovered_key_verifies() -> None:
    recovered = [case for case in load("secp256k1_ecrecover") if case.expect]
    assert len(recovered) > 30
    for case in recovered:
        assert case.expect is not None
        assert reference.verified(ec.SECP256K1(), case.input[:96] + case.expect) == reference.TRUE


def test_hashes_of_their_standards() -> None:
    """FIPS 180-4, the page of RIPEMD-160, and the hash of nothing in Ethereum's yellow paper."""
    assert reference.sha256(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert reference.ripemd160(b"abc").hex() == "0" * 24 + "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"
    assert reference.keccak256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
