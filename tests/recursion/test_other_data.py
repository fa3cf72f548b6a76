"""The verifier's program refuses other data of its proof: each word, each digest, each result of a gate, each check.

Hashes are no part of these runs. So a message, a row or a digest can be any: what is refused, a relation of the program
refuses, by the words of the head. `remove_checks.py` removes these words one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pytest

from graphprover.field import EXTENSION_DEGREE, ONE, ZERO, Ext, P, ext_add, ext_inv, ext_mul, ext_sub
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.layout import QUOTIENT
from graphprover.recursion.head.inputs import ELEMENT_OFFSET
from graphprover.recursion.head.memory_areas import main_tree, opened_counts, row_widths
from graphprover.recursion.head.words import HEAD_TREE, TRANSCRIPT_TREE
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.tables.segments import POINTS, padded
from graphprover.recursion.witness import run as runs
from graphprover.recursion.witness.run import Contradiction, run
from graphprover.recursion.witness.run_data import RunData
from tests.interop.tables import statements
from tests.recursion.adversaries import base
from tests.recursion.attacked import results
from tests.recursion.layered import COMMON, ROWS, Child, child, child_of
from tests.recursion.obliging import message_places

X: Ext = (0, 1, 0)
MOST_STEPS = 1 << 16  # of a run, which may turn in a loop


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_STEPS", MOST_STEPS)


def proof_of(name: str) -> Child:
    """Return a proof of `adversaries.base`, or a case."""
    return child(name) if name.startswith("a shard of one") else base(name).child


def accepted(data: RunData) -> bool:
    try:
        run(verifier_program(), data)
    except Contradiction:
        return False
    return True


def with_words(data: RunData, place: Sequence[int], words: Mapping[int, int]) -> RunData:
    """Return the data with other words of a row."""
    found = []
    for group in data.rows:
        own = group.words
        for row in np.flatnonzero((group.places == np.array(place, dtype=np.uint64)).all(axis=1)):
            own = own.copy()
            own[row, list(words)] = list(words.values())
        found.append(replace(group, words=own))
    return replace(data, rows=tuple(found))


def words_of(data: RunData) -> Mapping[tuple[int, ...], list[int]]:
    """Return the words of each row by its place, but the ones of heads and their list, which the statement has."""
    return {
        tuple(place): words
        for group in data.rows
        for place, words in zip(group.places.tolist(), group.words.tolist(), strict=True)
        if place[0] != HEAD_TREE
    }


def unnoticed_words(own: Child, step: int) -> set[tuple[tuple[int, ...], int]]:
    """Return the words that may be any, of each step-th one: by the row's place and their number."""
    data, found = own.data(), set()
    for place, words in words_of(data).items():
        for i in range(0, len(words), step):
            if accepted(with_words(data, place, {i: (words[i] + 1) % P})):
                found.add((place, i))
    return found


def nonces(own: Child) -> set[tuple[tuple[int, ...], int]]:
    """Return the words with nonces: the digest of their message is what they are for."""
    after = message_places(own.layout).values()
    messages = {place for place in words_of(own.data()) if place[0] == TRANSCRIPT_TREE}
    return {(place, DIGEST_WORDS) for place in messages - set(after) if len(words_of(own.data())[place]) > DIGEST_WORDS}


PROOFS = ("another fold", "work", "a shard of one height", "a shard with a query")


@pytest.mark.parametrize("name", PROOFS)
def test_honest_data_are_accepted(name: str) -> None:
    assert accepted(proof_of(name).data())


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("another fold", 1),
        ("work", 1),
        ("a shard of one height", 1),
        ("a shard with a query", 3),  # a word of each record, of which the last one is short
        pytest.param("a shard with a query", 1, marks=pytest.mark.slow),
    ],
)
def test_every_word_counts(name: str, step: int) -> None:
    own = proof_of(name)
    assert unnoticed_words(own, step) == {(place, i) for place, i in nonces(own) if i % step == 0}
    assert bool(nonces(own)) == (name == "work")


@pytest.mark.parametrize("name", PROOFS)
def test_every_number_of_a_digest_counts(name: str) -> None:
    """But for the last digest, of which queries read some bits."""
    own = proof_of(name)
    data, unnoticed = own.data(), set()
    for at, place in enumerate(map(tuple, data.places.tolist())):
        for number in range(data.digests.shape[1]):
            digests = data.digests.copy()
            digests[at, number] ^= 1
            if accepted(replace(data, digests=digests)):
                unnoticed.add(place)
    last = max(place for place in map(tuple, data.places.tolist()) if place[0] == TRANSCRIPT_TREE)
    assert unnoticed <= {last}
    digests = data.digests.copy()
    digests[[*map(tuple, data.places.tolist())].index(last), -1] ^= 1 << 24  # a bit of the first query
    assert not accepted(replace(data, digests=digests))


