"""The statement about openings: its proofs verify, and no other caps, cells or chunks have one."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from graphprover.air.debugger import FailingConstraint
from graphprover.field import P
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import HASH_NAMES
from graphprover.prover.prove import prove
from graphprover.recursion.statement import statement_of
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, with_traces
from graphprover.verifier import verify
from tests.interop import plonky3
from tests.interop.tables import PLAIN
from tests.recursion.falsified import verdicts, with_facts
from tests.recursion.naive import END, IV, ROOT, START, Call, Use, compress_trace, xor_trace
from tests.recursion.naive_rows import ROW
from tests.recursion.opened import GAMMA, TREES, Tree, edited, main_of, openings, statement
from tests.recursion.trees import FIRST

SMALL = (Tree(2, 5, True), Tree(1, 24, False))


@pytest.mark.parametrize("hash", HASH_NAMES)
def test_both_verifiers_accept(hash: str, tmp_path: Path) -> None:
    made = statement_of(openings(), GAMMA)
    proof = prove(made, hash=hash, device="cpu")
    assert verify(proof, statement_of(openings(), GAMMA)).bits >= 128
    plonky3.write_statement(tmp_path / "statement.json", proof.parameters, made.tables, made.label)
    assert plonky3.verify_payloads(tmp_path, tmp_path / "statement.json", [proof.payload]) == [None]


@pytest.mark.parametrize("trees", [(Tree(1, 1, True),), (Tree(1, 3, False),), SMALL])
def test_few_rows(trees: tuple[Tree, ...]) -> None:
    """A statement without nodes, with one segment, or with tables of few rows."""
    assert check(statement_of(openings(trees), GAMMA)) == []


def stated(table: str, edit: Callable[[np.ndarray], None]) -> Statement:
    """Return the statement with other facts in one of its tables."""
    return with_facts(statement(), table, edit)


def other(column: int, row: int) -> Callable[[np.ndarray], None]:
    def edit(facts: np.ndarray) -> None:
        facts[column, row] = (int(facts[column, row]) + 1) % P

    return edit


def removed(row: int) -> Callable[[np.ndarray], None]:
    def edit(facts: np.ndarray) -> None:
        facts[:, row] = 0

    return edit


def asked(table: str) -> list[int]:
    """Return some rows of a table of facts that the proof needs."""
    (made,) = (own for own in statement().tables if own.air.name == table)
    assert made.preprocessed is not None
    on = np.flatnonzero(made.preprocessed[0] if table == "chunks" else main_of(table)[0])
    return [int(on[0]), int(on[len(on) // 2]), int(on[-1])]


@cache
def plain() -> Proof:
    return prove(statement(), parameters=PLAIN, device="cpu")


@pytest.mark.parametrize(("table", "columns"), [("caps", 12), ("cells", 5), ("chunks", 14)])
def test_other_facts_are_found(table: str, columns: int) -> None:
    for row in asked(table):
        for edit in (removed(row), *(other(column, row) for column in range(1, columns))):
            false = stated(table, edit)
            assert check(false), (table, row)
        with pytest.raises(VerificationError):
            verify(plain(), false, security=0)
    verify(plain(), statement(), security=0)


def sums_of(facts: np.ndarray) -> None:
    facts[8:, np.flatnonzero(facts[8])[0]] = 0


def other_words(facts: np.ndarray) -> None:
    at = asked("cells")
    facts[2:, at[0]], facts[2:, at[1]] = facts[2:, at[1]].copy(), facts[2:, at[0]].copy()


def swapped_caps(facts: np.ndarray) -> None:
    facts[4:, [0, 1]] = facts[4:, [1, 0]]


FALSE = {"sums": ("chunks", sums_of), "weights": ("cells", other_words), "caps": ("caps", swapped_caps)}


@pytest.mark.parametrize("name", FALSE)
def test_both_verifiers_reject_proofs_of_false_statements(name: str, tmp_path: Path) -> None:
    table, edit = FALSE[name]
    false = stated(table, edit)
    assert None not in verdicts(false, tmp_path)


# Segments that a prover could make up.


def swapped_segments(main: np.ndarray) -> None:
    """Give the words of two rows of a tree to each other's place."""
    t = ROW.view(main)
    begins = np.flatnonzero((t.begin == 1) & (t.tree == FIRST + 3))
    first, second = (slice(int(at), int(at) + 6) for at in begins[:2])
    for cells in (t.half, t.weight, t.digest):
        cells[..., first], cells[..., second] = cells[..., second].copy(), cells[..., first].copy()


