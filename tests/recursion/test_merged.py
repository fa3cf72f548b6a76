"""A merged layer: its tables side by side, with their constraints and messages, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from graphprover import CompressedProof, Proof, Prover, VerificationError
from graphprover.air.degree import at_rate
from graphprover.air.description import AirDescription
from graphprover.air.evaluate import evaluate
from graphprover.field import P, array_add, array_mul, array_sub
from graphprover.graphs.executor_names import THREADS
from graphprover.proof.compressed import Accepted
from graphprover.proof.sizes import expected_sizes
from graphprover.protocol.level import LayerLevel
from graphprover.protocol.parameters import BLAKE3, LAYER_RATES
from graphprover.protocol.proof import decode
from graphprover.prover.layer_tree import nodes_of
from graphprover.prover.layers import subjects_of
from graphprover.proving.compress import prove_tree
from graphprover.proving.executor import executor_of
from graphprover.recursion.expected import run_work, work_about
from graphprover.recursion.layer import layer_statement
from graphprover.recursion.layer_tables import MERGED_LOG_ROWS, layer_tables, merged_log_rows, merged_table
from graphprover.recursion.program.assembler import Assembler
from graphprover.recursion.tables import blake3, columns, fixed
from graphprover.recursion.tables.buses import MACHINE, MERGED
from graphprover.recursion.tables.columns import NUMBERS
from graphprover.recursion.tables.fixed import Fixed
from graphprover.recursion.tables.merged import Merged
from graphprover.recursion.tables.places import ROWS as CALL
from graphprover.statement.cells import cells_per_row
from graphprover.statement.statement import Statement, with_traces
from graphprover.verifier.headers import layouts_of_proof
from graphprover.verifier.layer_key import LayerStatement
from tests.conftest import ROOT
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN
from tests.recursion.layered import child
from tests.recursion.machines import BLAKE3_TABLE, HEAD_PLACE, TABLE

LAYER = merged_table(None, MERGED_LOG_ROWS[0])
PARTS = [air.describe() for air in layer_tables(None).values()]
FIRSTS = {"blake3": 0, "machine": blake3.WIDTH, "fixed": blake3.WIDTH + columns.WIDTH}  # columns of each part
TAU, SIGMA = 0x9E3779B97F4A7C15 % P, 0xC2B2AE3D27D4EB4F % P


@cache
def merged() -> Statement:
    """Return the statement about a proof, with its trace."""
    return with_traces(child("two heights").statement(merged=True))


def main() -> np.ndarray:
    trace = merged().tables[0].main
    assert isinstance(trace, np.ndarray)
    return trace


def test_costs() -> None:
    """Pin the counts, as docs/recursion.md has them."""
    own = LAYER.describe()
    assert (own.main_width, own.preprocessed_width, len(own.lookups), own.log_quotient_chunks) == (247, 12, 24, 2)
    words = own.main_width + own.preprocessed_width + own.permutation_width + (3 << own.log_quotient_chunks)
    assert (words, cells_per_row(own)) == (346, 334)
    low = at_rate(own, LAYER_RATES[128])
    assert (len(low.lookups), low.log_quotient_chunks, cells_per_row(low)) == (12, 3, 310)
    text = (ROOT / "docs/recursion.md").read_text()
    assert "| merged layer | 16 a compression, and as `machine` | 247 | 12 | 24 | 4 | 334 a row |" in text


def test_each_part_keeps_its_constraints_and_messages() -> None:
    """They have the values of the tables by themselves, on any rows."""
    rng, rows = np.random.default_rng(5), 64
    own = LAYER.describe()
    trace, preprocessed, public = (
        rng.integers(0, P, (width, rows), dtype=np.uint64)
        for width in (own.main_width, own.preprocessed_width, own.num_public_values)
    )
    values = [int(value) for value in public[:, 0]]
    constraints, messages = evaluated(own, trace, preprocessed, values)
    assert [of.bus for of in own.globals] == [MACHINE.name] * len(messages) and not own.locals
    before = {bus.name: elements for bus, elements in MERGED.items()}
    for part in PARTS:
        first = FIRSTS[part.name]
        alone = trace[first : first + part.main_width], preprocessed if part.preprocessed_width else None
        wanted, wanted_messages = evaluated(part, *alone, values[: part.num_public_values])
        np.testing.assert_array_equal(constraints[: len(wanted)], wanted)
        for found, message, of in zip(messages, wanted_messages, part.globals, strict=False):
            elements = before.get(of.bus or "", [])
            assert all((found[1 + i] == element).all() for i, element in enumerate(elements))
            np.testing.assert_array_equal([found[0], *found[1 + len(elements) :]], message)
        constraints, messages = constraints[len(wanted) :], messages[len(wanted_messages) :]
    assert not len(constraints) and not messages
    weights = [of.tuples[0].weight for part in PARTS for of in part.globals]
    assert [of.tuples[0].weight for of in own.globals] == weights
    labels = [label for part in PARTS for label in part.constraint_labels]
    assert list(own.constraint_labels) == labels


def test_no_message_is_one_of_another_kind() -> None:
    """The first element that is not 0 is the tag, and messages of one length have different tags."""
    lengths = {len(elements): set[int]() for elements in MERGED.values()}
    for elements in MERGED.values():
        assert not any(elements[:-1]) and elements[-1] > 0
        lengths[len(elements)].add(elements[-1])
    assert sum(map(len, lengths.values())) == len(MERGED)
    of_machine = {elements[-1] for elements in MERGED.values()}
    assert of_machine.isdisjoint(range(1, 9)), "the tags of messages that have the bus in three tables, too"
    widths = {len(MERGED.get(bus, ())) + count for bus, count in zip(MERGED, (3, 4, 4, 1, 4), strict=True)}
    assert widths == {25}


def evaluated(
    own: AirDescription, trace: np.ndarray, preprocessed: np.ndarray | None, public: Sequence[int]
) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """Return the values of all constraints, and the count and the elements of each message."""
    roots = list(own.constraints)
    for of in own.globals:
        roots += [of.tuples[0].multiplicity, *of.tuples[0].fields]
    blocks = [values for _, values in evaluate(own, trace, preprocessed, public, roots)]
    values = iter([np.concatenate(parts) for parts in zip(*blocks, strict=True)])
    constraints = [next(values) for _ in own.constraints]
    return constraints, [[next(values) for _ in range(1 + len(of.tuples[0].fields))] for of in own.globals]


def put_on_bus(messages: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Return for each row the sum of a power of each message's fingerprint, as often as the row puts it on the bus."""
    total = np.zeros(len(messages[0][0]), dtype=np.uint64)
    for count, *elements in messages:
        own = np.full(len(total), SIGMA, dtype=np.uint64)
        for element in elements:
            own = array_add(array_mul(own, np.uint64(TAU)), element)
        squared = array_mul(own, own)
        total = array_add(total, array_mul(count, array_mul(array_mul(squared, squared), own)))
    return total


