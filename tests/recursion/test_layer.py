"""The verifier's program accepts proofs of every layout, and its runs are proved.

A false run has a proof with another number in one place. Its messages, challenges and queries belong to that proof, so
that all hashes agree. Its rows are of the honest proof, whose many queries open every row.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.field import P
from graphprover.proof.compressed import MOST_CHILDREN
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import BLAKE3, KECCAK, Parameters
from graphprover.protocol.proof import BatchProof
from graphprover.protocol.verification import check_batch
from graphprover.proving.prove import prove
from graphprover.recursion.head.head import ProofHead, Start, _assembled, _template, head_of
from graphprover.recursion.head.heads import heads_of
from graphprover.recursion.head.memory_areas import areas_of
from graphprover.recursion.kernels.cpu.program import run_program
from graphprover.recursion.layer import layer_statement
from graphprover.recursion.layer_tables import layer_rows
from graphprover.recursion.openings import Openings, openings_of
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.witness import run as runs
from graphprover.recursion.witness.run import Contradiction, run
from graphprover.recursion.witness.run_data import RunData, run_data
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, with_traces
from graphprover.verifier import verify
from tests.interop.tables import PLAIN, fibonacci, limbs
from tests.recursion.falsified import accepted, verdicts
from tests.recursion.layered import CASES, COMMON, SHARDS, Child, child, child_of, layer
from tests.recursion.naive_run import run_by_python
from tests.recursion.running import require_same
from tests.recursion.test_openings import flipped

# Of one height and of several, with preprocessed columns and without, and one layout twice.
SEVERAL = ("two heights", "one height", "work before each challenge", "one height")
LONG = ("a wide shard", "a shard of three without work")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in (*CASES, *SHARDS)]


@pytest.mark.parametrize("name", NAMES)
def test_honest_proofs_are_accepted(name: str) -> None:
    assert check(layer(name)) == []


def test_the_cases_have_every_shape() -> None:
    layouts = [child(name).layout for name in CASES]
    assert {1, 2, 3} <= {log_arity for layout in layouts for log_arity in layout.fold_log_arities}
    assert {1, 2, 3, 8} == {layout.parameters.log_blowup for layout in layouts}
    assert {0, 1, 2, 3} == {log_chunks for layout in layouts for log_chunks in layout.log_chunks}
    assert max(len(layout.fri_log_heights) for layout in layouts) >= 5
    assert min(len(layout.fri_log_heights) for layout in layouts) == 1
    assert {len(layout.rounds) for layout in layouts} == {3, 4}
    assert {layout.parameters.query_pow_bits > 0 for layout in layouts} == {True, False}


@pytest.mark.parametrize("name", NAMES)
def test_compiled_runs_are_those_of_python(name: str) -> None:
    data = child(name).data()
    require_same(run(verifier_program(), data), run_by_python(verifier_program(), data))


def require_made_there(own: Child, head: ProofHead) -> None:
    """Require the words and the areas of a head that is made without a template."""
    sizes, at = head.constants.sizes, head.at - head.start.at
    areas = areas_of(own.layout, sizes, [*map(len, own.public_values)])
    read, gates, places = _assembled(own.layout, sizes, areas, head.read_chunks, at, head.start)
    for place, words in zip(places.constants_at, vars(head.constants).values(), strict=True):
        read[place : place + len(words)] = words % np.uint64(P)
    np.testing.assert_array_equal(head.words, np.concatenate([read, gates.words]))
    for name in ("addresses", "checks", "words"):
        np.testing.assert_array_equal(getattr(head.gates, name), getattr(gates, name))
    assert head.areas.by_name == areas.by_name and head.areas.batching == areas.batching
    assert head.areas.gates.first == areas.gates.first


def test_a_layer_is_about_several_proofs() -> None:
    """Heads of any layouts follow each other, and have the words that they would have if they were made there."""
    proofs = [child(name) for name in SEVERAL]
    heads = heads_of([own.stated for own in proofs])
    for own, head in zip(proofs, heads.heads, strict=True):
        require_made_there(own, head)
    starts = [(head.start.at, head.next_start.at) for head in heads.heads]
    assert all(end == begin for (_, end), (begin, _) in pairwise(starts))
    assert len({tuple(place) for place in data_of(proofs).places.tolist()}) == len(data_of(proofs).places)
    data = data_of(proofs)
    require_same(run(verifier_program(), data), run_by_python(verifier_program(), data))
    assert not check(with_traces(layer_statement([(own.stated, own.proof) for own in proofs])))


@pytest.mark.parametrize("false", range(3))
def test_one_false_proof_of_several_is_refused(false: int) -> None:
    proofs = [child(name) for name in SEVERAL[:3]]
    (a, b, c), *others = proofs[false].proof.final_polynomial
    other = replace(proofs[false].proof, final_polynomial=((a, b, (c + 1) % P), *others))
    opened = [own.opened(start) for own, start in zip(proofs, starts_of(proofs), strict=True)]
    opened[false] = replace(opened[false], proof=other)
    data = run_data(heads_of([own.stated for own in proofs]), opened)
    with pytest.raises(Contradiction):
        run(verifier_program(), data)


def test_too_many_proofs_are_refused() -> None:
    own = child("one height").stated
    assert len(heads_of([own] * MOST_CHILDREN).heads) == MOST_CHILDREN == 25
    for count in (0, MOST_CHILDREN + 1):
        with pytest.raises(ValueError, match=f"a layer is about 1 to 25 proofs, not {count}"):
            heads_of([own] * count)


def data_of(proofs: Sequence[Child]) -> RunData:
    """Return the data of a run about several proofs."""
    opened = [own.opened(start) for own, start in zip(proofs, starts_of(proofs), strict=True)]
    return run_data(heads_of([own.stated for own in proofs]), opened)


def starts_of(proofs: Sequence[Child]) -> list[Start]:
    return [head.start for head in heads_of([own.stated for own in proofs]).heads]


def test_a_course_that_is_known_takes_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a wrong one takes three."""
    taken, linked, data = [], verifier_program(), child("one height").data()
    wanted = run_by_python(linked, data)

    def counted(*arguments: Any) -> Any:
        taken.append(len(arguments[4]))  # bases
        return run_program(*arguments)

    monkeypatch.setattr(runs, "run_program", counted)
    monkeypatch.setattr(runs, "_shapes", OrderedDict())
    for expected in (2, 1, 1):
        taken.clear()
        require_same(run(linked, data), wanted)
        assert len(taken) == expected
    ((key, shape),) = runs._shapes.items()
    more, other_frame = shape.bases.copy(), shape.frames.copy()
    more[-1] += 1  # a cell that no instruction names
    other_frame[-1] += 1
    for wrong in (replace(shape, bases=more), replace(shape, frames=other_frame), replace(shape, bases=more[:2])):
        runs._shapes[key] = wrong
        taken.clear()
        require_same(run(linked, data), wanted)
        assert len(taken) == 3


