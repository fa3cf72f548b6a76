"""Statements about openings: their proofs verify, and no other caps, cells or chunks have one."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.air.debugger import FailingConstraint
from graphprover.field import P
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import HASH_NAMES
from graphprover.proving.prove import prove
from graphprover.recursion.tables.segments import SegmentRow, part_of
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from graphprover.verifier import verify
from tests.interop.tables import PLAIN
from tests.recursion import machines
from tests.recursion.falsified import accepted, verdicts
from tests.recursion.machines import TABLE, Facts, Known, main_of, with_air, with_main
from tests.recursion.naive import END, IV, ROOT, START, Call, CallUse, compressions
from tests.recursion.opened import TREES, Tree, split, stated, statement
from tests.recursion.trees import FIRST

SMALL = (Tree(2, 5, True), Tree(1, 24, False))


@pytest.mark.parametrize("hash", HASH_NAMES)
def test_both_verifiers_accept(hash: str, tmp_path: Path) -> None:
    accepted(statement(), hash, tmp_path)


@pytest.mark.parametrize("trees", [(Tree(1, 1, True),), (Tree(1, 3, False),), SMALL])
def test_few_rows(trees: tuple[Tree, ...]) -> None:
    """A statement without nodes, with one segment, or with tables of few rows."""
    own = stated(trees)
    assert check(machines.statement(own.inputs, own.facts, own.known)) == []


@cache
def plain() -> Proof:
    return prove(statement(), parameters=PLAIN, device="cpu")


def test_other_facts_are_found() -> None:
    """Another count or element of a cap or a chunk, or none."""
    facts = split().facts
    caps = [i for i, (count, _) in enumerate(facts) if count < 0]
    for at in (caps[-1], len(facts) - 1):
        count, elements = facts[at]
        others = [(count + 1, elements), (0, elements)]
        places = (0, len(elements) // 2, len(elements) - 1)
        others += [(count, [*elements[:k], elements[k] + 1, *elements[k + 1 :]]) for k in places]
        for other in others:
            false = with_air(statement(), Facts([*facts[:at], other, *facts[at + 1 :]]))
            assert check(false), at
        with pytest.raises(VerificationError):
            verify(plain(), false, security=0)
    verify(plain(), statement(), security=0)


def test_other_contents_of_memory_are_found() -> None:
    known = split().known
    for address in (0, len(known) // 2):
        for value in ((1, 2, 3), tuple((coordinate + 1) % P for coordinate in known[address])):
            false = with_air(statement(), Known(known | {address: value}))
            assert check(false)
        with pytest.raises(VerificationError):
            verify(plain(), false, security=0)


def with_fact(at: int, edit: Callable[[list[Any]], None]) -> Statement:
    """Return the statement with another message about a cap or a chunk."""
    facts = split().facts
    count, elements = facts[at]
    elements = [*elements]
    edit(elements)
    return with_air(statement(), Facts([*facts[:at], (count, elements), *facts[at + 1 :]]))


def no_sums(elements: list[Any]) -> None:
    assert any(elements[-6:])
    elements[-6:] = [0] * 6


def other_digest(elements: list[Any]) -> None:
    elements[-8:] = elements[-7:] + elements[-8:-7]


def swapped_weights() -> Statement:
    known = split().known
    first, second = [address for address, value in known.items() if value[1]][:2]
    assert known[first] != known[second]
    return with_air(statement(), Known(known | {first: known[second], second: known[first]}))


FALSE: dict[str, Callable[[], Statement]] = {
    "sums": lambda: with_fact(next(i for i, of in enumerate(split().facts) if any(of[1][-6:-3])), no_sums),
    "weights": swapped_weights,
    "caps": lambda: with_fact(0, other_digest),
}


@pytest.mark.parametrize("name", FALSE)
def test_both_verifiers_reject_proofs_of_false_statements(name: str, tmp_path: Path) -> None:
    assert None not in verdicts(FALSE[name](), tmp_path)


# Segments that a prover could make up.


def swapped_segments(t: SegmentRow) -> None:
    """Give the words of two rows of a tree to each other's place."""
    ends = np.flatnonzero((t.whole == 1) & (t.place[0] == FIRST + 3))
    for digest in t.digest:
        digest[ends[0]], digest[ends[1]] = digest[ends[1]], digest[ends[0]]