def noticed(cells: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return for each change of a cell, a column and a row, whether a constraint fails or the bus does not balance."""
    honest, preprocessed = main(), merged().tables[0].preprocessed
    assert preprocessed is not None
    row = np.array([row for _, row in cells])
    triples = np.stack([row - 1, row, row + 1], axis=1).ravel() % honest.shape[1]
    right, fixed_columns = honest[:, triples], preprocessed[:, triples]
    other = right.copy()
    for number, (column, _) in enumerate(cells):
        other[column, 3 * number + 1] = (int(other[column, 3 * number + 1]) + 7) % P
    public = merged().tables[0].public_values
    assert public is not None
    # The first triple is there twice, so that no other row is the first one.
    first = [0, 1, 2]
    doubled = [np.concatenate([of[:, first], of], axis=1) for of in (right, other, fixed_columns)]
    (zeros, of_right), (_, _) = (evaluated(LAYER.describe(), own, doubled[2], public) for own in doubled[:2])
    failing, of_other = evaluated(LAYER.describe(), doubled[1], doubled[2], public)
    sums = array_sub(put_on_bus(of_other), put_on_bus(of_right))[3:].reshape(-1, 3)
    bad = np.any([zero != 0 for zero in failing], axis=0)[3:].reshape(-1, 3)
    good = np.any([zero != 0 for zero in zeros], axis=0)[3:].reshape(-1, 3)
    assert not good[:, :2].any(), "the honest rows"
    return bad[:, 0] | bad[:, 1] | (array_add(sums[:, 0], sums[:, 1]) != 0)


def test_every_cell_of_a_call_counts() -> None:
    """All but 80 cells of the first row, as in the table by itself."""
    cells = [(column, 3 * CALL + row) for row in range(CALL) for column in range(blake3.WIDTH)]
    found = noticed(cells).reshape(CALL, blake3.WIDTH)
    assert found[1:].all() and int((~found[0]).sum()) == 80


def test_every_column_of_the_machine_counts() -> None:
    """In a row of some kind, and memory in rows of all kinds."""
    trace, first = main(), FIRSTS["machine"]
    kinds = [NUMBERS.step, *NUMBERS.quarter, NUMBERS.inner, NUMBERS.whole, NUMBERS.node]
    rows = [int(np.flatnonzero(trace[first + kind])[at]) for kind in kinds for at in (1, 2, -2)]
    cells = [(first + column, row) for row in rows for column in range(columns.WIDTH)]
    found = noticed(cells).reshape(len(rows), columns.WIDTH)
    assert found.any(axis=0).all()
    assert found[:, [NUMBERS.address, NUMBERS.looked_up, *kinds]].all()


def test_every_count_of_lookups_counts() -> None:
    """In the first rows and in the last ones."""
    rows = [1, 77, 2**16 - 2]
    cells = [(FIRSTS["fixed"] + column, row) for row in rows for column in range(fixed.WIDTH)]
    assert noticed(cells).all()


# Preprocessed columns beyond the rows of `fixed`.


def programs() -> tuple[np.ndarray, np.ndarray]:
    """Return the fields of a program that refuses any run, and of one with zeros in the place of its instruction."""
    made = Assembler()
    start = made.function("main", arguments=0)
    start.require_equal(start.constant(5), start.constant(6))
    start.halt()
    fields = made.link(start).fields
    without = fields.copy()
    without[:, 0] = 0
    return fields, without


def preprocessed_of(fields: np.ndarray, zeros: bool) -> np.ndarray:
    """Return the preprocessed columns of a merged layer of 2^17 rows; ``zeros``: as if they did not repeat."""
    found = Merged((BLAKE3_TABLE, TABLE), Fixed(fields, HEAD_PLACE), 2 * fixed.ROWS).preprocessed_trace()
    if zeros:
        found[:, fixed.ROWS :] = 0
    return found


def test_rows_beyond_the_fixed_ones_provide_no_other_instruction() -> None:
    """With zeros there, row 2^16 would provide an instruction without flags at address 0."""
    honest, without = programs()
    own, at = LAYER.describe(), [0, 1, fixed.ROWS, fixed.ROWS + 1]
    trace = np.zeros((own.main_width, len(at)), dtype=np.uint64)
    steps = FIRSTS["fixed"] + fixed.FIRST_COLUMNS["steps"]

    def provided(program: np.ndarray, place: int, zeros: bool = False) -> int:
        """Return what a row puts on the bus if the instruction at its address is looked up once there."""
        counts = trace.copy()
        counts[steps, at.index(place)] = 1
        preprocessed = preprocessed_of(program, zeros)[:, at]
        _, messages = evaluated(own, counts, preprocessed, [0] * 8)
        idle = evaluated(own, trace, preprocessed, [0] * 8)[1]
        return int(array_sub(put_on_bus(messages), put_on_bus(idle)).sum(dtype=object) % P)

    other = provided(without, 0)  # what a run that skips the first instruction looks up
    assert provided(honest, 0) == provided(honest, fixed.ROWS) != other
    assert provided(honest, fixed.ROWS, zeros=True) == other, "the attack"


def test_preprocessed_columns_repeat() -> None:
    for log_rows in MERGED_LOG_ROWS[:3]:
        found = merged_table(None, log_rows).preprocessed_trace()
        once = layer_tables(None)["fixed"].preprocessed_trace()
        assert found.shape == (12, 1 << log_rows)
        assert all((part == once).all() for part in np.split(found, 1 << (log_rows - 16), axis=1))


# Proofs.

BITS = 20.0  # little security, so that proofs are short
PROVER = Prover(ROOT / "examples/guests/fib_iterative.elf", rate=8, security=BITS, pow_bits=4, device="cpu")
MERGED_LEVEL = LayerLevel(BITS, 2, pow_bits=4, merged=True)


@cache
def of_layers(*levels: LayerLevel) -> CompressedProof:
    """Return a compressed proof with these layers, one about another."""
    base = PROVER.prove(bytes([9, *bytes(7)]))
    assert isinstance(base, Proof)
    nodes = nodes_of([base], [PROVER.program.statement_of(base)], levels[0], [""])
    return prove_tree(nodes, levels, executor_of(THREADS, "cpu"), False)


def test_a_layer_of_one_table_has_the_claim_of_its_base() -> None:
    proof = of_layers(MERGED_LEVEL)
    assert proof.layer.log_heights == (16,) and len(proof.layer.public_values[0]) == 8
    verdict = PROVER.verify(proof.to_bytes())
    assert verdict.claim and verdict.claim.exit_code == 0
    assert PROVER.key().verify(proof, BITS).claim == verdict.claim
    layout = layouts_of_proof(proof.layer, LayerStatement(proof.layer.log_heights))[0]
    batch = decode(proof.layer.payload, layout)
    assert batch.terminals == ((0, 0, 0),)
    expected = sum(expected_sizes(layout).values())
    assert abs(expected - proof.layer.size) < 0.02 * expected


def test_other_merged_layers_are_refused() -> None:
    good = of_layers(MERGED_LEVEL)
    layer, (values,) = good.layer, good.layer.public_values
    flipped = bytearray(layer.payload)
    flipped[len(flipped) // 2] ^= 1
    for false, rule in (
        (replace(layer, log_heights=(15,)), "statement.height"),
        (replace(layer, log_heights=(23,)), "statement.height"),
        (replace(layer, log_heights=(255,)), "statement.height"),
        (replace(layer, log_heights=(17,)), "payload.length"),
        (replace(layer, log_heights=(16, 16), public_values=(values, ())), "statement.tables"),
        (replace(layer, log_heights=(16, 16, 16), public_values=((), (), values)), "payload.length"),
        (replace(layer, public_values=((values[0] ^ 1, *values[1:]),)), None),
        (replace(layer, payload=bytes(flipped)), None),
    ):
        with pytest.raises(VerificationError, match=r"^layer: ") as refused:
            PROVER.verify(CompressedProof(good.children, false))
        assert rule in (None, refused.value.rule), refused.value


@pytest.mark.slow
def test_a_layer_about_a_merged_layer() -> None:
    """And a merged layer about a layer of three tables."""
    three = replace(MERGED_LEVEL, merged=False)
    for levels in ((MERGED_LEVEL, three), (three, MERGED_LEVEL)):
        proof = of_layers(*levels)
        assert [len(own.log_heights) for own in proof.layers] == [1 if level.merged else 3 for level in levels]
        assert PROVER.verify(proof.to_bytes()).claim == PROVER.verify(of_layers(MERGED_LEVEL)).claim
        first = proof.children[0].header
        heights = (17, *first.log_heights[1:])
        other = Accepted(replace(first, log_heights=heights), proof.children[0].children)
        with pytest.raises(VerificationError, match=r"^layer"):
            PROVER.verify(CompressedProof((other,), proof.layer))


def test_the_work_about_a_merged_layer_is_expected() -> None:
    proof = of_layers(MERGED_LEVEL)
    (subject,) = subjects_of(proof, [PROVER.program.statement_of(proof.header, coming=True)], MERGED_LEVEL)
    (task,) = layer_statement([(subject.child, subject.batch)]).tables[0].main.needs
    steps, work = task.fixed["inputs"].steps, run_work() + work_about(subject.child.layout)
    assert (len(steps.pcs), steps.cells.shape[1]) == (work.steps, work.cells)
    assert task.fixed["inputs"].calls == pytest.approx(work.compressions, rel=0.05)


def test_rows_of_a_merged_layer() -> None:
    for compressions, machine_rows, log_rows in (
        (1, 1, 16),
        (2**13, 2**17, 17),
        (2**13 + 1, 1, 18),
        (1, 2**20, 20),
    ):
        assert merged_log_rows(compressions, machine_rows) == log_rows
    with pytest.raises(ValueError, match=r"at most 2\^22 rows, and this one needs 2\^23"):
        merged_log_rows(2**18 + 1, 1)


def test_both_verifiers_accept_a_merged_layer(tmp_path: Path) -> None:
    case = Case(replace(PLAIN, hash=BLAKE3, log_final_poly_len=5, max_log_arity=3), merged())
    payload = case.prove()
    assert case.our_verdict(payload) is None
    plonky3.write_statement(tmp_path / "statement.json", case.parameters, merged().tables)
    assert plonky3.verify_payloads(tmp_path, tmp_path / "statement.json", [payload]) == [None]
