"""The tables `blake3` and `fixed` prove BLAKE3 and nothing else, for any traces."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import blake3
import numpy as np
import pytest

from graphprover.air.debugger import FailingConstraint
from graphprover.air.degree import at_rate
from graphprover.air.evaluate import evaluate
from graphprover.field import P
from graphprover.recursion.tables import places
from graphprover.recursion.tables.blake3 import NODE_PARAMETERS, Blake3, CallUse
from graphprover.recursion.tables.buses import XOR, XOR_4, XOR_7
from graphprover.recursion.tables.fixed import ROWS as PAIRS
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import check
from tests.recursion.naive import (
    IDLE,
    IV,
    Call,
    blake3_trace,
    fixed_trace,
    message_calls,
    node_call,
    put_call,
    words_of,
)
from tests.recursion.stating import BLAKE3_TABLE, FIXED, Claim, agreed, claims_of, statement
from tests.slow import slow_after

NODE, PART, CHAIN = CallUse.NODE, CallUse.PART, CallUse.CHAIN


def some_bytes(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def mixed_calls() -> list[Call]:
    """Return calls of every kind: two nodes, messages of one, three and two blocks."""
    nodes = [node_call(some_bytes(i, 64)) for i in range(2)]
    messages = [message_calls(some_bytes(size, size)) for size in (40, 150, 128)]
    return [nodes[0], *messages[0], *messages[1], nodes[1], *messages[2]]


def test_costs() -> None:
    """Pin the counts, as docs/recursion.md has them."""
    table, fixed = Blake3().describe(), FIXED.describe()
    assert (table.main_width, len(table.lookups), table.log_quotient_chunks) == (183, 17, 2)
    assert places.ROWS * cells_per_row(table) == 3984
    assert sum(len(lookup.tuples) for lookup in table.lookups) == 64 + 4
    costs = fixed.main_width, fixed.preprocessed_width, len(fixed.lookups), fixed.log_quotient_chunks
    assert costs == (6, 12, 5, 0)
    assert FIXED.preprocessed_trace().shape == (12, PAIRS) == (12, 2**16)
    text = (Path(__file__).parents[2] / "docs/recursion.md").read_text()
    assert "| `blake3` | 16 a compression | 183 | 0 | 17 | 4 | 3,984 a compression |" in text
    low = at_rate(table, 6)
    assert (len(low.lookups), low.log_quotient_chunks, cells_per_row(low)) == (9, 3, 237)
    assert "9 fraction columns and 8\nchunks, 237 cells a row for 249." in text
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
    "an idle node": (0, CallUse(0)),
    "an idle part": (1, CallUse(0)),
    "an idle part inside": (3, CallUse(0)),
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


@pytest.mark.parametrize("at", slow_after(3, range(8)))
@pytest.mark.parametrize("what", ["value", "block", "parameters"])
def test_other_inputs_are_found(at: int, what: str) -> None:
    words = getattr(MIXED[at], what)
    for place in range(len(words)):
        calls = changed(MIXED, at, **{what: one_more(words, place)})
        for later in range(at + 1, 8):  # chained calls follow
            if CHAIN in calls[later - 1].use:
                calls = changed(calls, later, value=calls[later - 1].digest)
        # The claims have the digests of the changed calls, so that the message with the inputs alone refuses them.
        claims = [replace(claim, digest=call.digest) for claim, call in zip(claims_of(MIXED), calls, strict=True)]
        assert check(statement(claims, calls)), place


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
    """Return the findings after ``edit`` changed the trace of `blake3`."""
    main = blake3_trace(calls, 16 * len(calls))
    edit(BLAKE3_TABLE.view(main))
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


def refusing(main: np.ndarray) -> set[tuple[str, int]]:
    """Return the constraints that a trace does not satisfy, by their labels and their numbers among equal labels."""
    blocks = evaluated(main)
    numbers, found = Counter[str](), set()
    for i, label in enumerate(BLAKE3_TABLE.describe().constraint_labels):
        if any(values[i].any() for values in blocks):
            found.add((label, numbers[label]))
        numbers[label] += 1
    return found


Forged = Callable[[], np.ndarray]


def cell(column: str, *at: int, by: int = 1) -> Forged:
    """Return how to make a trace of `MIXED` with another number in one cell."""

    def made() -> np.ndarray:
        main = blake3_trace(MIXED, 128)
        BLAKE3_TABLE.view(main).__dict__[column][at] += np.uint64(by)
        return main

    return made


def flags(calls: Sequence[Call], at: int, **values: int) -> Forged:
    """Return how to make a trace of calls, of which one has other flags."""

    def made() -> np.ndarray:
        main = blake3_trace(calls, 16 * len(calls))
        for name, value in values.items():
            getattr(BLAKE3_TABLE.view(main), name)[16 * at : 16 * at + 16] = value % P
        return main

    return made


def of_one_call(rounds: int, edit: Callable[[SimpleNamespace], None] = lambda t: None, turned: int = 0) -> Forged:
    """Return how to make a trace of one call of another number of rounds, which begins in the row ``turned``."""

    def made() -> np.ndarray:
        main, t = BLAKE3_TABLE.zeros(2 + 2 * rounds)
        put_call(t, 0, 0, node_call(some_bytes(1, 64)), rounds)
        main[:] = np.roll(main, turned, axis=1)
        edit(t)
        return main

    return made


def counted(t: SimpleNamespace) -> None:
    """Count the positions of a table of one call from 0 on."""
    t.position[:] = np.arange(len(t.position))


def two_calls(t: SimpleNamespace) -> None:
    """Give 32 rows, the end of a call and its begin, the positions and numbers of two calls."""
    t.position[:], t.number[:] = np.arange(32) % 16, np.arange(32) // 16


def other_parity(t: SimpleNamespace) -> None:
    t.odd[:] = 1 - t.odd


def later(t: SimpleNamespace) -> None:
    t.number[:] += np.uint64(1)


def idle(edit: Callable[[SimpleNamespace], None]) -> Forged:
    """Return how to make another trace of two idle calls, whose words are all 0 in any order."""

    def made() -> np.ndarray:
        main = blake3_trace([], 32)
        edit(BLAKE3_TABLE.view(main))
        return main

    return made


def reflected_chain() -> Sequence[Call]:
    """Return a call and one with the chaining value 2 IV - digest, which a flag of -1 makes of its digest."""
    block = random.Random(205).choices(range(1 << 32), k=16)  # of few blocks that give words below 2^32
    first = Call(IV, block, [0, 0, 64, 1], PART | CHAIN)
    value = [2 * initial - word for initial, word in zip(IV, first.digest, strict=True)]
    assert all(0 <= word < 1 << 32 for word in value)
    return first, Call(value, [7] * 16, [0, 0, 64, 2], PART)


def chained_node() -> Sequence[Call]:
    """Return a call and a node from its digest."""
    first = Call(IV, [5] * 16, [0, 0, 64, 1], PART | CHAIN)
    return first, Call(first.digest, [7] * 16, NODE_PARAMETERS, NODE)


LANES, BYTES = range(places.LANES), range(places.BYTES)
LAST, CHAINED = places.LAST, 3 * 16 - 1  # the last rows of a node, and of a call that is chained
# For each constraint, in their order by label, a trace that this one alone refuses; None for one in `REDUNDANT`.
REFUSED: Mapping[str, Sequence[Forged | None]] = {
    "the table begins with a call": [of_one_call(3)],  # in eight rows, as if it had begun before them
    "positions follow each other": [cell("position", 3)],
    "a row ends a call or not": [None],
    "a call ends at the last position": [of_one_call(3, counted)],
    "the table ends with a call": [of_one_call(15, two_calls, turned=16)],  # its rounds go on in the first row
    "position 0 is even": [idle(other_parity)],
    "even and odd positions alternate": [cell("odd", LAST)],
    "numbers begin with 0": [idle(later)],
    "numbers of calls follow each other": [cell("number", 3)],
    "a call has a use or not": [
        flags(MIXED, 0, node=2),
        flags(MIXED, 1, part=2),
        flags(reflected_chain(), 0, chain=-1),
    ],
    "the rows of a call have one use": [cell("node", 18), cell("part", 3), cell("chain", 18)],
    "only parts of a message are chained": [flags(MIXED, 2, part=0)],
    "message words move": [cell("m", k, LAST) for k in range(16)],
    "a + b + m": [
        made
        for lane in LANES
        for made in (cell("high", 1, places.reflected(1, lane), 0, 3), cell("high", 0, lane, 0, 3))
    ],
    "c + d": [cell("d", half, lane, 0, 3) for lane in LANES for half in range(2)],
    "b in the place of a": [cell("a", 0, lane, q, LAST) for lane in LANES for q in BYTES],
    "a in the place of b": [cell("high", 0, lane, (q + 1) % 4, LAST) for lane in LANES for q in BYTES],
    "c stays": [cell("c", 1, lane, q, LAST) for lane in LANES for q in BYTES],
    "the chaining value is the IV or the digest before": [
        *(cell("high", 1, lane, 0, CHAINED) for lane in LANES),
        *(cell("d", 0, lane, 0, CHAINED) for lane in LANES),
    ],
    # The carry of the next sum has another 2^32, too.
    "the IV in the third row of the state": [cell("c", 1, places.reflected(2, k), 3, 96, by=256) for k in LANES],
    "the parameters of a node": [cell("d", 1, places.reflected(3, k), 0, 0) for k in LANES],
    "a node is not chained": [flags(chained_node(), 0)],
}


REDUNDANT: Mapping[tuple[str, int], str] = {
    ("a row ends a call or not", 0): "no trace is known that it alone refuses: another value of `final` leaves the "
    "sums of G on in the last row and in the row after it, so that the operands of the digest would be the result of "
    "a G, and the state before a call, too",
}


def test_constraints() -> None:
    """Pin their number: a constraint less is no other table's constraint more."""
    labels = Counter(BLAKE3_TABLE.describe().constraint_labels)
    assert labels == {label: len(made) for label, made in REFUSED.items()}
    assert labels.total() == 113
    assert {(label, i) for label, of in REFUSED.items() for i, made in enumerate(of) if made is None} == set(REDUNDANT)
    other = refusing(cell("final", LAST)())
    assert other > set(REDUNDANT) and len(other) > 20


