"""The openings of proofs, against the package blake3 and the documents' numbers of trees, layers and powers."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

import blake3
import numpy as np
import pytest

from graphprover.field import (
    GENERATOR,
    ZERO,
    Ext,
    P,
    ext,
    ext_add,
    ext_inv,
    ext_mul,
    ext_pow,
    ext_scale,
    ext_sub,
    reverse_bits,
    root_of_unity,
)
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout
from graphprover.protocol.parameters import BLAKE3, KECCAK
from graphprover.protocol.proof import BatchProof, Cap, decode, opened_values, words_to_exts
from graphprover.protocol.verification import Challenges, _reduce_openings, check_batch, replay, rows_by_height
from graphprover.recursion.openings import OpenedRows, nodes_of, openings_of, places_of_tree
from graphprover.recursion.traces.nodes import Nodes
from graphprover.recursion.witness.lookups import asked_of
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from tests.interop.case import Case
from tests.interop.tables import PLAIN, statements
from tests.recursion.opened import CheckedOpenings
from tests.recursion.trees import FIRST, RIGHT, Opened, statement

CASES = {  # statement of tests/interop/tables.py, and parameters other than its own
    "mixed": ("mixed, BLAKE3", {}),  # a cap of 4, three heights of one row to join, folds of several arities
    "mixed at a root": ("mixed", {"cap_height": 0, "num_queries": 12, "max_log_arity": 2}),
    "joins at the cap": ("rows 1 and 2", {"cap_height": 1}),
    "a cap of 2": ("preprocessed bytes", {"cap_height": 1}),
    "a large fold": ("wide, BLAKE3", {}),
    "preprocessed next row": ("preprocessed next row", {"max_log_arity": 3, "num_queries": 30}),
    "no node": ("one row", {"cap_height": 1}),
    "one row": ("one row", {}),
}
Place = tuple[int, int, int]


@dataclass(frozen=True)
class Proved:
    """A proof with its statement and its challenges."""

    layout: Layout
    proof: BatchProof
    public_values: tuple[tuple[int, ...], ...]
    preprocessed: Cap | None
    binding: bytes
    challenges: Challenges

    def open(self, proof: BatchProof) -> CheckedOpenings:
        found = openings_of(self.layout, proof, self.challenges, self.preprocessed)
        return CheckedOpenings(found.caps, found.rows, nodes_of(self.layout, self.challenges, found))

    def check(self, proof: BatchProof) -> None:
        check_batch(self.layout, proof, self.public_values, self.preprocessed, self.binding)

    @property
    def joined(self) -> list[set[int]]:
        """log2 of the heights that join in each tree."""
        heights = [{matrix.log_rows for matrix in round_.matrices} for round_ in self.layout.rounds]
        return [logs - {max(logs)} for logs in heights] + [set() for _ in self.layout.folded_log_heights]

    @property
    def heights(self) -> list[tuple[int, int]]:
        """All trees and log2 of all their heights, in the order of the opened rows."""
        rounds = [sorted({m.log_rows for m in round_.matrices}, reverse=True) for round_ in self.layout.rounds]
        found = [(tree, log) for tree, logs in enumerate(rounds) for log in logs]
        return found + list(enumerate(self.layout.folded_log_heights, len(rounds)))

    def distinct(self, log: int) -> list[int]:
        """Return the different rows of 2^log that are queried."""
        return sorted({query >> (self.layout.log_max_rows - log) for query in self.challenges.queries.tolist()})


@cache
def proved(name: str) -> Proved:
    of, changes = CASES[name]
    parameters, tables = statements()[of]
    case = Case(replace(parameters, hash=BLAKE3, **changes), Statement(tables))
    proof = decode(case.prove(), case.layout)
    values = tuple(tuple(table.public_values or ()) for table in tables)
    cap = case.statement.preprocessed_cap(case.parameters)
    challenges = replay(case.layout, proof, values, cap, case.binding)
    return Proved(case.layout, proof, values, cap, case.binding, challenges)


@cache
def opened(name: str) -> CheckedOpenings:
    return proved(name).open(proved(name).proof)


def layer(joined: set[int], log: int) -> int:
    return log and layer(joined, log - 1) + 1 + (log - 1 in joined)


def structure(made: Proved, tree: int, log: int) -> int:
    if log == max(own for number, own in made.heights if number == tree):
        return FIRST + tree
    below = 2 * structure(made, tree, log + 1)
    return 2 * below + 1 if log in made.joined[tree] else below


def place_of_row(made: Proved, tree: int, log: int, row: int) -> Place:
    joined = made.joined[tree]
    if log in joined:
        return structure(made, tree, log) >> 1, layer(joined, log) + 1, RIGHT + row
    return structure(made, tree, log), layer(joined, log), row


def places(array: np.ndarray) -> list[Place]:
    assert array.dtype == np.uint64 and array.shape[1:] == (3,)
    return [(tree, layer, index) for tree, layer, index in array.tolist()]


def digests(array: np.ndarray, width: int = 8) -> list[bytes]:
    assert array.dtype == np.uint32 and array.shape[1:] == (width,)
    return [digest.tobytes() for digest in array]


def row_digests(rows: OpenedRows) -> list[bytes]:
    assert rows.words.dtype == np.uint64 and rows.words.flags.c_contiguous
    return [blake3.blake3(words.tobytes()).digest() for words in rows.words]


def test_the_cases_have_every_shape() -> None:
    layouts = {name: proved(name).layout for name in CASES}
    assert {layout.parameters.cap_height for layout in layouts.values()} == {0, 1, 2}
    assert {1, 3, 4} <= {log for layout in layouts.values() for log in layout.fold_log_arities}
    assert max(len(joined) for name in CASES for joined in proved(name).joined) >= 3
    assert all(proved("joins at the cap").joined[tree] == {1} for tree in range(2))
    assert {round_.name for layout in layouts.values() for round_ in layout.rounds} >= {"preprocessed", "permutation"}
    for name in ("preprocessed next row", "mixed"):
        queries = proved(name).challenges.queries.tolist()
        assert (len(set(queries)) < len(queries)) == (name != "mixed")
    assert len(opened("no node").nodes.places) == 0


@pytest.mark.parametrize("name", CASES)
def test_caps_are_the_proofs(name: str) -> None:
    made, found = proved(name), opened(name)
    proof = made.proof
    of_rounds = {
        "main": proof.main_cap,
        "quotient": proof.quotient_cap,
        "preprocessed": made.preprocessed,
        "permutation": proof.permutation_cap,
    }
    caps = [*(of_rounds[round_.name] or () for round_ in made.layout.rounds), *proof.fold_caps]
    expected = {}
    for tree, cap in enumerate(caps):
        log = len(cap).bit_length() - 1
        expected |= {(structure(made, tree, log), log, i): digest for i, digest in enumerate(cap)}
    given = zip(places(found.caps.places), digests(found.caps.digests), strict=True)
    assert list(given) == list(expected.items())


@pytest.mark.parametrize("name", CASES)
def test_rows_are_the_proofs(name: str) -> None:
    """At the places of the recursion in docs/recursion.md, with the words of all matrices of the height."""
    made, found = proved(name), opened(name)
    assert len(found.rows) == len(made.heights)
    for rows, (tree, log) in zip(found.rows, made.heights, strict=True):
        distinct = made.distinct(log)
        assert places(rows.places) == [place_of_row(made, tree, log, row) for row in distinct]
        assert rows.indices.dtype == np.uint64
        for query, words in enumerate(words_of_queries(made, tree, log)):
            row = distinct.index(int(made.challenges.queries[query]) >> (made.layout.log_max_rows - log))
            given = rows.words[row].tolist()
            assert [word if word is None else other for word, other in zip(words, given, strict=True)] == words


def words_of_queries(made: Proved, tree: int, log: int) -> Iterator[list[int | None]]:
    """Yield the words that the proof has for each query at a height of a tree, None for a folded element."""
    layout, proof = made.layout, made.proof
    rounds, queries = len(layout.rounds), made.challenges.queries.tolist()
    if tree < rounds:
        matrices = layout.rounds[tree].matrices
        used = [word for matrix in matrices for word in [matrix.log_rows == log] * matrix.width]
        for words in np.frombuffer(proof.round_queries[tree].rows, dtype="<u8").reshape(len(queries), -1):
            yield [word for word, use in zip(words.tolist(), used, strict=True) if use]
        return
    log_arity = layout.fold_log_arities[tree - rounds]
    others = np.frombuffer(proof.fold_queries[tree - rounds].siblings, dtype="<u8").reshape(len(queries), -1)
    for query, words in zip(queries, others.tolist(), strict=True):
        own = 3 * (query >> (layout.log_max_rows - log - log_arity) & ((1 << log_arity) - 1))
        yield [*words[:own], None, None, None, *words[own:]]


@pytest.mark.parametrize("name", CASES)
def test_paths_lead_from_rows_to_caps(name: str) -> None:
    """Every digest is the package's, and is at its place among the children of a node or the caps."""
    found = opened(name)
    nodes = places(found.nodes.places)
    node_digests, children = digests(found.nodes.digests), digests(found.nodes.children, 16)
    assert node_digests == [blake3.blake3(both).digest() for both in children]
    assert len(set(nodes)) == len(nodes)
    provided = dict(zip(places(found.caps.places), digests(found.caps.digests), strict=True))
    caps, parents = set(provided), {}
    for (tree, layer, index), both in zip(nodes, children, strict=True):
        for side, below in enumerate((index, RIGHT + index) if tree % 2 else (2 * index, 2 * index + 1)):
            child = tree // 2, layer + 1, below
            assert child not in provided
            provided[child], parents[child] = both[32 * side : 32 * side + 32], (tree, layer, index)
    looked_up = list(zip(nodes, node_digests, strict=True))
    for rows in found.rows:
        looked_up += zip(places(rows.places), row_digests(rows), strict=True)
    assert len({place for place, _ in looked_up}) == len(looked_up)
    for place, digest in looked_up:
        assert provided[place] == digest
    on_paths = set()
    for place in chain.from_iterable(places(rows.places) for rows in found.rows):
        while place not in caps:
            place = parents[place]
            on_paths.add(place)
    assert on_paths == set(nodes)