def test_compiled_runs_have_more_memory_if_they_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    data = child("one height").data()
    wanted = run(verifier_program(), data)
    monkeypatch.setattr(runs, "_LOG_PAGES", 0)
    require_same(run(verifier_program(), data), wanted)


@pytest.mark.parametrize("change", ["a word", "no rows", "a digest", "no digests", "an input", "no inputs"])
def test_compiled_code_and_python_refuse_other_data(change: str) -> None:
    data = child("one height").data()
    rows, digests, values = data.rows, data.digests.copy(), data.values.copy()
    words = rows[0].words.copy()
    words[0, 0], digests[0, 0], values[-1, 0] = words[0, 0] ^ 1, digests[0, 0] ^ 1, values[-1, 0] ^ 1
    changes: dict[str, dict[str, Any]] = {
        "a word": {"rows": (replace(rows[0], words=words), *rows[1:])},
        "no rows": {"rows": rows[1:]},
        "a digest": {"digests": digests},
        "no digests": {"places": data.places[:0], "digests": digests[:0]},
        "an input": {"values": values},
        "no inputs": {"addresses": data.addresses[:0], "values": values[:0]},
    }
    other = replace(data, **changes[change])
    with pytest.raises((Contradiction, ValueError), match="line") as wanted:
        run_by_python(verifier_program(), other)
    with pytest.raises(Contradiction) as found:
        run(verifier_program(), other)
    assert str(found.value).partition(":")[0] == str(wanted.value).partition(":")[0]