def moved_base(t: SegmentRow) -> None:
    """Let a chunk take the weights of another place."""
    on = t.weighted == 1
    t.base[on] += np.uint64(2)
    for at in t.at:
        at[on] += np.uint64(2)


def shorter(t: SegmentRow) -> None:
    """State a word less of a chunk."""
    end = np.flatnonzero((t.whole == 1) & (t.absent[0] == 1) & (t.absent[1] == 0))[0]
    for row in range(end - 4, end + 1):
        t.absent[0][row], t.absent[1][row] = 0, 1


def chunk_as_parent(t: SegmentRow) -> None:
    on = np.flatnonzero(t.parent == 1)[:5]
    t.parent[on], t.read[on] = 0, 1


def split_as_read(t: SegmentRow) -> None:
    on = t.split == 1
    t.read[on], t.split[on] = 1, 0


def parent_left_out(t: SegmentRow) -> None:
    """State a chunk's digest as the row's."""
    end = int(np.flatnonzero(t.inner == 1)[0])
    t.inner[end], t.whole[end] = 0, 1
    t.root[end - 4 : end] = 1


def other_counter(t: SegmentRow) -> None:
    t.counter[(t.counter == 1) & (t.weighted == 1)] = 5


def other_place(t: SegmentRow) -> None:
    """State the entry of a chunk at the place of another row of its tree."""
    first, second = np.flatnonzero((t.whole == 1) & (t.place[0] == FIRST + 3))[:2]
    t.place[:, first] = t.place[:, second]


def halves_of_two_calls(t: SegmentRow) -> None:
    """Take the second half of a block from the next call."""
    third = np.flatnonzero(t.quarter[2] == 1)[0]
    t.number[third : third + 2] += np.uint64(1)


@pytest.mark.parametrize(
    "edit",
    [
        swapped_segments,
        moved_base,
        shorter,
        chunk_as_parent,
        split_as_read,
        parent_left_out,
        other_counter,
        other_place,
        halves_of_two_calls,
    ],
)
def test_made_up_segments_are_found(edit: Callable[[SegmentRow], None]) -> None:
    main = main_of(statement())
    edit(part_of(TABLE.view(main)))
    assert (main != main_of(statement())).any()
    assert check(with_main(statement(), main))


def test_a_block_of_more_than_64_bytes_is_found() -> None:
    """The compression function takes any length, so the digest of 8 words could pass for one of 12.

    Three bits say how many words are absent. Other numbers than 0 and 1 in them fail, and nothing else does.
    """
    own = stated((Tree(1, 8, False),))
    made = machines.statement(own.inputs, own.facts, own.known)
    main = main_of(made)
    t = part_of(TABLE.view(main))
    rows = np.flatnonzero(t.quarter.sum(axis=0))
    halves = [half for row in rows for half in t.half[:, row].tolist()]
    words = [low + (high << 16) for low, high in zip(halves[::2], halves[1::2], strict=True)]
    call = Call(IV, words, [0, 0, 96, START | END | ROOT], CallUse.PART)
    end = int(rows[-1]) + 1
    t.absent[2][rows[0] : end + 1], t.digest[:, end] = P - 1, call.digest
    (of_cap, of_chunk) = own.facts
    cap, chunk = [*of_cap[1][:-8], *call.digest], [*of_chunk[1]]
    chunk[-7] += 2 * 4  # the end address
    facts = [(of_cap[0], cap), (of_chunk[0], chunk)]
    false = with_main(machines.statement(own.inputs, facts, own.known, calls=compressions([call])), main)
    found = check(false)
    assert {finding.label for finding in found if isinstance(finding, FailingConstraint)} == {"a flag"}
    assert all(isinstance(finding, FailingConstraint) for finding in found)


def test_all_kinds_of_rows_are_in_the_statement() -> None:
    t = part_of(TABLE.view(main_of(statement())))
    for flag in (t.weighted, t.read, t.split, t.parent, t.inner, t.whole, *t.absent):
        assert flag.any()
    assert (t.counter > 1).any() and len(TREES) > 4
