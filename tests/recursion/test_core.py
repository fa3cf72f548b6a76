"""The table `core` runs what its program says, with `memory` and `program`, and nothing else."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphprover.air.debugger import FailingConstraint
from graphprover.air.evaluate import evaluate
from graphprover.device import CpuDevice
from graphprover.field import P
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import BLAKE3, HASH_NAMES
from graphprover.prover.prove import prove
from graphprover.recursion.kernels import count_numbers
from graphprover.recursion.tables.buses import MACHINE, Tag
from graphprover.recursion.tables.buses import MEMORY as MEMORY_BUS
from graphprover.recursion.tables.core import FLAGS
from graphprover.recursion.tables.program import Program as Instructions
from graphprover.recursion.traces import core
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from graphprover.verifier import verify
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN
from tests.recursion import naive_core
from tests.recursion.falsified import verdicts
from tests.recursion.running import CORE, FIRST_INPUT, MEMORY, Partner, Ran, known, program, ran, with_main
from tests.strict_device import StrictDevice, unwrapped

PLACE, DIGEST = (3, 5, 9), (10, 11, 12, 13, 14, 15, 16, 17)
SPAN, SUMS = (2, 100, 124), ((1, 2, 3), (4, P - 5, 6))
RESULT = 2 * 13


def test_costs() -> None:
    """Pin the counts, as docs/recursion.md has them."""
    of_core, memory, instructions = (air.describe() for air in (CORE, MEMORY, Instructions(everything().linked.fields)))
    for found, width, preprocessed, fractions, log_chunks, cells in (
        (of_core, 34, 0, 2, 2, 55),
        (memory, 5, 0, 1, 0, 14),
        (instructions, 1, 8, 1, 0, 10),
    ):
        costs = found.main_width, found.preprocessed_width, len(found.lookups), found.log_quotient_chunks
        assert (*costs, cells_per_row(found)) == (width, preprocessed, fractions, log_chunks, cells)
    text = (Path(__file__).parents[2] / "docs/recursion.md").read_text()
    assert "| `core` | a step | 34 | 0 | 2 | 4 | 55 a step |" in text
    assert "| `memory` | a cell | 5 | 0 | 1 | 1 | 14 a cell |" in text
    assert "| `program` | an instruction | 1 | 8 | 1 | 1 | 10 an instruction |" in text


@cache
def everything() -> Ran:
    """Return a run with all kinds of instructions."""
    made, main, (turns, result, *free) = program(8)
    twice = made.function("twice", arguments=1, results=1)
    twice.give_back([twice.linear(2, twice.arguments[0])])
    with main.unless_zero(main.is_zero(turns)):
        main.require(turns, 0)
    start, pointer = main.constant(1), main.allocate()
    main.store(pointer, 1, start)
    third = main.divide(start, main.constant(3))
    total, result, third, pointer = main.loop(
        turns,
        [main.load(main.linear(1, pointer, 4), -3), result, third, pointer],
        lambda f, c: [f.multiply_add(c[0], f.constant(2), f.linear(3, c[2])), *c[1:]],
    )
    place, span, at, *words = (main.load(main.constant(FIRST_INPUT + cell.place - 2)) for cell in free)
    main.row(place, 1, span)
    main.require_base(main.constant(5))
    main.gate(at, main.constant(3 - RESULT), -1, 0)
    main.gate(at, main.constant(3 * RESULT), 0, 1)
    main.cap(place, (words[0], words[1], words[2]))
    main.require_equal(main.call(twice, [main.subtract(total, main.constant(2))])[0], result)
    values = PLACE, SPAN, (FIRST_INPUT, FIRST_INPUT + 1, 9), DIGEST[:3], DIGEST[3:6], (*DIGEST[6:], 77)
    return ran(made, main, 3, RESULT, *values, rows=lambda *_: SUMS)


def partner() -> Partner:
    return Partner([(*PLACE, 1, *SPAN, *SUMS[0], *SUMS[1])], [((*PLACE, *DIGEST), 2)])


@cache
def statement() -> Statement:
    return everything().statement(partner())


def test_all_kinds_of_instructions_are_proved() -> None:
    assert check(statement()) == []
    used = np.bitwise_or.reduce(everything().linked.fields[0][everything().trace.pcs])
    assert used == (1 << len(FLAGS)) - 1


@pytest.mark.parametrize("threads", [1, 3])
def test_traces(threads: int) -> None:
    for found, wanted in zip(everything().traces(CpuDevice(threads)), naive_core.traces(everything()), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_traces_use_what_a_gpu_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(device: StrictDevice, numbers: Any, counts: Any) -> None:
        count_numbers(device.cpu, unwrapped(numbers), unwrapped(counts))

    monkeypatch.setattr(core, "count_numbers", counted)
    for found, wanted in zip(everything().traces(StrictDevice()), naive_core.traces(everything()), strict=True):
        np.testing.assert_array_equal(unwrapped(found), wanted)


# Soundness.


def main_of(name: str) -> np.ndarray:
    """Return a copy of the trace of a table."""
    (found,) = (own.main for own in statement().tables if own.air.name == name)
    assert isinstance(found, np.ndarray)
    return found.copy()


def labels(name: str, main: np.ndarray) -> set[str]:
    """Return the labels of the constraints that a trace does not satisfy."""
    found = check(with_main(statement(), name, main))
    return {finding.label for finding in found if isinstance(finding, FailingConstraint)}


# For each constraint, by its label, an edit that it refuses: the rows by the values of columns, one of these, and the
# column with the value that it has there.
REFUSED: dict[str, tuple[dict[str, int], int, Any, Any]] = {
    "a row is on or off": ({"on": 1}, 2, "on", 2),
    "a run has a first step": ({}, 0, "on", 0),
    "a run begins with instruction 0": ({}, 0, "pc", 1),
    "a run begins with the first frame": ({}, 0, "frame", 2),
    "rows that are off are the last": ({"on": 1}, 3, "on", 0),
    "a run goes on until it halts": ({"halt": 1}, 0, "halt", 0),
    "nothing follows after a halt": ({"on": 1}, 3, "halt", 1),
    "a run halts": ({}, -1, "on", 1),
    "a flag": ({"jump": 1}, 0, "jump", 2),
    "rows that are off do nothing": ({"on": 0}, 0, "row", 1),
    "the address of b": ({"gate": 1}, 0, "at_b", 1),
    "the address of d": ({"add": 1}, 0, "at_d", 1),
    "only caps are looked up": ({"add": 1}, 0, "asked", 1),
    "c = a b + k a + d + l": ({"add": 1}, 0, "c", 7),
    "c is in the base field": ({"indirect": 1, "add": 0}, 0, "c", 7),
    "a gate has c = l d b + k b + (1 - l) d": ({"gate": 1}, 0, "c", 7),
    "a jump has c = 1 - a b": ({"jump": 1}, 0, "c", 7),
    "a jump has a = 0 or c = 0": ({"jump": 1}, 0, "c", 7),
    "a jump has c in the base field": ({"jump": 1}, 0, "c", 7),
    "a call notes the instruction and the frame after it": ({"call": 1}, 0, "a", 7),
    "the next instruction": ({"on": 1}, 4, "pc", 7),
    "the next frame": ({"on": 1}, 4, "frame", 7),
}


def test_every_constraint_refuses_a_trace() -> None:
    assert set(CORE.describe().constraint_labels) == set(REFUSED)
    for label, (flags, number, column, value) in REFUSED.items():
        main = main_of("core")
        t = CORE.view(main)
        rows = np.flatnonzero(
            np.all([np.ones(len(t.on), dtype=bool), *(t.__dict__[f] == v for f, v in flags.items())], axis=0)
        )
        getattr(t, column)[..., rows[number]] = value
        assert label in labels("core", main), label
    assert labels("core", main_of("core")) == set()


def test_memory_has_consecutive_addresses() -> None:
    for first, step, label in ((1, 1, "addresses begin with 0"), (0, 2, "addresses follow each other")):
        main = main_of("memory")
        main[0] = np.arange(main.shape[1]) * step + first
        assert labels("memory", main) == {label}


def test_each_of_many_constraints_refuses_a_trace() -> None:
    """Of constraints with one label: by flag and coordinate."""
    rng, failing = np.random.default_rng(4), set()
    description, honest = CORE.describe(), main_of("core")
    for _ in range(60):
        main = np.where(rng.random(honest.shape) < 0.05, honest + np.uint64(1), honest)
        failing |= {i for i, zero in enumerate(evaluated(main)[: len(description.constraints)]) if zero.any()}
    assert failing == set(range(len(description.constraints)))


def evaluated(main: np.ndarray) -> list[np.ndarray]:
    """Return the values of all constraints, multiplicities and fields of messages of a trace."""
    description = CORE.describe()
    roots = list(description.constraints)
    for interaction in description.globals:
        roots += [interaction.tuples[0].multiplicity, *interaction.tuples[0].fields]
    ((_, values),) = evaluate(description, main, None, (), roots)
    return values


def noticed(main: np.ndarray, honest: list[np.ndarray]) -> np.ndarray:
    """Return for each row whether a constraint fails, a lookup finds nothing, or a message is not the honest one.

    Counts of lookups are of no help, so it is as if the prover had adapted them.
    """
    description, values = CORE.describe(), evaluated(main)
    memory, instructions = everything().trace.cells, everything().linked.fields
    at = len(description.constraints)
    bad = np.any([zero != 0 for zero in values[:at]], axis=0)
    for interaction in description.globals:
        end = at + 1 + len(interaction.tuples[0].fields)
        (count, *fields), (honest_count, *honest_fields) = values[at:end], honest[at:end]
        if interaction.bus == MEMORY_BUS.name:
            wrong = _differs(memory, fields[0], fields[1:])
        elif interaction.bus == MACHINE.name and (fields[-9] == Tag.STEP).all():
            wrong = _differs(instructions, fields[-8], fields[-7:])
        else:
            wrong = np.any([a != b for a, b in zip(fields, honest_fields, strict=True)], axis=0)
        bad |= (count != honest_count) | (count != 0) & wrong
        at = end
    return bad


def _differs(table: np.ndarray, number: np.ndarray, fields: list[np.ndarray]) -> np.ndarray:
    """Return whether a table does not have these fields in the column of a number."""
    place = np.minimum(number, np.uint64(table.shape[1] - 1)).astype(np.int64)
    return (number != place) | np.any(table[:, place] != np.stack(fields), axis=0)


def unread(t: SimpleNamespace, name: str, row: int) -> bool:
    """Return whether nothing reads a cell of the honest trace."""
    family = name.split("[")[0]
    if family in ("on", "asked", *FLAGS):
        return False
    if not t.on[row]:  # only the addresses of b and d are the same as in other rows
        return family not in ("frame", "at_b", "at_d") and name not in ("offset[1]", "offset[3]")
    if family == "b":
        return not (t.multiply[row] or t.jump[row] or t.row[row] or t.cap[row] or t.gate[row])
    if family == "d":
        return not (t.add[row] or t.row[row] or t.cap[row] or t.gate[row])
    return False


@pytest.mark.parametrize("change", [1, P - 1, 2**32])
def test_every_cell_counts(change: int) -> None:
    """Change one cell at a time, in rows of every kind."""
    names, period = CORE.describe().main_names, main_of("core")
    t, honest = CORE.view(period), evaluated(period)
    assert not noticed(period, honest).any()
    rows = len(t.on)
    for column, name in enumerate(names):
        for first in range(3):  # rows that are 3 apart: a row notices one change at most, its own or its successor's
            main = period.copy()
            main[column, first::3] = (main[column, first::3].astype(object) + change) % P
            bad = noticed(main, honest)
            for row in range(first, rows, 3):
                assert (bad[row] or bad[row - 1]) != unread(t, name, row), (name, row)


# Traces that a prover could make up.


def other_digit_of_zero(t: SimpleNamespace) -> None:
    """Choose coordinates of the result of a jump on a cell that is not 0."""
    at = int(np.flatnonzero((t.jump == 1) & (t.a[0] != 0))[0])
    t.b[1, at] = 1


def skipped(t: SimpleNamespace) -> None:
    """Leave out the second step."""
    on = int(t.on.sum())
    for column in vars(t).values():
        column[..., 1 : on - 1] = column[..., 2:on].copy()
        column[..., on - 1] = 0


def halts_early(t: SimpleNamespace) -> None:
    for column in vars(t).values():
        column[..., 5:] = 0
    for name in FLAGS:
        getattr(t, name)[4] = 0
    t.halt[4] = 1


def never_halts(t: SimpleNamespace) -> None:
    """Fill the table with the steps of a run that goes on after its end, as if the last row preceded the first."""
    t.halt[:] = 0


def starts_twice(t: SimpleNamespace) -> None:
    on = int(t.on.sum())
    for column in vars(t).values():
        column[..., on] = column[..., 0].copy()


def both_flags(t: SimpleNamespace) -> None:
    """Let a multiplication be a call as well, with flags that the instruction there does not have."""
    t.call[int(np.flatnonzero(t.multiply * (1 - t.call))[0])] = 1


def other_memory(t: SimpleNamespace) -> None:
    """Give a cell another value in one of the two steps that name it."""
    at = int(t.on.sum()) - 2
    t.c[0, at] += np.uint64(1)


def gate_of_other_cells(t: SimpleNamespace) -> None:
    """Take the operands of a gate from the frame, as if its flag were off."""
    at = int(np.flatnonzero(t.gate)[0])
    t.at_b[at] = t.at_d[at] = t.frame[at]
    t.b[:, at] = t.d[:, at] = everything().trace.cells[:, int(t.frame[at])]


@pytest.mark.parametrize(
    "edit",
    [
        other_digit_of_zero,
        skipped,
        halts_early,
        never_halts,
        starts_twice,
        both_flags,
        other_memory,
        gate_of_other_cells,
    ],
)
def test_made_up_steps_are_found(edit: Callable[[SimpleNamespace], None]) -> None:
    main = main_of("core")
    edit(CORE.view(main))
    assert (main != main_of("core")).any()
    assert check(with_main(statement(), "core", main))


def test_coordinates_of_a_jump_are_no_choice() -> None:
    """Without its constraint, this trace would hold: no other step has the cells c and b."""
    made, main, (a,) = program(1)
    main.is_zero(a)
    honest = ran(made, main, 5)
    cells, b, c = honest.trace.cells.copy(), FIRST_INPUT + 1, FIRST_INPUT + 2
    assert cells[:, b].tolist() == [pow(5, -1, P), 0, 0] and not cells[:, c].any()
    cells[1, b], cells[1, c] = 1, P - 5  # 1 - a b = -5 x with b = 1/5 + x
    forged = replace(honest, trace=replace(honest.trace, cells=cells))
    assert {finding.label for finding in check(forged.statement()) if isinstance(finding, FailingConstraint)} == {
        "a jump has c in the base field"
    }


def test_instructions_beyond_the_program_lead_to_no_halt() -> None:
    """The rows after a program are instructions that require a cell to be 0, and the last one has no successor."""
    fields = everything().linked.fields
    beyond = np.flatnonzero(~fields.any(axis=0))
    assert len(beyond) and beyond[-1] == fields.shape[1] - 1
    halts = fields[0] & np.uint64(1 << FLAGS.index("halt")) != 0
    assert halts.any() and not halts[beyond].any()
    assert (np.diff(beyond) == 1).all()


def test_chunks_and_digests_are_the_ones_of_other_tables() -> None:
    chunk = [*PLACE, 1, *SPAN, *SUMS[0], *SUMS[1]]
    for i in range(len(chunk)):
        other = [value + (k == i) for k, value in enumerate(chunk)]
        assert check(everything().statement(Partner([other], [((*PLACE, *DIGEST), 2)])))
    for i in range(11):
        other = [value + (k == i) for k, value in enumerate((*PLACE, *DIGEST))]
        assert check(everything().statement(Partner([chunk], [(other, 2)])))
    assert check(everything().statement(Partner([chunk], [((*PLACE, *DIGEST), 1)])))
    assert check(everything().statement(Partner([], [((*PLACE, *DIGEST), 2)])))


# Proofs.


@pytest.mark.parametrize("hash", HASH_NAMES)
def test_both_verifiers_accept(hash: str, tmp_path: Path) -> None:
    made = statement()
    proof = prove(made, hash=hash, device="cpu")
    assert verify(proof, made).bits >= 128
    plonky3.write_statement(tmp_path / "statement.json", proof.parameters, made.tables, made.label)
    assert plonky3.verify_payloads(tmp_path, tmp_path / "statement.json", [proof.payload]) == [None]


@cache
def plain() -> Proof:
    return prove(statement(), parameters=PLAIN, device="cpu")


def false_input() -> Statement:
    """Return the statement of another result of the same program."""
    inputs = dict(everything().inputs)
    inputs[4] = (RESULT + 1, 0, 0)
    tables = [replace(own, air=known(inputs)) if own.air.name == "known" else own for own in statement().tables]
    return Statement(tables)


def false_program() -> Statement:
    """Return the statement of a program with another constant, which the run has come to."""
    fields = everything().linked.fields.copy()
    fields[2, everything().trace.pcs[-3]] += np.uint64(1)
    tables = [
        replace(own, air=Instructions(fields)) if own.air.name == "program" else own for own in statement().tables
    ]
    return Statement(tables)


@pytest.mark.parametrize("false", [false_input, false_program])
def test_both_verifiers_reject_false_statements(false: Callable[[], Statement], tmp_path: Path) -> None:
    made = false()
    assert check(made)
    verify(plain(), statement(), security=0)
    with pytest.raises(VerificationError):
        verify(plain(), made, security=0)
    assert None not in verdicts(made, tmp_path)


def test_plonky3_gives_the_same_bytes(tmp_path: Path) -> None:
    case = Case(replace(PLAIN, hash=BLAKE3), statement())
    files = case.write_and_prove(tmp_path)
    assert files.proof.read_bytes() == case.prove()