def test_every_work_counts() -> None:
    """A digest with another last bit of its first sample, of which nothing but the work reads any."""
    own = proof_of("work")
    data, places = own.data(), [*map(tuple, own.data().places.tolist())]
    messages = words_of(data)
    assert len(nonces(own)) == 4 + len(own.layout.fold_log_arities)
    for place, _ in nonces(own):
        digests, at = data.digests.copy(), places.index(place)
        digests[at, -1] ^= 1 << 24
        other, following = replace(data, digests=digests), (*place[:2], place[2] + 1)
        if following in messages:
            numbers = digests[at].tolist()
            words = [(low + (high << 32)) % P for low, high in zip(numbers[::2], numbers[1::2], strict=True)]
            other = with_words(other, following, dict(enumerate(words)))
        with pytest.raises(Contradiction, match=r"^finish, "):
            run(verifier_program(), other)


@pytest.mark.parametrize(
    ("name", "step"), [("another fold", 1), ("a shard of one height", 1), ("a shard with a query", 64)]
)
def test_every_weight_counts(name: str, step: int) -> None:
    """Also the ones of words beyond the end of a row, which must be 0: the table multiplies these words, too."""
    own = proof_of(name)
    data, areas, widths = own.data(), own.head.areas, row_widths(own.layout)
    arrays = {areas["weights", *place].at: width for place, width in widths.items()}
    if own.layout.shard:
        tree = main_tree(own.layout)
        arrays |= {areas["separating", log].at: widths[tree, log] for log in own.layout.fri_log_heights}
    assert any(padded(width) > width for width in arrays.values())
    for at, width in arrays.items():
        first = own.head.at + at
        beyond = range(first + POINTS * width, first + POINTS * padded(width))
        for address in (*range(first, beyond.start, step), *beyond):
            addresses = np.append(data.addresses, address)
            values = np.append(data.values, np.array([[5, 6, 7]], dtype=np.uint64), axis=0)
            assert not accepted(replace(data, addresses=addresses, values=values)), address


def test_a_proof_of_tables_that_do_not_balance_is_refused() -> None:
    """An honest prover makes it: all constraints hold, and no bit of the proof is another one."""
    parameters, tables = statements()["preprocessed bytes"]
    parameters = replace(parameters, **{**COMMON, "num_queries": 2})
    kept = [table for table in tables if table.main.shape[1] >= ROWS]
    run(verifier_program(), child_of(kept, parameters).data())
    at = next(i for i, table in enumerate(kept) if table.air.name == "bytes")
    main = np.array(kept[at].main)
    main[0, 3] += np.uint64(1)
    unbalanced = child_of([*kept[:at], replace(kept[at], main=main), *kept[at + 1 :]], parameters)
    with pytest.raises(Contradiction, match=r"^zeros, "):
        run(verifier_program(), unbalanced.data())


# Checks and gates: a prover gives cells other values, and opens other values so that the rest holds.


