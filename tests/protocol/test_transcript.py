"""Rendering and seeds of a protocol's description; the transcript absorbs every field of a proof."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graphprover.protocol import transcript
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import keccak256
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.proof import exts_to_words
from tests.protocol import vectors

BINDING = bytes(range(32))


def words(state: Challenger) -> list[int]:
    """Return the words absorbed after the binding, before the first sample."""
    data = state.pending[len(BINDING) :]
    return [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]


def test_a_seed_is_its_length_and_seven_bytes_a_word() -> None:
    layout = vectors.load("counter").layout
    absorbed = words(transcript.begin(layout, BINDING))
    length, *chunks = absorbed[:-3]
    seed = b"".join(chunk.to_bytes(7, "little") for chunk in chunks)
    # Name with its version in 64 bytes, fingerprint, and the label: one table of width 1, preprocessed width 1.
    assert seed[:64] == b"\x01p3-batch-stark" + bytes(64 - 16) + b"\x0e"
    label = b"".join((8).to_bytes(4, "big") + n.to_bytes(8, "big") for n in (1, 1, 1))
    assert seed[96:length] == len(label).to_bytes(4, "big") + label + b"\x80"
    assert not any(seed[length:]) and len(seed) - length < 7
    # Then the height of its one table, as an extension element.
    assert absorbed[-3:] == [layout.log_heights[0], 0, 0]


def test_the_steps_of_a_batch_are_fingerprinted_line_by_line() -> None:
    base = "Algebra(18446744069414584321^1;" + keccak256(b"p3-scalar-basis-v1").hex() + ")"
    ext = "Algebra(18446744069414584321^3;" + keccak256(b"p3-power-basis-v1:X^3-X-1").hex() + ")"
    lines = [
        f"Atomic Message 11 degree_bits Scalar {ext}",
        "Atomic Message 15 main_commitment Scalar Opaque",
        f"Atomic Public 13 public_values Fixed(0) {base}",
        "Atomic Message 23 preprocessed_commitment Scalar Opaque",
        f"Atomic Challenge 20 constraint_challenge Scalar {ext}",
        "Atomic Message 19 quotient_commitment Scalar Opaque",
        f"Atomic Pow 7 ood_pow Fixed(0) {base}",
        f"Atomic Challenge 4 zeta Scalar {ext}",
        "Begin Protocol 16 opening_argument None Marker",
        "End Protocol 16 opening_argument None Marker",
    ]
    # Ten steps, so that their numbers have one digit.
    text = "Plonky3 Fiat-Shamir Transcript (10 interactions)\n" + "".join(f"{i} {s}\n" for i, s in enumerate(lines))
    absorbed = words(transcript.begin(vectors.load("counter").layout, BINDING))
    seed = b"".join(chunk.to_bytes(7, "little") for chunk in absorbed[1:-3])
    assert seed[64:96] == keccak256(text.encode())


def test_line_numbers_are_padded_to_the_last_ones_width(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[bytes] = []

    def hashing(data: bytes) -> bytes:
        hashed.append(data)
        return keccak256(data)

    monkeypatch.setattr(transcript, "keccak256", hashing)
    transcript.batch_seed.cache_clear()
    transcript.begin(vectors.load("squares_pow").layout, BINDING)
    lines = hashed[0].decode().splitlines()
    assert lines[0] == f"Plonky3 Fiat-Shamir Transcript ({len(lines) - 1} interactions)"
    assert [line.split(" ")[0] for line in lines[1:]] == [f"{i:02}" for i in range(len(lines) - 1)]
    assert lines[6].startswith("05 Atomic Pow 10 lookup_pow Fixed(4) Algebra(")


def final_state(layout: Layout, **changed: Any) -> bytes:
    """Return the state after every step, over fixed messages of which some are ``changed``."""
    lookups = len(layout.lookup_tables)
    said: dict[str, Any] = {
        "binding": BINDING,
        "main": [b"m" * 32],
        "public": [[7] * air.num_public_values for air in layout.tables],
        "preprocessed": [b"p" * 32] if layout.preprocessed_tables else None,
        "permutation": [b"l" * 32],
        "terminals": [(i, 1, 2) for i in range(lookups)],
        "quotient": [b"q" * 32],
        "openings": [exts_to_words([(i, 3, 4)]) for i in range(3)],
        "folds": [[bytes([i]) * 32] for i in range(len(layout.fold_log_arities))],
        "final": [(8, 9, 10)],
        **changed,
    }
    state = transcript.begin(layout, said["binding"])
    state = transcript.absorb_main(state, said["main"], said["public"], said["preprocessed"])
    state, *_ = transcript.draw_lookup_challenges(state, layout, 0)
    state, _ = transcript.draw_constraint_challenge(state, said["permutation"], said["terminals"])
    state = transcript.absorb_quotient(state, said["quotient"])
    state, _ = transcript.draw_zeta(state, layout, 0)
    state = transcript.absorb_openings(state, layout, said["openings"])
    state, _ = transcript.draw_batching_challenge(state, layout, 0)
    state = transcript.begin_fri(state, layout)
    for cap in said["folds"]:
        state, _ = transcript.draw_fold_challenge(transcript.absorb_fold(state, cap), layout, 0)
    return transcript.absorb_final_polynomial(state, said["final"]).sample_bytes(32)[1]


PLAIN = {f"{site}_pow_bits": 0 for site in ("lookup", "ood", "batch", "commit", "query")}


def plain(name: str) -> Layout:
    layout = vectors.load(name).layout
    return make_layout(layout.tables, layout.log_heights, replace(layout.parameters, **PLAIN))


def changes(layout: Layout) -> dict[str, Any]:
    """Yield another value for each message."""
    return {
        "binding": bytes(32),
        "main": [b"M" * 32],
        "public": [[8] * air.num_public_values for air in layout.tables],
        "preprocessed": [b"P" * 32],
        "permutation": [b"L" * 32],
        "terminals": [(i, 1, 3) for i in range(len(layout.lookup_tables))],
        "quotient": [b"Q" * 32],
        "openings": [exts_to_words([(i, 3, 5)]) for i in range(3)],
        "folds": [[bytes([i]) * 31 + b"F"] for i in range(len(layout.fold_log_arities))],
        "final": [(8, 9, 11)],
    }


def test_whatever_the_prover_or_the_statement_says_changes_what_follows() -> None:
    layout = plain("mixed")
    states = {final_state(layout)} | {final_state(layout, **{k: v}) for k, v in changes(layout).items()}
    assert len(states) == 1 + len(changes(layout))


def lower(field: str) -> Callable[[Layout], Layout]:
    def change(layout: Layout) -> Layout:
        value = getattr(layout.parameters, field)
        parameters = replace(layout.parameters, **{field: value - 1})
        return make_layout(layout.tables, layout.log_heights, parameters)

    return change


@pytest.mark.parametrize("field", ["log_blowup", "num_queries", "log_final_poly_len", "max_log_arity"])
def test_parameters_are_described(field: str) -> None:
    """Except the parameters of Merkle caps, which are in the binding."""
    layout = plain("mixed")
    assert final_state(lower(field)(layout)) != final_state(layout)


@pytest.mark.parametrize(
    ("field", "step"),
    [
        ("lookup_pow_bits", lambda layout: transcript.begin(layout, BINDING)),
        ("ood_pow_bits", lambda layout: transcript.begin(layout, BINDING)),
        ("batch_pow_bits", lambda layout: transcript.absorb_openings(Challenger("keccak", BINDING), layout, [])),
        ("commit_pow_bits", lambda layout: transcript.begin_fri(Challenger("keccak", BINDING), layout)),
        ("query_pow_bits", lambda layout: transcript.begin_fri(Challenger("keccak", BINDING), layout)),
    ],
)
def test_grinding_is_described(field: str, step: Callable[[Layout], Challenger]) -> None:
    layout = plain("mixed")
    states = []
    for bits in (0, 1, 2):
        parameters = replace(layout.parameters, **{field: bits})
        states.append(step(make_layout(layout.tables, layout.log_heights, parameters)))
    assert len({state.pending for state in states}) == 3


def test_heights_and_the_order_of_tables_are_absorbed() -> None:
    layout = plain("squares_pow")
    taller = make_layout(layout.tables, [h + 1 for h in layout.log_heights], layout.parameters)
    swapped = make_layout(layout.tables, layout.log_heights[::-1], layout.parameters)
    states = {transcript.begin(shape, BINDING).pending for shape in (layout, taller, swapped)}
    assert len(states) == 3


@pytest.mark.parametrize(
    "step",
    [
        transcript.draw_lookup_challenges,
        transcript.draw_zeta,
        transcript.draw_batching_challenge,
        transcript.draw_fold_challenge,
        transcript.draw_queries,
    ],
)
def test_a_proof_of_work_that_fails_is_named(step: Callable[..., object]) -> None:
    layout = vectors.load("squares_pow").layout
    refused = []
    for nonce in range(8):
        try:
            step(Challenger("keccak", BINDING), layout, nonce)
        except VerificationError as error:
            refused.append(str(error))
    assert refused and all("proof of work" in reason for reason in refused)


def test_queries_are_indices_of_the_tallest_codeword_repetitions_included() -> None:
    layout = plain("mixed")
    layout = make_layout(layout.tables, layout.log_heights, replace(layout.parameters, num_queries=1000))
    queries = transcript.draw_queries(Challenger("keccak", BINDING), layout, 0)
    assert len(queries) == 1000 > len(set(queries)) > 400
    assert 2 ** (layout.log_max_rows - 1) <= max(queries) < 2**layout.log_max_rows