@pytest.mark.parametrize("hash", [BLAKE3, KECCAK])
def test_both_verifiers_accept_a_proof_of_a_layer(hash: str, tmp_path: Path) -> None:
    accepted(layer("two heights"), hash, tmp_path)


def test_another_head_is_refused(tmp_path: Path) -> None:
    made = layer("two heights")
    (head,) = (table for table in made.tables if table.public_values)
    values = [head.public_values[0] ^ 1, *head.public_values[1:]]  # type: ignore[index]
    other = Statement([replace(table, public_values=values) if table is head else table for table in made.tables])
    assert None not in verdicts(other, tmp_path)
    proof = prove(made, parameters=PLAIN, device="cpu")
    with pytest.raises(VerificationError):
        verify(proof, other, security=0)


# False runs.

ALL = "all rows"


@cache
def openings() -> Openings:
    """Return the openings of a proof that opens all rows."""
    own = child(ALL)
    found = openings_of(own.layout, own.proof, own.challenges(), own.preprocessed)
    assert {len(of.indices) for of in found.rows} == {32, 16}  # of rounds, and groups of the fold
    return found


def refusal(proof: BatchProof, public_values: Sequence[Sequence[int]] | None = None) -> str | None:
    """Return why the program refuses a proof, or None if it does not; its public values may be others."""
    own = child(ALL)
    own = replace(own, proof=proof, public_values=own.public_values if public_values is None else public_values)
    try:
        run(verifier_program(), own.data(found=openings()))
    except Contradiction as error:
        return str(error)
    return None


def changed(proof: BatchProof) -> Iterator[BatchProof]:
    """Yield the proof with another number in one place each."""
    for table, of in enumerate(proof.openings):
        for part in ("main", "main_next", "permutation", "permutation_next"):
            value = getattr(of, part)
            for at in range(0, len(value or ""), 24):
                own = replace(of, **{part: flipped(value, at)})
                yield replace(proof, openings=(*proof.openings[:table], own, *proof.openings[table + 1 :]))
        for chunk, value in enumerate(of.quotient):
            own = replace(of, quotient=(*of.quotient[:chunk], flipped(value, 8), *of.quotient[chunk + 1 :]))
            yield replace(proof, openings=(*proof.openings[:table], own, *proof.openings[table + 1 :]))
    for at, terminal in enumerate(proof.terminals):
        if terminal is not None:
            other = (terminal[0], (terminal[1] + 1) % P, terminal[2])
            yield replace(proof, terminals=(*proof.terminals[:at], other, *proof.terminals[at + 1 :]))
    for at, (a, b, c) in enumerate(proof.final_polynomial):
        others = (*proof.final_polynomial[:at], (a, b, (c + 1) % P), *proof.final_polynomial[at + 1 :])
        yield replace(proof, final_polynomial=others)


def test_false_proofs_are_refused() -> None:
    own, places = child(ALL), Counter[str]()
    assert refusal(own.proof) is None
    for false in changed(own.proof):
        with pytest.raises(VerificationError):
            check_batch(own.layout, false, own.public_values, own.preprocessed, own.binding)
        why = refusal(false)
        assert why is not None
        places[why.partition(",")[0]] += 1
    # An opened value that no constraint reads disagrees with the rows, whose sums are in the value before a fold.
    assert places["zeros"] >= 10 and places["fold by 2"] >= 2
    assert places["query"] == len(own.proof.final_polynomial)
    assert places.total() == places["zeros"] + places["fold by 2"] + places["query"]


