"""The parser accepts one encoding of each proof, and raises VerificationError for everything else."""

import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.field import P
from graphprover.protocol import proof as module
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import decode, encode, exts_to_words, least_bytes, opened_values, words_to_exts
from tests.interop.mutations import mutations
from tests.protocol import vectors

load = cache(vectors.load)
varint = module._varint


def refused(payload: bytes, layout: Layout) -> str:
    with pytest.raises(VerificationError) as caught:
        decode(payload, layout)
    return str(caught.value)


@pytest.mark.parametrize("name", ["height1", "counter", "tiny"])
def test_no_prefix_is_a_proof(name: str) -> None:
    vector = load(name)
    for length in range(len(vector.payload)):
        refused(vector.payload[:length], vector.layout)


@pytest.mark.parametrize("name", vectors.NAMES)
@pytest.mark.parametrize("tail", [b"\0", b"\1", bytes(8), b"\xff" * 32])
def test_nothing_may_follow(name: str, tail: bytes) -> None:
    vector = load(name)
    assert f"{len(tail)} bytes follow" in refused(vector.payload + tail, vector.layout)


@contextmanager
def row_by_row() -> Iterator[None]:
    """Disable joint reading of rows."""
    at_once = module._Reader.sound_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module._Reader, "sound_rows", lambda reader, shape, count: at_once(reader, shape, 0))
        yield


def places(name: str, method: str) -> list[tuple[int, int]]:
    """Return the start and end in a payload of the reader's calls of a method."""
    found: list[tuple[int, int]] = []
    read = getattr(module._Reader, method)

    def noted(reader: module._Reader, *arguments: object) -> object:
        first = reader.position
        result = read(reader, *arguments)
        found.append((first, reader.position))
        return result

    with row_by_row(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(module._Reader, method, noted)
        decode(load(name).payload, load(name).layout)
    return found


def varints_replaced(name: str, replacement: Callable[[int], bytes]) -> list[bytes]:
    """Yield the payload with one of its varints replaced, for each varint."""
    payload, payloads = load(name).payload, []
    for first, last in [*places(name, "varint"), *places(name, "length")]:
        value = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(payload[first:last]))
        assert varint(value) == payload[first:last]
        payloads.append(payload[:first] + replacement(value) + payload[last:])
    return payloads


def long(value: int) -> bytes:
    """Return an encoding one byte longer than necessary."""
    written = varint(value)
    return written[:-1] + bytes([written[-1] | 0x80, 0])


@pytest.mark.parametrize(
    "replacement",
    [
        long,
        lambda value: varint(value + 1),
        lambda value: varint(max(value - 1, 0) or 3),
        lambda value: varint(2**63),
        lambda value: varint(2**64 - 1),
        lambda value: varint(2**64 + value),  # the same modulo 2^64
        lambda value: b"\x80" * 9 + b"\x02",
        lambda value: b"\xff" * 20,
    ],
    ids=["long", "more", "fewer", "2^63", "2^64 - 1", "2^64 more", "70 bits", "endless"],
)
@pytest.mark.parametrize("name", ["counter", "tiny"])
def test_every_length_is_the_statements_in_its_shortest_form(name: str, replacement: Callable[[int], bytes]) -> None:
    vector = load(name)
    payloads = varints_replaced(name, replacement)
    assert len(payloads) > 40
    for payload in payloads:
        refused(payload, vector.layout)


def test_a_length_is_read_no_further_than_64_bits() -> None:
    """Otherwise a file of megabytes would be one number that takes hours to read."""
    assert "a length of more than 64 bits" in refused(b"\xff" * 10**7, load("counter").layout)


def words_replaced(name: str, replacement: Callable[[int], int]) -> list[bytes]:
    """Yield the payload with one of its words replaced, for each word."""
    payload, payloads = load(name).payload, []
    for first, last in places(name, "words"):
        for at in range(first, last, 8):
            word = replacement(int.from_bytes(payload[at : at + 8], "little")).to_bytes(8, "little")
            payloads.append(payload[:at] + word + payload[at + 8 :])
    return payloads


@pytest.mark.parametrize(
    "replacement",
    [lambda value: P, lambda value: 2**64 - 1, lambda value: value + P if value < 2**64 - P else P + 1],
    ids=["p", "2^64 - 1", "p more"],
)
@pytest.mark.parametrize("name", ["height1", "tiny", "squares_pow"])
def test_every_word_is_below_p(name: str, replacement: Callable[[int], int]) -> None:
    payloads = words_replaced(name, replacement)
    assert len(payloads) > 20
    for payload in payloads:
        assert "a word is not below p" in refused(payload, load(name).layout)


