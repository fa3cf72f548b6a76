"""The tables `compress` and `fixed` prove BLAKE3 and nothing else, for any traces."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import blake3
import numpy as np
import pytest

from graphprover.air.debugger import FailingConstraint
from graphprover.air.evaluate import evaluate
from graphprover.field import P
from graphprover.recursion.tables import places
from graphprover.recursion.tables.buses import XOR, XOR_4, XOR_7
from graphprover.recursion.tables.compress import NODE_PARAMETERS, Compress, Use
from graphprover.recursion.tables.fixed import ROWS as PAIRS
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import check
from tests.recursion.naive import (
    IDLE,
    IV,
    Call,
    compress_trace,
    fixed_trace,
    message_calls,
    node_call,
    put_call,
    words_of,
)
from tests.recursion.stating import COMPRESS, FIXED, Claim, agreed, claims_of, statement

NODE, PART, CHAIN = Use.NODE, Use.PART, Use.CHAIN


def some_bytes(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def mixed_calls() -> list[Call]:
    """Return calls of every kind: two nodes, messages of one, three and two blocks."""
    nodes = [node_call(some_bytes(i, 64)) for i in range(2)]
    messages = [message_calls(some_bytes(size, size)) for size in (40, 150, 128)]
    return [nodes[0], *messages[0], *messages[1], nodes[1], *messages[2]]


def test_costs() -> None:
    """Pin the counts, as docs/recursion.md has them."""
    compress, fixed = Compress().describe(), FIXED.describe()
    assert (compress.main_width, len(compress.lookups), compress.log_quotient_chunks) == (183, 17, 2)
    assert places.ROWS * cells_per_row(compress) == 3984
    assert sum(len(lookup.tuples) for lookup in compress.lookups) == 64 + 4
    costs = fixed.main_width, fixed.preprocessed_width, len(fixed.lookups), fixed.log_quotient_chunks
    assert costs == (6, 12, 5, 0)
    assert FIXED.preprocessed_trace().shape == (12, PAIRS) == (12, 2**16)
    text = (Path(__file__).parents[2] / "docs/recursion.md").read_text()
    assert "| `compress` | 16 a compression | 183 | 0 | 17 | 4 | 3,984 a compression |" in text
    assert f"| `fixed` | 2^16 | 6 | 12 | 5 | 1 | {cells_per_row(fixed)} a row |" in text


def test_places_of_the_block() -> None:
    assert places.PLACES[1] == tuple(range(16))
    assert all(sorted(found) == list(range(16)) for found in places.PLACES)
    assert all(places.reflected(w, places.reflected(w, lane)) == lane for w in range(4) for lane in range(4))


@pytest.mark.parametrize("size", [0, 1, 3, 63, 64, 65, 127, 128, 129, 192, 193, 256, 300, 1000, 1024])
def test_messages_have_the_digests_of_blake3(size: int) -> None:
    data = some_bytes(size, size)
    digest, claims = words_of(blake3.blake3(data).digest()), claims_of(message_calls(data))
    assert claims[-1].digest == digest
    assert check(statement(claims)) == []
    wrong = replace(claims[-1], digest=[digest[0] ^ 1, *digest[1:]])
    assert check(statement([*claims[:-1], wrong]))


def test_chunks_and_parents_have_the_digest_of_blake3() -> None:
    data = some_bytes(7, 1500)
    left, right = (message_calls(data[:1024]), message_calls(data[1024:]))
    ends = 2  # CHUNK_END without ROOT
    for chunk, calls in enumerate((left, right)):
        value = IV
        for i, call in enumerate(calls):
            flags = call.parameters[3] & ~8
            calls[i] = replace(call, value=value, parameters=[chunk, 0, call.parameters[2], flags])
            value = calls[i].digest
        assert calls[-1].parameters[3] & ends
    parent = Call(IV, [*left[-1].digest, *right[-1].digest], [0, 0, 64, 4 | 8], PART)
    assert parent.digest == words_of(blake3.blake3(data).digest())
    assert check(statement(claims_of([*left, *right, parent]))) == []


def test_nodes_have_the_digest_of_blake3() -> None:
    children = some_bytes(3, 64)
    call = node_call(children)
    assert call.digest == words_of(blake3.blake3(children).digest())
    assert tuple(call.parameters) == NODE_PARAMETERS
    assert check(statement(claims_of([call]))) == []


def test_idle_calls_say_nothing() -> None:
    assert check(statement([Claim(IDLE, [0] * 8)], [IDLE] * 3)) == []
    assert check(statement(claims_of(mixed_calls()), [*mixed_calls(), IDLE])) == []


# Traces of other calls than the claimed ones.


def changed(calls: list[Call], at: int, **to: Any) -> list[Call]:
    return [*calls[:at], replace(calls[at], **to), *calls[at + 1 :]]


def one_more(words: Any, at: int = 0) -> list[int]:
    return [*words[:at], words[at] ^ 1, *words[at + 1 :]]


MIXED = mixed_calls()  # 0 node, 1 message, 2 to 4 message, 5 node, 6 and 7 message
USES = {
    "a part as a node": (1, NODE),
    "a node as a part": (0, PART),
    "a node as both": (0, NODE | PART),
    "a part as both": (1, NODE | PART),
    "an idle node": (0, Use(0)),
    "an idle part": (1, Use(0)),
    "an idle part inside": (3, Use(0)),
    "a chain cut": (3, PART),
    "a chain cut at its begin": (2, PART),
    "a chain joined": (1, PART | CHAIN),
    "a chain into a node": (4, PART | CHAIN),
    "a chain without a part": (3, CHAIN),
    "a chained node": (0, NODE | CHAIN),
    "a chain at the table's end": (7, PART | CHAIN),
}


@pytest.mark.parametrize("name", USES)
def test_other_uses_are_found(name: str) -> None:
    """The flags alone change, and then also what follows from them: the chaining value of the next call."""
    at, use = USES[name]
    assert MIXED[at].use != use
    calls = changed(MIXED, at, use=use)
    assert check(statement(claims_of(MIXED), calls))
    if at < 7:
        value = calls[at].digest if CHAIN in use else IV
        calls = changed(calls, at + 1, value=value)
        assert check(statement(claims_of(MIXED), calls))


@pytest.mark.parametrize("at", range(8))
@pytest.mark.parametrize("what", ["value", "block", "parameters"])
def test_other_inputs_are_found(at: int, what: str) -> None:
    words = getattr(MIXED[at], what)
    for place in range(len(words)):
        calls = changed(MIXED, at, **{what: one_more(words, place)})
        for later in range(at + 1, 8):  # chained calls follow
            if CHAIN in calls[later - 1].use:
                calls = changed(calls, later, value=calls[later - 1].digest)
        assert check(statement(claims_of(MIXED), calls)), place


@pytest.mark.parametrize("at", range(8))
def test_other_digests_are_found(at: int) -> None:
    claims = claims_of(MIXED)
    for place in range(8):
        claim = replace(claims[at], digest=one_more(claims[at].digest, place))
        found = check(statement([*claims[:at], claim, *claims[at + 1 :]], MIXED))
        assert bool(found) == (CHAIN not in MIXED[at].use)  # no claim has the digest of a block inside


def test_swapped_claims_are_found() -> None:
    claims = claims_of(MIXED)
    assert check(statement(claims, numbers=[0, 1, 3, 2, 4, 5, 6, 7]))
    assert check(statement(claims, numbers=[0, 4, 2, 3, 1, 5, 6, 7]))
    swapped = [replace(claims[1], digest=claims[4].digest), replace(claims[4], digest=claims[1].digest)]
    assert check(statement([claims[0], swapped[0], *claims[2:4], swapped[1], *claims[5:]], MIXED))
    blocks = changed(MIXED, 2, block=MIXED[3].block)
    blocks = changed(blocks, 3, block=MIXED[2].block, value=blocks[2].digest)
    blocks = changed(blocks, 4, value=blocks[3].digest)
    assert check(statement(claims, blocks))


def edited(edit: Callable[[SimpleNamespace], None], calls: list[Call] = MIXED) -> list[Any]:
    """Return the findings after ``edit`` changed the trace of `compress`."""
    main = compress_trace(calls, 16 * len(calls))
    edit(COMPRESS.view(main))
    return check(statement(claims_of(calls), main=main))


def test_a_call_of_another_length_is_found() -> None:
    def early(t: SimpleNamespace) -> None:
        t.final[14], t.position[15:] = 1, np.arange(len(t.position) - 15) % 16

    def never(t: SimpleNamespace) -> None:
        t.final[15], t.position[16:32], t.number[16:] = 0, np.arange(16, 32), t.number[16:] - 1

    def nowhere(t: SimpleNamespace) -> None:
        t.final[:] = 0
        t.position[:] = np.arange(len(t.position))

    def shifted(t: SimpleNamespace) -> None:
        for cells in vars(t).values():
            cells[:] = np.roll(cells, 1, axis=-1)

    def odd(t: SimpleNamespace) -> None:
        t.odd[:] = 1 - t.odd

    for edit in (early, never, nowhere, shifted, odd):
        assert edited(edit), edit.__name__


def labels(main: np.ndarray) -> set[str]:
    """Return the labels of the constraints that a trace does not satisfy, whatever its users agree to."""
    findings = check(agreed(main))
    return {finding.label for finding in findings if isinstance(finding, FailingConstraint)}


def test_a_table_does_not_begin_inside_a_call() -> None:
    """With eight rows a call of three rounds would fit: nothing but the first position is wrong."""
    main, t = COMPRESS.zeros(8)
    put_call(t, 0, 0, node_call(some_bytes(1, 64)), rounds=3)
    (finding,) = check(agreed(main))
    assert isinstance(finding, FailingConstraint) and finding.label == "the table begins with a call"
    assert check(agreed(compress_trace([node_call(some_bytes(1, 64))], 16))) == []


# For each constraint, by its label, an edit that it refuses: the column, the rows and the values there.
REFUSED: dict[str, tuple[str, Any, Any]] = {
    "the table begins with a call": ("position", 0, 1),
    "positions follow each other": ("position", 3, 7),
    "a row ends a call or not": ("final", 15, 2),
    "a call ends at the last position": ("final", 3, 1),
    "the table ends with a call": ("final", -1, 0),
    "position 0 is even": ("odd", 0, 1),
    "even and odd positions alternate": ("odd", 3, 0),
    "numbers begin with 0": ("number", 0, 1),
    "numbers of calls follow each other": ("number", slice(16, None), 0),
    "a call has a use or not": ("part", slice(0, 16), 2),
    "the rows of a call have one use": ("part", 3, 1),
    "only parts of a message are chained": ("chain", slice(0, 16), 1),
    "message words move": ("m", (3, 9), 1),
    "a + b + m": ("a", (0, 1, 2, 9), 300),
    "c + d": ("c", (1, 1, 2, 9), 300),
    "b in the place of a": ("a", (0, 1, 2, 15), 300),
    "a in the place of b": ("low", (0, 1, 2, 15), 300),
    "c stays": ("c", (1, 1, 2, 15), 300),
    "the chaining value is the IV or the digest before": ("a", (1, 0, 0, 16), 300),
    "the IV in the third row of the state": ("c", (1, 0, 0, 16), 300),
    "the parameters of a node": ("d", (1, 0, 0, 0), 300),
    "a node is not chained": ("chain", slice(-16, None), 1),
}


def test_every_constraint_refuses_a_trace() -> None:
    assert set(COMPRESS.describe().constraint_labels) == set(REFUSED)
    for label, (column, at, value) in REFUSED.items():
        main = compress_trace(MIXED, 128)
        getattr(COMPRESS.view(main), column)[at] = value
        assert label in labels(main)
    assert labels(compress_trace(MIXED, 128)) == set()


def test_each_of_many_constraints_refuses_a_trace() -> None:
    """Of constraints with one label: by use, word, lane and byte."""
    rng, failing = np.random.default_rng(4), set()
    description, period = COMPRESS.describe(), compress_trace(MIXED, 128)
    for _ in range(100):
        main = np.where(rng.random(period.shape) < 0.05, period + np.uint64(1), period)
        values = evaluated(main)[0][: len(description.constraints)]
        failing |= {i for i, zero in enumerate(values) if zero.any()}
    assert failing == set(range(len(description.constraints)))
    assert len(description.constraints) == 113


def test_equal_numbers_are_found() -> None:
    def equal(t: SimpleNamespace) -> None:
        t.number[:] = 0

    def later(t: SimpleNamespace) -> None:
        t.number[:] += np.uint64(1)

    for edit in (equal, later):
        assert edited(edit), edit.__name__


def test_what_nothing_reads() -> None:
    """Row 0 has no first half, and its words are read as sums; row 15 has no second sum."""

    def unused(t: SimpleNamespace) -> None:
        first = slice(0, None, 16)
        for cells in (t.a[0], t.d[0], t.c[0], t.high[0], t.low[0]):
            cells[..., first] = 77
        for cells in (t.a[1], t.c[1]):  # a byte less, and 256 of the byte below more
            cells[:, 0, first] += np.uint64(256)
            cells[:, 1, first] = (cells[:, 1, first] + np.uint64(P - 1)) % np.uint64(P)
        t.high[1][:, 0, first] += np.uint64(2)
        low = t.low[1][:, 1, first]
        t.low[1][:, 1, first] = (low + np.uint64(P - 1)) % np.uint64(P)
        a, d = t.a[1][..., 15::16], t.d[1][..., 15::16]
        d ^= a ^ np.uint64(99)
        a[:] = 99

    assert edited(unused) == []


def test_a_message_word_has_the_range_that_its_users_show() -> None:
    """A word of 33 bits passes for 0, if the statement has it too."""
    call = node_call(bytes(64))
    main = compress_trace([call], 16)
    for row, found in enumerate(places.PLACES):
        COMPRESS.view(main).m[found[0], row] = 2**32
    claim = replace(claims_of([call])[0], call=replace(call, block=[2**32, *call.block[1:]]))
    assert check(statement([claim], main=main)) == []
    assert check(statement(claims_of([call]), main=main))


# Cells of a call, one by one.

_LANES = [f"[{lane}][{q}]" for lane in range(4) for q in range(4)]
UNREAD = {(0, f"{name}[0]{at}") for name in ("a", "d", "c", "high", "low") for at in _LANES}


Evaluated = list[list[np.ndarray]]  # constraints, multiplicities and fields by block of rows


def evaluated(main: np.ndarray) -> Evaluated:
    """Return the values of all constraints and messages of a trace."""
    description = COMPRESS.describe()
    roots = list(description.constraints)
    for interaction in description.globals:
        roots += [interaction.tuples[0].multiplicity, *interaction.tuples[0].fields]
    return [values for _, values in evaluate(description, main, None, (), roots)]


def noticed(main: np.ndarray, honest: Evaluated) -> np.ndarray:
    """Return for each row whether a constraint fails, a lookup has no xor, or a message is not the honest one.

    This is stricter than `check`: counts of lookups are of no help, so it is as if the prover had adapted them.
    """
    description, found = COMPRESS.describe(), []
    for values, honest_values in zip(evaluated(main), honest, strict=True):
        bad = np.zeros(len(values[0]), dtype=bool)
        for zero in values[: len(description.constraints)]:
            bad |= zero != 0
        at = len(description.constraints)
        for interaction in description.globals:
            end = at + 1 + len(interaction.tuples[0].fields)
            (count, *fields), (honest_count, *honest_fields) = values[at:end], honest_values[at:end]
            wrong = not_xors(str(interaction.bus), fields)
            if wrong is None:
                wrong = np.any([a != b for a, b in zip(fields, honest_fields, strict=True)], axis=0)
            bad |= (count != honest_count) | (count != 0) & wrong
            at = end
        found.append(bad)
    return np.concatenate(found)


def not_xors(bus: str, fields: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return which messages on a bus of xors are not of bytes and their xor; None for another bus."""
    low_bits = {XOR.name: 8, XOR_4.name: 4, XOR_7.name: 7}.get(bus)
    if low_bits is None:
        return None
    x, y, *z = fields
    low, high = (x ^ y) & np.uint64((1 << low_bits) - 1), (x ^ y) >> np.uint64(low_bits)
    right = [low] if bus == XOR.name else [high, low]
    return (x > 255) | (y > 255) | np.any([a != b for a, b in zip(z, right, strict=True)], axis=0)