@pytest.mark.parametrize("name", ["joins at the cap", "mixed"])
def test_the_tables_accept_them(name: str) -> None:
    """The lookups of nodes balance, with every height and digest of the proof."""
    found = opened(name)
    leaves = [leaf for rows in found.rows for leaf in zip(places(rows.places), row_digests(rows), strict=True)]
    caps = dict(zip(places(found.caps.places), digests(found.caps.digests), strict=True))
    counts = asked_of(found.nodes.places, np.concatenate([rows.places for rows in found.rows]))
    nodes = Nodes(found.nodes.places, found.nodes.digests, found.nodes.children, counts)
    assert check(statement(Opened(caps, leaves), nodes)) == []


@pytest.mark.parametrize("name", CASES)
def test_powers_give_the_verifiers_quotients(name: str) -> None:
    made, found = proved(name), opened(name)
    layout, challenges = made.layout, made.challenges
    opened_at = values_by_height(made)
    expected = _reduce_openings(layout, made.proof, rows_by_height(layout, made.proof), challenges)
    for log in layout.fri_log_heights:
        own = [
            (rows, opened_at[tree, log])
            for rows, (tree, of) in zip(found.rows, made.heights, strict=True)
            if of == log and rows.powers is not None
        ]
        zeta = challenges.zeta
        points = zeta, ext_scale(zeta, root_of_unity(log - layout.parameters.log_blowup))
        for query, at in enumerate(challenges.queries.tolist()):
            row = at >> (layout.log_max_rows - log)
            x = ext(GENERATOR * pow(root_of_unity(log), reverse_bits(row, log), P) % P)
            total = ZERO
            for point, z in enumerate(points):
                terms = ZERO
                for rows, values in own:
                    assert rows.powers is not None and rows.powers.dtype == np.int64
                    words = rows.words[made.distinct(log).index(row)].tolist()
                    for word, power, value in zip(words, rows.powers[point].tolist(), values[point], strict=True):
                        assert (power < 0) == (value is None) and power >= -1
                        if value is not None:
                            term = ext_mul(ext_pow(challenges.gamma, power), ext_sub(value, ext(word)))
                            terms = ext_add(terms, term)
                total = ext_add(total, ext_mul(terms, ext_inv(ext_sub(z, x))))
            assert list(total) == expected[log][:, query].tolist()
    for rows, (tree, _) in zip(found.rows, made.heights, strict=True):
        assert (rows.powers is None) == (tree >= len(layout.rounds))


