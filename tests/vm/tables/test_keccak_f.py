"""The tables of Keccak-f prove the permutation and nothing else, for any traces."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from graphprover.air import Air, TableBuilder
from graphprover.air.debugger import FailingConstraint, Finding, UnbalancedBus
from graphprover.field import P
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table
from graphprover.vm.accelerators.keccak import permutation as keccak_f
from graphprover.vm.accelerators.keccak import planes as keccak_planes
from graphprover.vm.accelerators.keccak import rounds as keccak_rounds
from graphprover.vm.accelerators.keccak import wide_traces as keccak_traces
from graphprover.vm.accelerators.keccak.digits import NUMBERS, KeccakDigits, Lookup
from graphprover.vm.accelerators.keccak.permutation import WORDS, stacked_limbs
from graphprover.vm.accelerators.keccak.planes import PERMUTATION, PLANES, KeccakPlanes, PlaneTag, plane_limbs
from graphprover.vm.accelerators.keccak.rounds import ROWS, TURNS, KeccakRounds
from graphprover.vm.accelerators.keccak.wide_traces import (
    PermutationBlocks,
    blocks_of,
    digits_trace,
    planes_trace,
    rounds_trace,
)
from tests.naive import keccak256

CALLS = (7, 9)
HEIGHT = 64  # of the tables of rounds and of planes
LAST = ROWS - 1  # row of a block


class Caller(Air):
    """A table of calls of the permutation, one a row."""

    columns = ("on", "call", "before[25][2]", "after[25][2]")

    def define(self, t: TableBuilder) -> None:
        t.boolean(t.on)
        for plane in range(PLANES):
            words = slice(5 * plane, 5 * plane + 5)
            t.send(PERMUTATION, plane_limbs(PlaneTag.ASK, t.call, plane, t.before[words]), t.on, weight=1)
            t.receive(PERMUTATION, plane_limbs(PlaneTag.ANSWER, t.call, plane, t.after[words]), t.on, weight=1)


AIRS = (Caller(), KeccakRounds(), KeccakPlanes(), KeccakDigits())
Traces = list[np.ndarray]  # of these


def some_states(seed: int = 5) -> np.ndarray:
    found = np.random.default_rng(seed).integers(0, 2**64, (WORDS, len(CALLS)), dtype=np.uint64)
    found[:, 1] = 0
    return found


def traces_of(blocks: PermutationBlocks, states: np.ndarray, after: np.ndarray) -> Traces:
    """Return all traces of callers with these states before and after, for these blocks."""
    called, c = Caller().zeros(len(CALLS))
    c.on[:], c.call[:] = 1, CALLS
    c.before[:], c.after[:] = stacked_limbs(states), stacked_limbs(after)
    return [called, rounds_trace(CALLS, blocks, HEIGHT), planes_trace(CALLS, blocks, HEIGHT), digits_trace(blocks)]


@cache
def _honest() -> tuple[np.ndarray, ...]:
    states = some_states()
    return tuple(traces_of(blocks_of(states), states, keccak_f.rounds(states)[-1]))


def honest() -> Traces:
    return [trace.copy() for trace in _honest()]


def found(traces: Traces) -> list[Finding]:
    return check(Statement([Table(air, [], main) for air, main in zip(AIRS, traces, strict=True)]))


def buses(findings: list[Finding]) -> set[str]:
    return {finding.bus for finding in findings if isinstance(finding, UnbalancedBus)}


def edited(edit: Callable[..., None]) -> list[Finding]:
    """Return the findings after ``edit`` changed the columns of rounds, planes and digits."""
    traces = honest()
    edit(*(air.view(main) for air, main in zip(AIRS[1:], traces[1:], strict=True)))
    return found(traces)


def test_it_is_the_permutation_of_keccak256() -> None:
    block = np.zeros((WORDS, 1), dtype=np.uint64)
    block[0], block[16] = 1, 1 << 63  # the padding of no bytes
    assert keccak_f.rounds(block)[-1, :4].tobytes() == keccak256(b"")
    assert found(honest()) == []


def test_the_row_before_the_first_round() -> None:
    states = some_states()
    np.testing.assert_array_equal(keccak_f.after_theta(keccak_f.before_rho(states), 0), states)


def test_its_cost() -> None:
    """Pin the cost, which every hash in a guest pays."""
    airs = [air.describe() for air in AIRS[1:]]
    assert [(air.main_width, len(air.lookups), air.log_quotient_chunks) for air in airs] == [
        (774, 250, 1), (244, 41, 1), (19, 2, 2),
    ]  # fmt: skip
    rounds, planes, digits = map(cells_per_row, airs)
    assert keccak_rounds.ROWS * rounds + keccak_planes.ROWS * planes == 42_085
    assert KeccakDigits().zeros(2)[0].shape[0] == digits - 6 - 3 - 12


# Cells by table: rows whose cells all count.
ROUNDS, PLANES_OF, DIGITS = range(3)
CHECKED = {ROUNDS: (1, 11, LAST), PLANES_OF: (0, 9, 13), DIGITS: (0, 3, 14_000)}
FAMILIES = [(table, spec.partition("[")[0]) for table in CHECKED for spec in AIRS[1 + table].columns]


@pytest.mark.parametrize(("table", "name"), FAMILIES)
def test_every_kind_of_cell_counts(table: int, name: str) -> None:
    rng = np.random.default_rng(len(name))
    for row in CHECKED[table]:
        traces = honest()
        cells = getattr(AIRS[1 + table].view(traces[1 + table]), name)
        cells = cells.reshape(-1, cells.shape[-1])
        cell, change = rng.integers(len(cells)), rng.choice([1, 11, NUMBERS, 2**32, P - 1])
        cells[cell, row] = (int(cells[cell, row]) + int(change)) % P
        assert found(traces) or counts_nothing(traces, table, row), (row, cell, change)


def counts_nothing(traces: Traces, table: int, row: int) -> bool:
    """Return whether the row is a number that nothing looks up, whose digits are free."""
    return table == DIGITS and not KeccakDigits().view(traces[3]).count[:, row].any()


@pytest.mark.slow
@pytest.mark.parametrize(("table", "row"), [(ROUNDS, 11), (ROUNDS, LAST), (PLANES_OF, 9)])
def test_every_cell_counts(table: int, row: int) -> None:
    traces = honest()
    main = traces[1 + table]
    for column in range(len(main)):
        kept = main[column, row]
        main[column, row] = (int(kept) + 1) % P
        assert found(traces), AIRS[1 + table].describe().main_names[column]
        main[column, row] = kept


def test_what_nothing_reads() -> None:
    """Row 0 of a block proves nothing about its C and about chunks that rho turns, idle rows nothing at all."""

    def edit(rounds: SimpleNamespace, planes: SimpleNamespace, _: SimpleNamespace) -> None:
        rounds.parity[:, :, 0], rounds.parity_turned[:, 0], rounds.iota[:, 0] = 3, 5, 7
        turning = next(at for at, by in TURNS.items() if by)
        rounds.theta[turning][0] = 11
        for name in ("call", "parity", "theta", "turned"):
            getattr(rounds, name)[..., ROWS * len(CALLS) :] = 13
        planes.sum[..., keccak_planes.ROWS * len(CALLS) :] = 17

    assert edited(edit) == []


# Forgeries of meaning. Digits count what the forged words look up, so only an answer that the table lacks is noticed.


@pytest.mark.parametrize("table", [ROUNDS, PLANES_OF, DIGITS])
def test_a_table_of_another_call(table: int) -> None:
    states, traces = some_states(6), honest()
    traces[1 + table] = traces_of(blocks_of(states), states, states)[1 + table]
    assert found(traces)


def test_another_state_behind_a_call() -> None:
    """Refuse honest tables of another state: only the caller differs."""
    blocks, states = blocks_of(some_states(6)), some_states()
    assert buses(found(traces_of(blocks, states, keccak_f.rounds(states)[-1]))) == {"bus 'keccak-f'"}


@pytest.mark.parametrize("limb", [0, 17, 49])
@pytest.mark.parametrize("name", ["before", "after"])
def test_another_limb(name: str, limb: int) -> None:
    traces = honest()
    getattr(Caller().view(traces[0]), name).reshape(50, -1)[limb, 0] ^= np.uint64(1)
    findings = found(traces)
    assert findings and buses(findings) == {"bus 'keccak-f'"}


def permuted_with(constants: list[int], states: np.ndarray) -> tuple[PermutationBlocks, np.ndarray]:
    """Return the blocks and results of the permutation with other round constants."""
    honest_blocks, state = blocks_of(states), states
    theta, parity = honest_blocks.theta.copy(), honest_blocks.parity.copy()
    for row, constant in enumerate(constants, 1):
        theta[:, row], parity[:, row] = state ^ np.tile(keccak_f.flips(state), (5, 1)), keccak_f.parities(state)
        state = keccak_f.after_theta(theta[:, row], constant)
    before = np.array([0, 0, *constants[:-1]], dtype=np.uint64)[:, None]
    return PermutationBlocks(theta, parity, parity[4] ^ before), state


def other_constants() -> dict[str, list[int]]:
    right = list(keccak_f.ROUND_CONSTANTS)
    return {
        "none": [0] * len(right),
        "one_bit": [*right[:9], right[9] ^ 1 << 31, *right[10:]],
        "another_bit": [*right[:9], right[9] ^ 1 << 20, *right[10:]],
        "swapped": [right[1], right[0], *right[2:]],
        "last": [*right[:-1], right[-1] ^ 1 << 63],
    }


@pytest.mark.parametrize("name", other_constants())
def test_other_round_constants(name: str) -> None:
    states = some_states()
    right, _ = permuted_with(list(keccak_f.ROUND_CONSTANTS), states)
    np.testing.assert_array_equal(right.theta, blocks_of(states).theta)
    assert found(traces_of(*_with_result(other_constants()[name], states)))


def _with_result(constants: list[int], states: np.ndarray) -> tuple[PermutationBlocks, np.ndarray, np.ndarray]:
    blocks, after = permuted_with(constants, states)
    return blocks, states, after


def flipped_bit(parity: np.ndarray) -> None:
    parity[2] ^= np.uint64(1 << 17)


def flipped_column(parity: np.ndarray) -> None:
    parity ^= np.uint64(1)


def flipped_word(parity: np.ndarray) -> None:
    parity[3] ^= np.uint64(2**64 - 1)


@pytest.mark.parametrize("flip", [flipped_bit, flipped_column, flipped_word])
@pytest.mark.parametrize("row", [1, 12, LAST])
def test_theta_takes_the_parities(flip: Callable[[np.ndarray], None], row: int) -> None:
    """Refuse other parities of a row, with which all else, and the rows after it, are consistent."""
    states = some_states()
    blocks, state = blocks_of(states), keccak_f.rounds(states)[row - 1]
    for at in range(row, ROWS):
        blocks.parity[:, at] = keccak_f.parities(state)
        if at == row:
            flip(blocks.parity[:, at])
        parity = blocks.parity[:, at]
        flips = np.roll(parity, 1, axis=0) ^ keccak_f.rotated(np.roll(parity, -1, axis=0), np.uint64(1))
        blocks.theta[:, at] = state ^ np.tile(flips, (5, 1))
        state = keccak_f.after_theta(blocks.theta[:, at], keccak_f.ROUND_CONSTANTS[at - 1])
    forged = replace(blocks, iota=blocks.parity[4] ^ keccak_traces.CONSTANTS)
    findings = found(traces_of(forged, states, state))
    assert findings and buses(findings) == {"bus 'keccak-digits'"}


def test_a_round_left_out() -> None:
    def edit(rounds: SimpleNamespace, *_: SimpleNamespace) -> None:
        for name, column in vars(rounds).items():
            if name not in ("step", "turn", "call"):
                column[..., 5:LAST] = column[..., 6:ROWS].copy()

    assert buses(edited(edit)) == {"bus 'keccak-digits'"}


# The order of rows.


def place(rounds: SimpleNamespace, row: int, at: int | None) -> None:
    """Make a row one of this place in its block, or idle."""
    rounds.step[:, row], rounds.turn[:, row] = 0, 0
    if at is not None:
        rounds.step[at % 5, row], rounds.turn[at // 5, row] = 1, 1


def skipped(rounds: SimpleNamespace) -> None:
    for row in range(5, LAST):
        place(rounds, row, row + 1)
    place(rounds, LAST, None)


def begun_in_the_middle(rounds: SimpleNamespace) -> None:
    for row in range(50, 64):
        place(rounds, row, row - 50 + 11)


def ended_early(rounds: SimpleNamespace) -> None:
    for row in range(30, 50):
        place(rounds, row, None)


def ended_after_a_turn(rounds: SimpleNamespace) -> None:
    for row in range(35, 50):
        place(rounds, row, None)


def begun_at_the_end(rounds: SimpleNamespace) -> None:
    """Begin where no row follows but the table's first."""
    place(rounds, 63, 0)