@pytest.mark.parametrize("label", REFUSED)
def test_each_constraint_alone_refuses_a_trace(label: str) -> None:
    for number, made in enumerate(REFUSED[label]):
        if made is not None:
            assert refusing(made()) == {(label, number)}


def test_honest_traces() -> None:
    assert refusing(blake3_trace(MIXED, 128)) == set()
    assert check(agreed(blake3_trace(MIXED, 128))) == []


def test_a_table_does_not_begin_inside_a_call() -> None:
    """With eight rows a call of three rounds would fit: nothing but the first position is wrong."""
    (finding,) = check(agreed(of_one_call(3)()))
    assert isinstance(finding, FailingConstraint) and finding.label == "the table begins with a call"


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
    main = blake3_trace([call], 16)
    for row, found in enumerate(places.PLACES):
        BLAKE3_TABLE.view(main).m[found[0], row] = 2**32
    claim = replace(claims_of([call])[0], call=replace(call, block=[2**32, *call.block[1:]]))
    assert check(statement([claim], main=main)) == []
    assert check(statement(claims_of([call]), main=main))


# Cells of a call, one by one.

_LANES = [f"[{lane}][{q}]" for lane in range(4) for q in range(4)]
UNREAD = {(0, f"{name}[0]{at}") for name in ("a", "d", "c", "high", "low") for at in _LANES}