KINDS = {"node": NODE, "part": PART, "chain": PART | CHAIN, "idle": Use(0)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [1, pytest.param(P - 1, marks=pytest.mark.slow), 2**32])
def test_every_cell_of_a_call_counts(kind: str, change: int) -> None:
    """Change one cell in each of 2,928 calls: every row and every column once."""
    names = COMPRESS.describe().main_names
    # By row, so that a row notices one change at most: its own, or its successor's.
    changes = [(row, column) for row in range(16) for column in range(len(names))]
    calls, value, rng = [], IV, random.Random(kind)
    for _ in range(64):
        parameters = NODE_PARAMETERS if KINDS[kind] is NODE else [rng.getrandbits(32) for _ in range(4)]
        calls.append(Call(value, [rng.getrandbits(32) for _ in range(16)], parameters, KINDS[kind]))
        value = calls[-1].digest if CHAIN in calls[-1].use else IV
    calls[-1] = replace(calls[-1], use=calls[-1].use & ~CHAIN)
    period = compress_trace(calls, 16 * len(calls))
    honest, found = evaluated(period), set()
    assert not noticed(period, honest).any()
    for first in range(0, len(changes), len(calls)):
        main = period.copy()
        for i, (row, column) in enumerate(changes[first : first + len(calls)]):
            main[column, 16 * i + row] = (int(main[column, 16 * i + row]) + change) % P
        bad = noticed(main, honest)
        for i, (row, column) in enumerate(changes[first : first + len(calls)]):
            if not bad[16 * i + row] and not bad[16 * i + row - 1]:
                found.add((row, names[column]))
    assert found == UNREAD


def test_xors_are_found() -> None:
    """Every column with lookups of xors counts."""
    claims, main = claims_of(MIXED), compress_trace(MIXED, 128)
    right = statement(claims, main=main)
    counts = fixed_trace(main)
    for column in range(3):
        row = int(np.flatnonzero(counts[column])[5])
        for at, by in ((row, 1), (row, P - 1), (0, 7), (PAIRS - 1, 1)):
            wrong = counts.copy()
            wrong[column, at] = (int(wrong[column, at]) + by) % P
            tables = [right.tables[0], replace(right.tables[1], main=wrong), right.tables[2]]
            assert check(type(right)(tables)), (column, at)