def gone_on(rounds: SimpleNamespace) -> None:
    place(rounds, 50, 20)


def halved(rounds: SimpleNamespace) -> None:
    rounds.step[:, 11] = (rounds.step[:, 11] + np.roll(rounds.step[:, 11], 1)) * np.uint64((P + 1) // 2)


def two_turns(rounds: SimpleNamespace) -> None:
    rounds.turn[:, 11] = [1, 1, 1, P - 1, P - 1]


@pytest.mark.parametrize(
    "move",
    [skipped, begun_in_the_middle, ended_early, ended_after_a_turn, begun_at_the_end, gone_on, halved, two_turns],
)
def test_rows_of_another_order(move: Callable[[SimpleNamespace], None]) -> None:
    findings = edited(lambda rounds, *_: move(rounds))
    assert any(isinstance(finding, FailingConstraint) and finding.table == "keccak_rounds" for finding in findings)


def test_blocks_may_be_anywhere() -> None:
    """Accept idle rows before and between blocks, and a block over the end: nothing depends on them."""
    traces = honest()
    first, second = traces[1][:, :ROWS].copy(), traces[1][:, ROWS : 2 * ROWS].copy()
    traces[1][:] = 0
    traces[1][:, 5 : 5 + ROWS], traces[1][:, 32 : 32 + ROWS] = second, first
    assert found(traces) == []
    traces[1] = np.roll(traces[1], 20, axis=1)
    assert found(traces) == []


# Planes and calls.


def test_sums_have_one_form() -> None:
    """Refuse sums that add up to the same number, if one is none of the table's."""

    def edit(_: SimpleNamespace, planes: SimpleNamespace, __: SimpleNamespace) -> None:
        planes.sum[0, 1, 0] -= np.uint64(1)
        planes.sum[0, 0, 0] += np.uint64(NUMBERS)

    assert buses(edited(edit)) == {"bus 'keccak-digits'"}


def test_a_plane_is_before_or_after() -> None:
    def edit(_: SimpleNamespace, planes: SimpleNamespace, __: SimpleNamespace) -> None:
        planes.after[0] = 2

    assert any(isinstance(finding, FailingConstraint) for finding in edited(edit))


@pytest.mark.parametrize("calls", [(7, 7), (7, 8)])
def test_every_call_is_answered_once(calls: tuple[int, int]) -> None:
    traces, blocks = honest(), blocks_of(some_states())
    traces[1], traces[2] = rounds_trace(calls, blocks, HEIGHT), planes_trace(calls, blocks, HEIGHT)
    assert buses(found(traces)) == {"bus 'keccak-f'"}


def test_an_absent_call_is_not_answered() -> None:
    traces = honest()
    Caller().view(traces[0]).on[1] = 0
    (finding,) = found(traces)
    assert isinstance(finding, UnbalancedBus) and finding.bus == "bus 'keccak-f'"


def test_several_tables_share_the_calls() -> None:
    """Refuse to put more calls into a table than fit its rows; the others go to another table."""
    blocks = blocks_of(np.zeros((WORDS, 7), dtype=np.uint64))
    for trace in (rounds_trace, planes_trace):
        with pytest.raises(ValueError, match="do not fit"):
            trace(range(7), blocks, HEIGHT)


# Digits.


@pytest.mark.parametrize(
    ("first", "second", "high", "label"),
    [(1, 1, 2, "no digit 11"), (0, 0, 3, "no digit above 11"), (2, 0, 0, "its bits"), (0, 2, 0, "its bits")],
)
def test_digits_are_digits(first: int, second: int, high: int, label: str) -> None:
    """Refuse digits above 10, with which a number has several forms, and what are no bits."""

    def edit(_: SimpleNamespace, __: SimpleNamespace, digits: SimpleNamespace) -> None:
        digits.first[0, -1], digits.second[0, -1], digits.high[0, -1] = first, second, high

    labels = [finding.label for finding in edited(edit) if isinstance(finding, FailingConstraint)]
    assert any(label in found for found in labels)


def test_numbers_may_be_anywhere() -> None:
    """Accept a row twice, whose counts are apart."""

    def edit(_: SimpleNamespace, __: SimpleNamespace, digits: SimpleNamespace) -> None:
        for column in (digits.first, digits.second, digits.high):
            column[:, -1] = column[:, 5]
        digits.count[Lookup.FIRST, 5] -= np.uint64(1)
        digits.count[Lookup.FIRST, -1] += np.uint64(1)

    assert edited(edit) == []