@pytest.mark.parametrize("name", vectors.NAMES)
def test_rows_are_written_with_the_length_of_each_matrix(name: str) -> None:
    """Plonky3's format is a vector over queries of vectors over matrices of words."""
    vector = load(name)
    for round_, queries in zip(vector.layout.rounds, vector.proof.round_queries, strict=True):
        rows = vectors.by_matrix(queries.rows, queries.widths)
        assert len(rows) == vector.layout.parameters.num_queries
        written = varint(len(rows))
        for row in rows:
            assert [len(words) for words in row] == [8 * matrix.width for matrix in round_.matrices]
            written += varint(len(row)) + b"".join(varint(len(words) // 8) + words for words in row)
        assert vector.payload.count(written) == 1


def test_rows_of_another_length_are_not_written() -> None:
    proof = load("tiny").proof
    (first, *rest) = proof.round_queries
    for rows in (first.rows[:-8], first.rows + bytes(8), first.rows[1:]):
        with pytest.raises(ValueError, match="are not a whole number of rows of"):
            encode(replace(proof, round_queries=(replace(first, rows=rows), *rest)))


def test_groups_of_another_length_are_not_written() -> None:
    proof = load("tiny").proof
    (first, *rest) = proof.fold_queries
    for siblings in (first.siblings[:-24], first.siblings[1:]):
        with pytest.raises(ValueError, match="are not a whole number of rows of"):
            encode(replace(proof, fold_queries=(replace(first, others=2, siblings=siblings), *rest)))


def test_rows_are_written_without_copies() -> None:
    """Fresh memory for a copy would take longer than the encoding."""
    proof = load("squares_pow").proof
    (first, *rest) = proof.round_queries
    proof = replace(proof, round_queries=(replace(first, rows=bytes(1000 * len(first.rows))), *rest))
    size = len(encode(proof))
    tracemalloc.start()
    try:
        encode(proof)
        assert tracemalloc.get_traced_memory()[1] < 1.1 * size
    finally:
        tracemalloc.stop()


def test_the_largest_word_is_p_minus_1() -> None:
    vector = load("height1")
    start = 1 + 32 + 1 + 1 + 32 + 1 + 1 + 1  # two caps, two options, the tables, the columns of the first
    payload = vector.payload[:start] + (P - 1).to_bytes(8, "little") + vector.payload[start + 8 :]
    assert decode(payload, vector.layout).openings[0].main[:8] == (P - 1).to_bytes(8, "little")
    payload = vector.payload[:start] + P.to_bytes(8, "little") + vector.payload[start + 8 :]
    assert "not below p" in refused(payload, vector.layout)


@pytest.mark.parametrize("name", vectors.NAMES)
def test_what_is_parsed_of_a_mutation_is_what_was_written(name: str) -> None:
    """A random change of bytes or contents gives either no proof, or the one proof with these bytes."""
    vector = load(name)
    parsed = 0
    for payload in mutations(random.Random(name), vector.payload, vector.layout, 400):
        try:
            proof = decode(payload, vector.layout)
        except VerificationError:
            continue
        parsed += 1
        assert encode(proof) == payload
    assert parsed > 20


@pytest.mark.parametrize("name", vectors.NAMES)
def test_rows_read_at_once_are_those_read_one_by_one(name: str) -> None:
    """Both give the same proof, or the same error."""
    vector = load(name)

    def read(payload: bytes) -> object:
        try:
            return decode(payload, vector.layout)
        except VerificationError as error:
            return str(error)

    refused_ = set()
    for payload in mutations(random.Random(name), vector.payload, vector.layout, 400):
        found = read(payload)
        with row_by_row():
            assert read(payload) == found
        if isinstance(found, str):
            refused_.add(found)
    assert any("the queries of" in reason for reason in refused_)


@pytest.mark.parametrize("name", ["height1", "mixed"])
def test_random_bytes_are_no_proof(name: str) -> None:
    layout, rng = load(name).layout, random.Random(name)
    for _ in range(1000):
        refused(rng.randbytes(rng.randrange(3000)), layout)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_no_proof(data: bytes) -> None:
    refused(data, load("height1").layout)


@given(st.integers(0, 2476), st.binary(min_size=1, max_size=40))
def test_arbitrary_bytes_inside_of_a_proof(at: int, data: bytes) -> None:
    vector = load("counter")
    payload = vector.payload[:at] + data + vector.payload[at + len(data) :]
    try:
        assert encode(decode(payload, vector.layout)) == payload
    except VerificationError as error:
        assert str(error)


@pytest.mark.parametrize("name", vectors.NAMES)
def test_a_proof_of_one_statement_is_none_of_another(name: str) -> None:
    layouts = {other: load(other).layout for other in vectors.NAMES}
    statements = {other: replace(layout, parameters=layouts[name].parameters) for other, layout in layouts.items()}
    for other in vectors.NAMES:
        if statements[other] != layouts[name]:  # it may be the same with another hash
            refused(load(name).payload, layouts[other])


@pytest.mark.parametrize("name", vectors.NAMES)
def test_openings_are_in_the_order_of_the_layout(name: str) -> None:
    vector = load(name)
    values = opened_values(vector.layout, vector.proof.openings)
    widths = [m.width for round_ in vector.layout.rounds for m in round_.matrices for _ in m.points]
    assert [len(value) for value in values] == [24 * width for width in widths]


@pytest.mark.parametrize("name", vectors.NAMES)
def test_no_payload_is_shorter_than_its_tables_and_columns(name: str) -> None:
    vector = load(name)
    airs, parameters = vector.layout.tables, vector.layout.parameters
    columns = sum(air.main_width for air in airs)
    least = least_bytes(len(airs), columns, parameters)
    assert len(vector.payload) / 20 < least <= len(vector.payload)
    # The bound grows by the minimum that a table or a column adds.
    assert least_bytes(len(airs) + 1, columns, parameters) - least == 83 + 26 * parameters.num_queries
    assert least_bytes(len(airs), columns + 1, parameters) - least == 24 + 8 * parameters.num_queries


def test_words_to_exts() -> None:
    assert words_to_exts(b"".join(i.to_bytes(8, "little") for i in (1, 2, 3, P - 1, 5, 6))) == (
        (1, 2, 3),
        (P - 1, 5, 6),
    )
    assert words_to_exts(b"") == ()


@given(st.lists(st.tuples(*[st.integers(0, P - 1)] * 3), max_size=20))
def test_exts_to_words_and_back(values: list[tuple[int, int, int]]) -> None:
    words = exts_to_words(values)
    assert words == b"".join(word.to_bytes(8, "little") for value in values for word in value)
    assert words_to_exts(words) == tuple(values)
