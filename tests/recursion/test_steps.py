"""The steps of `machine` follow the program, and do nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.air.debugger import FailingConstraint
from graphprover.device import CpuDevice
from graphprover.field import P
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import BLAKE3, HASH_NAMES
from graphprover.proving.prove import prove
from graphprover.recursion.kernels import count_numbers, count_operands, fill_steps
from graphprover.recursion.tables.buses import MessageTag, message
from graphprover.recursion.tables.columns import WIDTH
from graphprover.recursion.tables.fixed import Fixed
from graphprover.recursion.tables.machine import LOOKED_UP
from graphprover.recursion.tables.steps import FLAGS
from graphprover.recursion.traces import machine
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from graphprover.verifier import verify
from tests.interop.case import Case
from tests.interop.tables import PLAIN
from tests.recursion import naive_steps
from tests.recursion.falsified import accepted, verdicts
from tests.recursion.machines import HEAD_PLACE, Known, with_air
from tests.recursion.running import FIRST_INPUT, Ran, program, ran

PLACE, DIGEST = (3, 5, 9), (10, 11, 12, 13, 14, 15, 16, 17)
SPAN, SUMS = (2, 100, 124), ((1, 2, 3), (4, P - 5, 6))
RESULT = 2 * 13


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


CHUNK = (*PLACE, 1, *SPAN, *SUMS[0], *SUMS[1])


def facts(chunk: Sequence[int] = CHUNK, cap: Sequence[int] = (*PLACE, *DIGEST), lookups: int = 2) -> list[Any]:
    """Return the messages of the chunk and of the digest that `everything` asks for and provides."""
    return [(-1, message(MessageTag.ROW, *chunk)), (lookups, message(MessageTag.PLACE, *cap))]


@cache
def statement() -> Statement:
    return everything().statement(*facts())


def test_all_kinds_of_instructions_are_proved() -> None:
    assert check(statement()) == []
    used = np.bitwise_or.reduce(everything().linked.fields[0][everything().trace.pcs])
    assert used == (1 << len(FLAGS)) - 1


@pytest.mark.parametrize("threads", [1, 3])
def test_traces(threads: int) -> None:
    found = traces(everything(), CpuDevice(threads))
    np.testing.assert_array_equal(found[0], naive_steps.machine_trace(everything()))
    np.testing.assert_array_equal(found[1], naive_steps.steps_of(everything()))


def traces(of: Ran, device: Any) -> tuple[Any, Any]:
    """Return the trace of `machine` with the lookups of a run's inputs, and the counts of its steps."""
    naive, inputs = naive_steps.machine_trace(of), of.inputs_on(device)
    main = machine.machine_trace(device, inputs, rows=naive.shape[1])
    main[LOOKED_UP, : len(of.known_lookups)] += device.load(of.known_lookups)
    steps = device.arrays.zeros(2**16, dtype=np.uint64)
    count_numbers(device, inputs.steps.pcs, steps)
    return main, steps


def test_arrays_of_another_kind_are_refused() -> None:
    device, good = CpuDevice(1), everything().steps
    main, counts = np.zeros((WIDTH, len(good.pcs)), dtype=np.uint64), np.zeros(good.cells.shape[1], dtype=np.uint64)
    fill_steps(device, good, main)
    for name, array in vars(good).items():
        for wrong in (array[..., None], array.astype(np.int64), np.repeat(array, 2, axis=-1)[..., ::2]):
            with pytest.raises(ValueError, match=f"{name} of .* steps are"):
                fill_steps(device, replace(good, **{name: wrong}), main)
    with pytest.raises(ValueError, match=f"{len(good.pcs)} steps do not fit {len(good.pcs) - 1} rows"):
        fill_steps(device, good, main[:, 1:].copy())
    for array in (main[1:], main.astype(np.int64), main.T.copy().T):
        with pytest.raises(ValueError, match="a trace is"):
            fill_steps(device, good, array)
    for array in (counts[1:], counts.astype(np.int64)):
        with pytest.raises(ValueError, match="counts are"):
            count_operands(device, good, array)


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
    for i in range(len(CHUNK)):
        other = [value + (k == i) for k, value in enumerate(CHUNK)]
        assert check(everything().statement(*facts(chunk=other)))
    for i in range(11):
        other = [value + (k == i) for k, value in enumerate((*PLACE, *DIGEST))]
        assert check(everything().statement(*facts(cap=other)))
    assert check(everything().statement(*facts(lookups=1)))
    assert check(everything().statement(facts()[1]))


# Proofs.


@pytest.mark.parametrize("hash", HASH_NAMES)
def test_both_verifiers_accept(hash: str, tmp_path: Path) -> None:
    accepted(statement(), hash, tmp_path)


@cache
def plain() -> Proof:
    return prove(statement(), parameters=PLAIN, device="cpu")


def false_input() -> Statement:
    """Return the statement of another result of the same program."""
    inputs = dict(everything().inputs)
    inputs[4] = (RESULT + 1, 0, 0)
    return with_air(statement(), Known(inputs))


def false_program() -> Statement:
    """Return the statement of a program with another constant, which the run has come to."""
    fields = everything().linked.fields.copy()
    fields[2, everything().trace.pcs[-3]] += np.uint64(1)
    return with_air(statement(), Fixed(fields, HEAD_PLACE))


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