Evaluated = list[list[np.ndarray]]  # constraints, multiplicities and fields by block of rows


def evaluated(main: np.ndarray) -> Evaluated:
    """Return the values of all constraints and messages of a trace."""
    description = BLAKE3_TABLE.describe()
    roots = list(description.constraints)
    for interaction in description.globals:
        roots += [interaction.tuples[0].multiplicity, *interaction.tuples[0].fields]
    return [values for _, values in evaluate(description, main, None, (), roots)]


def noticed(main: np.ndarray, honest: Evaluated) -> np.ndarray:
    """Return for each row whether a constraint fails, a lookup has no xor, or a message is not the honest one.

    This is stricter than `check`: counts of lookups are of no help, so it is as if the prover had adapted them.
    """
    description, found = BLAKE3_TABLE.describe(), []
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


KINDS = {"node": NODE, "part": PART, "chain": PART | CHAIN, "idle": CallUse(0)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", slow_after(1, [1, P - 1, 2**32]))
def test_every_cell_of_a_call_counts(kind: str, change: int) -> None:
    """Change one cell in each of 2,928 calls: every row and every column once."""
    names = BLAKE3_TABLE.describe().main_names
    # By row, so that a row notices one change at most: its own, or its successor's.
    changes = [(row, column) for row in range(16) for column in range(len(names))]
    calls, value, rng = [], IV, random.Random(kind)
    for _ in range(64):
        parameters = NODE_PARAMETERS if KINDS[kind] is NODE else [rng.getrandbits(32) for _ in range(4)]
        calls.append(Call(value, [rng.getrandbits(32) for _ in range(16)], parameters, KINDS[kind]))
        value = calls[-1].digest if CHAIN in calls[-1].use else IV
    calls[-1] = replace(calls[-1], use=calls[-1].use & ~CHAIN)
    period = blake3_trace(calls, 16 * len(calls))
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
    claims, main = claims_of(MIXED), blake3_trace(MIXED, 128)
    right = statement(claims, main=main)
    counts = fixed_trace(main)
    for column in range(3):
        row = int(np.flatnonzero(counts[column])[5])
        for at, by in ((row, 1), (row, P - 1), (0, 7), (PAIRS - 1, 1)):
            wrong = counts.copy()
            wrong[column, at] = (int(wrong[column, at]) + by) % P
            tables = [right.tables[0], replace(right.tables[1], main=wrong), right.tables[2]]
            assert check(type(right)(tables)), (column, at)