def test_missing_work_is_refused() -> None:
    own = child("work before each challenge")
    challenges, proof = own.challenges(), own.proof
    found = openings_of(own.layout, proof, challenges, own.preprocessed)
    for name in ("lookup_nonce", "zeta_nonce", "batch_nonce", "query_nonce"):
        false = replace(own, proof=replace(proof, **{name: getattr(proof, name) + 1}))
        with pytest.raises(VerificationError, match="proof of work"):
            false.challenges()
        with pytest.raises(Contradiction, match="finish, line"):
            run(verifier_program(), false.data(challenges, found))


def test_heads_of_one_layout_differ_in_their_constants() -> None:
    own = child_of([fibonacci(16), *limbs(32)], replace(PLAIN, **COMMON))  # with public values and a preprocessed table
    assert any(own.public_values) and own.preprocessed is not None
    _template.cache_clear()
    others = tuple(tuple((value + 1) % P for value in values) for values in own.public_values)
    changed = [
        (own.public_values, own.preprocessed, own.binding),
        (others, own.preprocessed, own.binding),
        (own.public_values, own.preprocessed, bytes(32)),
        (own.public_values, (bytes(32),), own.binding),
    ]
    heads = [head_of(own.layout, *given) for given in changed]
    assert _template.cache_info().misses == 1
    assert len({head.digest for head in heads}) == len(heads)
    for given, head in zip(changed, heads, strict=True):
        _template.cache_clear()
        np.testing.assert_array_equal(head_of(own.layout, *given).words, head.words)


@pytest.mark.parametrize("name", ["work before each challenge", "no work", "a shard"])
def test_proofs_with_other_numbers_of_queries_and_bits_of_work_share_a_template(name: str) -> None:
    own = child(name)
    start = Start(1 << 20, 7)
    bits = {name: getattr(own.layout.parameters, name) for name in Parameters.RANGES if "pow" in name}
    _template.cache_clear()
    for queries, more in ((1, 0), (2, 3), (3, 1), (4, 20), (5, 4), (20, 0), (333, 2), (1000, 12)):
        works = {name: of and min(32, of + more) for name, of in bits.items()}
        layout = replace(own.layout, parameters=replace(own.layout.parameters, num_queries=queries, **works))
        changed = replace(own, layout=layout)
        given = own.public_values, own.preprocessed, own.binding, start, own.shard
        require_made_there(changed, head_of(layout, *given))
    assert _template.cache_info().misses == 1


def test_layouts_that_the_program_cannot_verify_are_refused() -> None:
    own = child(ALL)
    for changes, why in (
        ({"hash": KECCAK}, "has the hash blake3, not keccak"),
        ({"cap_height": 1}, "has cap height 0, not 1"),
        ({"log_final_poly_len": 2}, "has a final polynomial of 2\\^3 coefficients or more"),
        ({"max_log_arity": 6, "log_final_poly_len": 0}, "has one fold or more"),
    ):
        parameters = replace(own.layout.parameters, **changes)
        layout = make_layout(own.layout.tables, own.layout.log_heights, parameters)
        with pytest.raises(ValueError, match=why):
            head_of(layout, own.public_values, own.preprocessed, own.binding)


@pytest.mark.parametrize(
    ("compressions", "machine_rows", "log_rows"),
    [
        (1, 1, (4, 16)),
        (2**14, 2**18, (18, 18)),
        (2**13 + 1, 2**17, (18, 18)),  # twice the rows that it needs
        (2**14, 2**16, (18, 16)),
        (2**12, 2**17, (16, 18)),
        (2**14, 2**18 + 1, (18, 20)),
        (2**16, 2**19 + 1, (20, 20)),
    ],
)
def test_heights_of_layers(compressions: int, machine_rows: int, log_rows: tuple[int, int]) -> None:
    blake3, machine = (2**log for log in log_rows)
    assert layer_rows(compressions, machine_rows) == {"blake3": blake3, "machine": machine}
