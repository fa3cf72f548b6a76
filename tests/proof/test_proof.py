"""The envelope: one encoding of every proof, and VerificationError for all other bytes."""

import pickle
import random
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.field import P
from graphprover.proof.proof import MAGIC, Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import ENCODED_BYTES, HASH_NAMES, Parameters
from graphprover.protocol.proof import least_bytes
from graphprover.protocol.transcript import RELEASE

PARAMETERS = Parameters("keccak", *(least for least, _ in Parameters.RANGES.values()))
words = st.one_of(st.sampled_from([0, 1, P - 1]), st.integers(0, P - 1))
tables = st.lists(st.tuples(st.integers(0, 255), st.lists(words, max_size=5).map(tuple)), max_size=6)
parameters = st.builds(
    Parameters, st.sampled_from(HASH_NAMES), *(st.integers(least, most) for least, most in Parameters.RANGES.values())
)


@st.composite
def proofs(draw: st.DrawFn) -> Proof:
    label = draw(st.text(st.characters(codec="utf-8"), max_size=60))
    drawn = draw(tables)
    heights, values = tuple(height for height, _ in drawn), tuple(value for _, value in drawn)
    few = replace(draw(parameters), num_queries=draw(st.integers(1, 3)))  # as each makes the payload longer
    return Proof(label, few, heights, values, draw(st.binary(max_size=50)) + bytes(least_bytes(len(drawn), 0, few)))


def refused(data: bytes) -> str:
    with pytest.raises(VerificationError) as caught:
        Proof.from_bytes(data)
    return str(caught.value)


@given(proofs())
def test_round_trip(proof: Proof) -> None:
    assert Proof.from_bytes(proof.to_bytes()) == proof


@given(proofs(), st.integers(2, pickle.HIGHEST_PROTOCOL))
def test_pickles(proof: Proof, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(proof, protocol)) == proof
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(proof, 5, buffer_callback=buffers.append)
    (payload,) = (buffer.raw() for buffer in buffers)
    assert payload.obj is proof.payload  # no copy
    came = pickle.loads(pickled, buffers=[memoryview(bytearray(payload))])  # as Dask has read it
    assert came == proof and type(came.payload) is bytes


@given(proofs())
def test_no_prefix_is_a_proof_and_nothing_may_follow(proof: Proof) -> None:
    data = proof.to_bytes()
    for length in range(len(data)):
        refused(data[:length])
    assert "bytes follow" in refused(data + b"\0")


@given(proofs(), st.randoms(use_true_random=False))
def test_a_mutation_is_another_proof_or_none(proof: Proof, rng: random.Random) -> None:
    data = proof.to_bytes()
    for _ in range(30):
        at = rng.randrange(len(data))
        mutant = (
            data[:at] + rng.choice((b"", bytes([data[at] ^ 1 << rng.randrange(8)]), rng.randbytes(3))) + data[at + 1 :]
        )
        if mutant == data:
            continue
        try:
            assert Proof.from_bytes(mutant).to_bytes() == mutant
        except VerificationError as error:
            assert str(error)


@given(st.binary(max_size=100), st.booleans())
def test_arbitrary_bytes(data: bytes, magic: bool) -> None:
    refused(MAGIC + data if magic else data)


def test_the_bytes() -> None:
    """Field by field, as docs/protocol.md has them."""
    payload = b"payload" * 5000
    proof = Proof("né", Parameters("blake3", 1, 300, 2, 3, 4, 5, 6, 7, 8, 9), (3, 20), ((), (5, P - 1)), payload)
    assert proof.to_bytes() == b"".join(
        [
            b"graphprover proof\x02",
            b"\x050.8.0",
            b"\x03n\xc3\xa9",
            struct.pack("<11H", 1, 1, 300, 2, 3, 4, 5, 6, 7, 8, 9),
            b"\x02\x00",
            b"\x03" + bytes(4),
            b"\x14\x02\x00\x00\x00" + struct.pack("<2Q", 5, P - 1),
            struct.pack("<Q", 35000) + payload,
        ]
    )


def test_reasons() -> None:
    proof = Proof("label", PARAMETERS, (3,), ((7,),), b"payload" * 20)
    data = proof.to_bytes()
    release = len(MAGIC) + 1
    label = release + len(RELEASE) + 1
    numbers = label + len("label")
    assert "not a graphprover proof" in refused(b"another" + data[7:])
    assert "format version" in refused(data[: len(MAGIC) - 1] + b"\3" + data[len(MAGIC) :])
    assert "another release" in refused(data[:release] + b"0.9.0" + data[release + 5 :])
    assert "malformed header" in refused(data[:label] + b"\xff" + data[label + 1 :])
    assert "hash 2 is unknown" in refused(data[:numbers] + b"\2\0" + data[numbers + 2 :])
    assert "log_blowup must be" in refused(data[: numbers + 2] + bytes(2) + data[numbers + 4 :])
    header = numbers + ENCODED_BYTES
    assert "the proof ends inside 65,535 tables" in refused(data[:header] + b"\xff\xff" + data[header + 2 :])
    values = header + 2 + 5
    assert "a public value is not below p" in refused(data[:values] + P.to_bytes(8, "little") + data[values + 8 :])
    endless = data[: values - 4] + b"\xff" * 4 + data[values:]
    assert "the proof ends inside the public values" in refused(endless)
    length = values + 8
    assert "the proof ends inside the payload" in refused(data[:length] + b"\xff" * 8 + data[length + 8 :])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"label": "é" * 128}, "256 bytes"),
        ({"label": "\ud800"}, "surrogates"),
        ({"log_heights": (3, 4)}, "heights"),
        ({"log_heights": (256,)}, "one byte"),
        ({"log_heights": (-1,)}, "one byte"),
        ({"public_values": ((P,),)}, "below p"),
        ({"public_values": ((-1,),)}, "below p"),
        ({"log_heights": (0,) * 2**16, "public_values": ((),) * 2**16}, "65536 heights"),
    ],
)
def test_a_header_without_an_encoding_is_refused_when_made(changed: dict[str, object], reason: str) -> None:
    header = {"label": "", "parameters": PARAMETERS, "log_heights": (3,), "public_values": ((7,),), "payload": b""}
    with pytest.raises(ValueError, match=reason):
        Proof(**(header | changed))  # type: ignore[arg-type]