def values_by_height(made: Proved) -> dict[tuple[int, int], tuple[list[Ext | None], list[Ext | None]]]:
    """Return for each tree and height the opened values of all columns at both points, None if not opened there."""
    found: dict[tuple[int, int], tuple[list[Ext | None], list[Ext | None]]] = {}
    values = iter(opened_values(made.layout, made.proof.openings))
    for tree, round_ in enumerate(made.layout.rounds):
        for matrix in round_.matrices:
            of_matrix = found.setdefault((tree, matrix.log_rows), ([], []))
            for point in range(2):
                of_matrix[point].extend(
                    words_to_exts(next(values)) if point < len(matrix.points) else [None] * matrix.width
                )
    return found


def flipped(data: bytes | memoryview, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def damaged(proof: BatchProof) -> Iterator[BatchProof]:
    """Yield the proof with another row, group or digest of a path, in each commitment."""
    for i, queries in enumerate(proof.round_queries):
        for name in ("rows", "path"):
            data = getattr(queries, name)
            if len(data):
                other = replace(queries, **{name: flipped(data, len(data) // 2 // 8 * 8)})
                yield replace(proof, round_queries=(*proof.round_queries[:i], other, *proof.round_queries[i + 1 :]))
    for i, groups in enumerate(proof.fold_queries):
        for name in ("siblings", "path"):
            data = getattr(groups, name)
            if len(data):
                changed = replace(groups, **{name: flipped(data, len(data) // 2 // 8 * 8)})
                yield replace(proof, fold_queries=(*proof.fold_queries[:i], changed, *proof.fold_queries[i + 1 :]))
    short = replace(proof.round_queries[0], path=proof.round_queries[0].path[32:])
    yield replace(proof, round_queries=(short, *proof.round_queries[1:]))


@pytest.mark.parametrize("name", ["mixed", "preprocessed next row"])
def test_damaged_openings_are_refused_as_by_the_verifier(name: str) -> None:
    made = proved(name)
    made.check(made.proof)
    rules = set()
    for proof in damaged(made.proof):
        with pytest.raises(VerificationError) as expected:
            made.check(proof)
        with pytest.raises(VerificationError) as raised:
            made.open(proof)
        assert (raised.value.rule, str(raised.value)) == (expected.value.rule, str(expected.value))
        rules.add(raised.value.rule)
    assert rules == {"merkle.cap", "merkle.length", "merkle.rows"}
    with pytest.raises(VerificationError, match="the preprocessed commitment: a Merkle path does not end in the cap"):
        replace(made, preprocessed=tuple(bytes(32) for _ in made.preprocessed or ())).open(made.proof)


def test_places_of_trees_are_different() -> None:
    """A digest of one tree is at no place of another one, on no layer."""
    rng, found = random.Random(5), Counter[tuple[int, int]]()
    for number in range(300):
        log_rows = rng.randrange(20)
        log_cap = rng.randrange(log_rows + 1)
        joined = {log for log in range(log_cap, log_rows) if rng.randrange(2)}
        tree = places_of_tree(number, log_rows, joined, log_cap)
        inner = {*tree.nodes.values(), *tree.joins.values(), (tree.rows[log_rows][:2])}
        assert tree.cap in inner and tree.cap[1] == log_cap
        assert {row[:2] for row in tree.rows.values()} <= inner and tree.rows.keys() == joined | {log_rows}
        found.update(inner)
    assert max(found.values()) == 1


@pytest.mark.parametrize(
    ("number", "log_rows", "joins", "why"),
    [
        (2**12, 3, 0, "4097 trees, of up to 4096"),
        (0, 32, 0, "tree 0 has 2\\^32 rows in 32 layers"),
        (0, 31, 18, "tree 0 has 2\\^31 rows in 49 layers"),
        (0, 25, 24, "tree 0 has 2\\^25 rows in 49 layers"),
    ],
)
def test_trees_that_are_too_large_are_refused(number: int, log_rows: int, joins: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        places_of_tree(number, log_rows, range(joins), 0)
    places_of_tree(2**12 - 1, 31, range(17), 0)


def test_proofs_with_another_hash_are_refused() -> None:
    made = proved("one row")
    layout = replace(made.layout, parameters=replace(PLAIN, hash=KECCAK))
    with pytest.raises(ValueError, match="hash by blake3, the proof by keccak"):
        openings_of(layout, made.proof, made.challenges, None)
