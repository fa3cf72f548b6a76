"""Proofs of compressions: our verifier and Plonky3's accept the honest ones, and reject all others."""

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import blake3
import numpy as np
import pytest

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import HASH_NAMES
from graphprover.proving.prove import prove
from graphprover.recursion.tables.blake3 import CallUse
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from graphprover.verifier import verify
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN
from tests.recursion.falsified import verdicts
from tests.recursion.machines import height
from tests.recursion.naive import Call, blake3_trace, message_calls, node_call, words_of
from tests.recursion.stating import BLAKE3_TABLE, Claim, claims_of, statement

SIZES = (1, 64, 65, 128, 200, 300)


def stated_calls() -> list[Call]:
    """Return the calls that hash some messages and nodes."""
    rng = random.Random(3)
    calls = [call for size in SIZES for call in message_calls(rng.randbytes(size))]
    return [*calls, *(node_call(rng.randbytes(64)) for _ in range(3))]


def claims_by_the_library() -> list[Claim]:
    """Return claims whose digests are the library's; the others, inside of messages, are not stated."""
    rng = random.Random(3)
    digests = [blake3.blake3(rng.randbytes(size)).digest() for size in SIZES]
    digests += [blake3.blake3(rng.randbytes(64)).digest() for _ in range(3)]
    waiting = iter(digests)
    return [
        claim if CallUse.CHAIN in claim.call.use else replace(claim, digest=words_of(next(waiting)))
        for claim in claims_of(stated_calls())
    ]


@pytest.mark.parametrize("hash", HASH_NAMES)
def test_both_verifiers_accept_digests_of_the_library(hash: str, tmp_path: Path) -> None:
    made = statement(claims_by_the_library(), stated_calls())
    assert check(made) == []
    proof = prove(made, hash=hash, device="cpu")
    public = statement(claims_by_the_library(), [Call([0] * 8, [0] * 16, [0] * 4, CallUse(0))])  # other traces
    assert verify(proof, public).bits >= 128
    plonky3.write_statement(tmp_path / "statement.json", proof.parameters, made.tables, made.label)
    assert plonky3.verify_payloads(tmp_path, tmp_path / "statement.json", [proof.payload]) == [None]


def test_another_statement_does_not_verify() -> None:
    claims, calls = claims_by_the_library(), stated_calls()
    proof = prove(statement(claims, calls), parameters=PLAIN, device="cpu")
    verify(proof, statement(claims, calls), security=0)
    for at in (0, 1, len(claims) - 1):
        wrong = replace(claims[at], digest=[claims[at].digest[0] ^ 1, *claims[at].digest[1:]])
        with pytest.raises(VerificationError):
            verify(proof, statement([*claims[:at], wrong, *claims[at + 1 :]], calls), security=0)


def chain_cut(t: SimpleNamespace) -> None:
    t.chain[16 * 2 : 16 * 3] = 0


def other_final(t: SimpleNamespace) -> None:
    t.final[15], t.final[14] = 0, 1


def other_cell(t: SimpleNamespace) -> None:
    t.a[0][0][0][20] ^= np.uint64(1)


def false_traces() -> dict[str, Statement]:
    """Return statements whose claims are false, or whose traces do not satisfy the tables."""
    claims, calls = claims_by_the_library(), stated_calls()
    other = replace(claims[0], digest=[claims[0].digest[0] ^ 1, *claims[0].digest[1:]])
    found = {
        "wrong digest": statement([other, *claims[1:]], calls),
        "wrong value": statement(claims, [*calls[:3], replace(calls[3], value=calls[0].digest), *calls[4:]]),
    }
    for edit in (chain_cut, other_final, other_cell):
        main = blake3_trace(calls, height(len(calls), 16))
        edit(BLAKE3_TABLE.view(main))
        found[edit.__name__] = statement(claims, main=main)
    return found


@pytest.mark.parametrize("name", false_traces())
def test_both_verifiers_reject_proofs_of_false_statements(name: str, tmp_path: Path) -> None:
    false = false_traces()[name]
    assert check(false)
    assert None not in verdicts(false, tmp_path)


def test_both_provers_give_the_same_bytes(tmp_path: Path) -> None:
    case = Case(PLAIN, statement(claims_by_the_library(), stated_calls()))
    files = case.write_and_prove(tmp_path)
    assert files.proof.read_bytes() == case.prove()
    assert plonky3.verify(files.statement, files.proof) is None