@dataclass(frozen=True, eq=False)
class Forged:
    """Other values of cells that gates read, and other results of gates; their data, and the checks that are not 0."""

    own: Child
    data: RunData  # of the honest run
    cells: np.ndarray  # by the gates' order, uint64 (3, cells)
    gates: Mapping[int, Ext]  # results by address; the other ones follow
    words: Mapping[tuple[tuple[int, ...], int], Ext]  # what is added to elements of messages, by their first words

    @cached_property
    def values(self) -> list[Ext]:
        """All values of gates."""
        return results(self.own.head.gates, self.cells, self.gates)

    @property
    def false(self) -> list[Ext]:
        """The values of all checks."""
        of = self.own.head.gates
        at = {address: i for i, address in enumerate(of.addresses.tolist())}
        return [self.values[at[address]] for address in of.checks.tolist()]

    def given(self) -> RunData:
        """Return the data of a run."""
        of, values = self.own.head.gates, self.data.values.copy()
        begin = of.cells + len(of.literals)
        values[len(values) - (len(of.addresses) - begin) :] = self.values[begin:]
        data, rows = replace(self.data, values=values), words_of(self.data)
        for (place, first), change in self.words.items():
            own = [(rows[place][first + k] + change[k]) % P for k in range(EXTENSION_DEGREE)]
            data = with_words(data, place, dict(enumerate(own, first)))
        return data

    def with_cell(self, address: int, change: Ext, words: Mapping[tuple[tuple[int, ...], int], Ext]) -> "Forged":
        """Return this with another value of a cell, which comes from elements of messages."""
        of, cells = self.own.head.gates, self.cells.copy()
        at = of.addresses[: of.cells].tolist().index(address)
        cells[:, at] = ext_add(tuple(cells[:, at].tolist()), change)
        found = dict(self.words)
        for place, own in words.items():
            found[place] = ext_add(found.get(place, ZERO), own)
        return replace(self, cells=cells, words=found)

    def with_quotient(self, table: int, change: Ext) -> "Forged":
        """Return this with another first chunk of a table's quotient.

        Two of its coordinates have other values, so that their sum by powers of gamma, which folds see, is the same.
        """
        layout, areas = self.own.layout, self.own.head.areas
        chunk = sum(1 << log for log in layout.log_chunks[:table])
        counts = opened_counts(layout)
        first = sum([*counts.values()][: [*counts].index(QUOTIENT)]) + EXTENSION_DEGREE * chunk
        gamma = self.own.challenges().gamma
        second = ext_mul(change, ext_inv(ext_sub(X, gamma)))
        place, word = message_places(layout)["opening"], areas["opening"].first_element + EXTENSION_DEGREE * first
        words = {(place, word): ext_sub(ZERO, ext_mul(gamma, second)), (place, word + EXTENSION_DEGREE): second}
        return self.with_cell(self.own.head.at + areas["joined", QUOTIENT].at + chunk, change, words)

    def with_terminal(self, change: Ext) -> "Forged":
        """Return this with another first terminal."""
        terminals = self.own.head.areas["permutation"]
        place = message_places(self.own.layout)["permutation"]
        address = self.own.head.at + terminals.elements_at + ELEMENT_OFFSET
        return self.with_cell(address, change, {(place, terminals.first_element): change})

    def repaired(self, but: int | None = None) -> "Forged":
        """Return this with quotients by which all identities of tables hold, but one of them by its check's number."""
        found, first = self, len(self.own.head.gates.inverses)
        for table in range(len(self.own.layout.tables)):
            check = first + table
            value = found.false[check]
            if check != but and value != ZERO:
                slope = ext_sub(found.with_quotient(table, ONE).false[check], value)
                if slope != ZERO:  # else a replaced gate has the quotient in it
                    found = found.with_quotient(table, ext_mul(ext_sub(ZERO, value), ext_inv(slope)))
        return found


@cache
def honest(name: str) -> Forged:
    """Return the values of the honest run."""
    own = proof_of(name)
    of, data = own.head.gates, own.data()
    trace = run(verifier_program(), data)
    return Forged(own, data, trace.cells[:, of.addresses[: of.cells]], {}, {})


def with_false_check(of: Forged, check: int) -> Forged:
    """Return other values by which one check is not 0, and all other ones are."""
    gates, tables = of.own.head.gates, len(of.own.layout.tables)
    identity = check - len(gates.inverses)
    if identity < 0:
        inverse = int(gates.inverses[check])
        other = {int(gates.addresses[inverse]): ext_add(of.values[inverse], ONE)}
        return replace(of, gates=other).repaired()
    if identity < tables:
        return of.with_quotient(identity, ONE)
    return of.with_terminal(ONE).repaired()


ALL = ("another fold", "a shard of one height")


@pytest.mark.parametrize("name", ALL)
def test_every_check_counts(name: str) -> None:
    """Of points in a domain, of each table's identity, of the balance: each alone refuses a run."""
    of, (*inverses, balance) = honest(name), range(len(honest(name).own.head.gates.checks))
    assert accepted(of.given()) and len(inverses) == len(of.own.head.gates.inverses) + len(of.own.layout.tables)
    for check in (*inverses, balance):
        forged = with_false_check(of, check)
        assert [i for i, value in enumerate(forged.false) if value != ZERO] == [check]
        assert not accepted(forged.given())


def of_gate(of: Forged, number: int) -> Iterator[Forged]:
    """Yield other values by which one gate is false and all checks are 0, if the gate is no part of one of them."""
    gates = of.own.head.gates
    address, value = int(gates.addresses[number]), of.values[number]
    yield replace(of, gates={address: ext_add(value, ONE)}).repaired()
    for check in range(len(gates.checks)):
        other = with_false_check(of, check)
        yield replace(other, gates={**other.gates, address: value})


@pytest.mark.parametrize("name", ALL)
def test_every_gate_counts(name: str) -> None:
    """A gate with another result is refused, although all checks are 0."""
    of = honest(name)
    gates = of.own.head.gates
    begin = gates.cells + len(gates.literals)
    for number in sorted({*range(begin, len(gates.addresses))} - {*gates.inverses.tolist()}):
        forged = next((own for own in of_gate(of, number) if {*own.false} == {ZERO}), None)
        assert forged is not None and not accepted(forged.given()), number