def moved_base(main: np.ndarray) -> None:
    """Let a chunk take the weights of another place."""
    t = ROW.view(main)
    on = t.weighted == 1
    t.base[on] += np.uint64(2)
    t.address[on] += np.uint64(2)


def shorter(main: np.ndarray) -> None:
    """State a word less of a chunk."""
    t = ROW.view(main)
    at = int(np.flatnonzero((t.absent == 1) & (t.upper == 1))[0])
    t.absent[at - 1 : at + 1] = 2


def chunk_as_parent(main: np.ndarray) -> None:
    t = ROW.view(main)
    at = int(np.flatnonzero(t.parent == 1)[0])
    t.parent[at : at + 2], t.read[at : at + 2] = 0, 1


def split_as_read(main: np.ndarray) -> None:
    t = ROW.view(main)
    on = t.split == 1
    t.read[on], t.split[on] = 1, 0


def parent_left_out(main: np.ndarray) -> None:
    """State a chunk's digest as the row's."""
    t = ROW.view(main)
    at = int(np.flatnonzero(t.inner == 1)[0])
    t.inner[at], t.whole[at] = 0, 1


def other_counter(main: np.ndarray) -> None:
    t = ROW.view(main)
    t.counter[(t.counter == 1) & (t.weighted == 1)] = 5


@pytest.mark.parametrize(
    "edit", [swapped_segments, moved_base, shorter, chunk_as_parent, split_as_read, parent_left_out, other_counter]
)
def test_made_up_segments_are_found(edit: Callable[[np.ndarray], None]) -> None:
    main = main_of("row")
    edit(main)
    assert (main != main_of("row")).any()
    assert check(edited("row", main))


def test_a_block_of_more_than_64_bytes_is_found() -> None:
    """The compression function takes any length, so the digest of 8 words could pass for one of 12."""
    made = with_traces(statement_of(openings((Tree(1, 8, False),)), GAMMA))
    own = {table.air.name: table for table in made.tables}
    rows = np.array(own["row"].main)
    t = ROW.view(rows)
    halves = t.half[:, :, :2].transpose(2, 0, 1).reshape(16, 2).tolist()
    call = Call(IV, [low + (high << 16) for low, high in halves], [0, 0, 96, START | END | ROOT], Use.PART)
    calls = compress_trace([call], 16)
    xors = xor_trace(calls)
    xors[-1] = np.array(own["xor"].main)[-1]
    t.absent[:2], t.digest[:, 1] = P - 4, call.digest
    caps, chunks = (own[name].air.preprocessed_trace().copy() for name in ("caps", "chunks"))
    caps[4:, 0] = call.digest
    chunks[7, 0] += np.uint64(2 * 4)  # the end address
    own["compress"] = replace(own["compress"], main=calls)
    own["xor"] = replace(own["xor"], main=xors)
    own["row"] = replace(own["row"], main=rows)
    for name, facts in (("caps", caps), ("chunks", chunks)):
        air = copy(own[name].air)
        vars(air)["_trace"] = facts
        own[name] = replace(own[name], air=air)
    found = check(Statement([*own.values()]))
    assert {finding.label for finding in found if isinstance(finding, FailingConstraint)} == {
        "up to 7 words of a block are absent"
    }
    assert all(isinstance(finding, FailingConstraint) for finding in found)


def test_all_kinds_of_rows_are_in_the_statement() -> None:
    t = ROW.view(main_of("row"))
    for flag in (t.weighted, t.read, t.split, t.parent, t.inner, t.whole, t.absent):
        assert flag.any()
    assert (t.counter > 1).any() and len(TREES) > 4
