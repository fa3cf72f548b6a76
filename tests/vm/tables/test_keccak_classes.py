"""The narrow tables of Keccak-f prove the permutation and nothing else, for any traces."""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from Crypto.Hash import keccak

from graphprover.air.debugger import FailingConstraint, Finding, UnbalancedBus
from graphprover.field import P
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table
from graphprover.vm.accelerators.keccak import limbs as keccak_limbs
from graphprover.vm.accelerators.keccak import permutation as keccak_f
from graphprover.vm.accelerators.keccak.classes import LAST, ROWS, STEPS, KeccakClasses
from graphprover.vm.accelerators.keccak.digits import CLASSES, NUMBERS, KeccakDigits
from graphprover.vm.accelerators.keccak.limbs import PLANE_ROWS, KeccakLimbs
from graphprover.vm.accelerators.keccak.permutation import ROTATIONS, WORDS, stacked_limbs
from graphprover.vm.accelerators.keccak.planes import PLANES
from graphprover.vm.accelerators.keccak.rounds import IOTA_CLASSES
from graphprover.vm.accelerators.keccak.wide_traces import counted
from tests.vm.accelerators.narrow_traces import ClassSteps, classes_trace, limbs_trace, lookups, steps_of
from tests.vm.tables.test_keccak_f import (
    CALLS,
    Caller,
    buses,
    flipped_bit,
    flipped_column,
    flipped_word,
    other_constants,
    some_states,
)

HEIGHTS = (1024, 512)  # of classes and of limbs
USED = ROWS * len(CALLS), keccak_limbs.ROWS * len(CALLS)
AIRS = (Caller(), KeccakClasses(), KeccakLimbs(), KeccakDigits())
Traces = list[np.ndarray]  # of these
CONSTANT, CHUNKS, DIGITS = "the constant of the round before", "bus 'keccak-chunks'", "bus 'keccak-digits'"


def traces_of(steps: ClassSteps, states: np.ndarray, after: np.ndarray) -> Traces:
    """Return all traces of callers with these states before and after, for these steps."""
    called, c = Caller().zeros(len(CALLS))
    c.on[:], c.call[:] = 1, CALLS
    c.before[:], c.after[:] = stacked_limbs(states), stacked_limbs(after)
    classes, limbs = classes_trace(CALLS, steps, HEIGHTS[0]), limbs_trace(CALLS, steps, HEIGHTS[1])
    return [called, classes, limbs, counted(lookups(steps))]


@cache
def _honest() -> tuple[np.ndarray, ...]:
    states = some_states()
    return tuple(traces_of(steps_of(states), states, keccak_f.rounds(states)[-1]))


def honest() -> Traces:
    return [trace.copy() for trace in _honest()]


def found(traces: Traces) -> list[Finding]:
    return check(Statement([Table(air, [], main) for air, main in zip(AIRS, traces, strict=True)]))


def edited(edit: Callable[..., None]) -> list[Finding]:
    """Return the findings after ``edit`` changed the columns of classes, limbs and digits."""
    traces = honest()
    edit(*(air.view(main) for air, main in zip(AIRS[1:], traces[1:], strict=True)))
    return found(traces)


def failing(findings: list[Finding], table: str) -> set[str]:
    """Return the labels of the table's constraints that fail."""
    return {one.label for one in findings if isinstance(one, FailingConstraint) and one.table == table}


def test_it_is_the_permutation_of_keccak256() -> None:
    """Read a digest of pycryptodome from the cells of the last limbs."""
    data = bytes(range(100))
    block = np.zeros(136, dtype=np.uint8)
    block[:100], block[100] = np.frombuffer(data, dtype=np.uint8), 1
    block[135] ^= 128
    states = some_states()
    states[:, 0] = 0
    states[:17, 0] = block.view("<u8")
    limbs = KeccakLimbs().view(limbs_trace(CALLS, steps_of(states), HEIGHTS[1]))
    row = (PLANES + 1) * PLANE_ROWS - 1
    assert limbs.after[row] == limbs.ends[row] == 1 and limbs.plane[row] == 0
    digest = (limbs.low[:4, row] | limbs.high[:4, row] << np.uint64(32)).tobytes()
    assert digest == keccak.new(digest_bits=256, data=data).digest()
    assert found(traces_of(steps_of(states), states, keccak_f.rounds(states)[-1])) == []


def test_its_cost() -> None:
    """Pin the cost, which every proof with few hashes pays."""
    classes, limbs = AIRS[1].describe(), AIRS[2].describe()
    assert [(air.main_width, len(air.lookups), air.log_quotient_chunks) for air in (classes, limbs)] == [
        (116, 18, 2), (21, 5, 1),
    ]  # fmt: skip
    assert [cells_per_row(classes), cells_per_row(limbs)] == [185, 45]
    assert ROWS * 185 + keccak_limbs.ROWS * 45 == 81_650


# Cells by table: rows whose cells all count.
OF_CLASSES, OF_LIMBS = range(2)
CHECKED = {OF_CLASSES: (CLASSES, 6 * CLASSES + 3, 215, LAST - 1), OF_LIMBS: (0, 9, 16, 103, 339)}
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
        assert found(traces) or read_by_nothing(table, name, row), (row, cell, change)


def read_by_nothing(table: int, name: str, row: int) -> bool:
    """Return whether the cell is a sum beside the limbs, which stand for no class."""
    return table == OF_LIMBS and name == "sum" and row % PLANE_ROWS == CLASSES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "row"),
    [(OF_CLASSES, row) for row in (0, 215, LAST, ROWS - 1)] + [(OF_LIMBS, row) for row in (85, 95, 100, 101)],
)
def test_every_cell_counts(table: int, row: int) -> None:
    """Change each cell alone, also chunks before the first step: no two of them lead to the same sums."""
    traces = honest()
    main = traces[1 + table]
    for column, name in enumerate(AIRS[1 + table].describe().main_names):
        before = main[column, row]
        main[column, row] = (int(before) + 1) % P
        assert found(traces) or read_by_nothing(table, name.partition("[")[0], row), name
        main[column, row] = before


def test_what_nothing_reads() -> None:
    """Accept any cells of idle rows, beside their flags."""

    def edit(classes: SimpleNamespace, limbs: SimpleNamespace, _: SimpleNamespace) -> None:
        for name in ("call", "iota", "parity", "parity_turned", "shifted", "theta", "turned", "moved"):
            getattr(classes, name)[..., USED[0] :] = 13
        for name in ("call", "plane", "of_class", "sum", "low", "high"):
            getattr(limbs, name)[..., USED[1] :] = 17

    assert edited(edit) == []


# Forgeries of meaning. Digits count what the forged words look up, so only an answer that the table lacks is noticed.


@pytest.mark.parametrize("table", [1, 2, 3])
def test_a_table_of_another_call(table: int) -> None:
    states, traces = some_states(6), honest()
    traces[table] = traces_of(steps_of(states), states, states)[table]
    assert found(traces)


def test_another_state_behind_a_call() -> None:
    """Refuse honest tables of another state: only the caller differs."""
    steps, states = steps_of(some_states(6)), some_states()
    assert buses(found(traces_of(steps, states, keccak_f.rounds(states)[-1]))) == {"bus 'keccak-f'"}


@pytest.mark.parametrize("limb", [0, 17, 49])
@pytest.mark.parametrize("name", ["before", "after"])
def test_another_limb(name: str, limb: int) -> None:
    traces = honest()
    getattr(Caller().view(traces[0]), name).reshape(50, -1)[limb, 0] ^= np.uint64(1)
    findings = found(traces)
    assert findings and buses(findings) == {"bus 'keccak-f'"}


def permuted_with(constants: list[int], states: np.ndarray) -> tuple[ClassSteps, np.ndarray]:
    """Return the steps and results of the permutation with other round constants."""
    honest_steps, state = steps_of(states), states
    theta, parity, moved = (words.copy() for words in (honest_steps.theta, honest_steps.parity, honest_steps.moved))
    for step in range(STEPS):
        if step:
            moved[:, step] = keccak_f.after_rho(theta[:, step - 1])
            state = keccak_f.after_theta(theta[:, step - 1], constants[step - 1])
        theta[:, step], parity[:, step] = state ^ np.tile(keccak_f.flips(state), (5, 1)), keccak_f.parities(state)
    return ClassSteps(theta, parity, moved, np.array([0, *constants], dtype=np.uint64)[:, None]), state


@pytest.mark.parametrize("name", other_constants())
def test_other_round_constants(name: str) -> None:
    """Refuse other constants, in the column of constants as well as beside it."""
    states = some_states()
    right, _ = permuted_with(list(keccak_f.ROUND_CONSTANTS), states)
    for words in ("theta", "parity", "moved", "constant"):
        np.testing.assert_array_equal(getattr(right, words), getattr(steps_of(states), words))
    steps, after = permuted_with(other_constants()[name], states)
    traces = traces_of(steps, states, after)
    assert failing(found(traces), "keccak_classes") == {CONSTANT}
    KeccakClasses().view(traces[1]).constant[:] = KeccakClasses().view(honest()[1]).constant
    assert buses(found(traces)) == {DIGITS}


def test_constants_are_in_their_classes() -> None:
    constant = KeccakClasses().view(honest()[1]).constant
    assert set((np.flatnonzero(constant) % CLASSES).tolist()) == set(IOTA_CLASSES)


@pytest.mark.parametrize("flip", [flipped_bit, flipped_column, flipped_word])
@pytest.mark.parametrize("step", [0, 12, STEPS - 1])
def test_theta_takes_the_parities(flip: Callable[[np.ndarray], None], step: int) -> None:
    """Refuse other parities of a step, with which all else, and the steps after it, are consistent."""
    states = some_states()
    steps, state = steps_of(states), keccak_f.rounds(states)[step]
    for at in range(step, STEPS):
        if at > step:
            steps.moved[:, at] = keccak_f.after_rho(steps.theta[:, at - 1])
            state = keccak_f.after_theta(steps.theta[:, at - 1], keccak_f.ROUND_CONSTANTS[at - 1])
        steps.parity[:, at] = keccak_f.parities(state)
        if at == step:
            flip(steps.parity[:, at])
        parity = steps.parity[:, at]
        flips = np.roll(parity, 1, axis=0) ^ keccak_f.rotated(np.roll(parity, -1, axis=0), np.uint64(1))
        steps.theta[:, at] = state ^ np.tile(flips, (5, 1))
    findings = found(traces_of(steps, states, state))
    assert findings and buses(findings) == {DIGITS}


def test_a_step_left_out() -> None:
    def edit(classes: SimpleNamespace, *_: SimpleNamespace) -> None:
        for name, column in vars(classes).items():
            if name not in ("on", "step", "turn", "reached", "call", "constant"):
                column[..., 5 * CLASSES : LAST] = column[..., 6 * CLASSES : ROWS].copy()

    assert {CHUNKS, DIGITS} <= buses(edited(edit))


def test_chunks_of_another_word() -> None:
    """Refuse two words, whose rotations are equal modulo 16, in each other's places."""

    def edit(classes: SimpleNamespace, *_: SimpleNamespace) -> None:
        one, two = (word - 1 for word in range(WORDS) if ROTATIONS[word] % CLASSES == 12)
        classes.turned[[one, two], 40] = classes.turned[[two, one], 40]

    assert buses(edited(edit)) == {CHUNKS, DIGITS}


@pytest.mark.parametrize("other", [3 * CLASSES, ROWS + 2 * CLASSES])
def test_parities_of_another_step_or_call(other: int) -> None:
    """Refuse the last class of another step or call beside a first class."""

    def edit(classes: SimpleNamespace, *_: SimpleNamespace) -> None:
        row = 2 * CLASSES
        classes.shifted[:, [row, other]] = classes.shifted[:, [other, row]]

    assert CHUNKS in buses(edited(edit))


# The order of rows.


def place(classes: SimpleNamespace, row: int, step: int | None, of_class: int = 0) -> None:
    """Make a row one of this step and class, or idle."""
    for column in (classes.step, classes.turn, classes.reached):
        column[:, row] = 0
    classes.on[row] = step is not None
    if step is not None:
        for column, digit in ((classes.step, step % 5), (classes.turn, step // 5)):
            if digit:
                column[digit - 1, row] = 1
        classes.reached[:of_class, row] = 1


def skipped_step(classes: SimpleNamespace) -> None:
    for row in range(5 * CLASSES, LAST):
        place(classes, row, row // CLASSES + 1, row % CLASSES)
    for row in range(LAST, ROWS):
        place(classes, row, None)


def skipped_class(classes: SimpleNamespace) -> None:
    for row in range(7, ROWS - 1):
        place(classes, row, (row + 1) // CLASSES, (row + 1) % CLASSES)
    place(classes, ROWS - 1, None)


def repeated_class(classes: SimpleNamespace) -> None:
    place(classes, 7, 0, 6)


def begun_in_the_middle(classes: SimpleNamespace) -> None:
    for row in range(USED[0], USED[0] + 2 * CLASSES):
        place(classes, row, 23 + (row - USED[0]) // CLASSES, row % CLASSES)


def begun_in_a_class(classes: SimpleNamespace) -> None:
    for row in range(5):
        place(classes, row, None)


def ended_early(classes: SimpleNamespace) -> None:
    for row in range(ROWS + 10 * CLASSES, USED[0]):
        place(classes, row, None)


def ended_in_a_class(classes: SimpleNamespace) -> None:
    place(classes, USED[0] - 1, None)


def gone_on(classes: SimpleNamespace) -> None:
    for row in range(USED[0], USED[0] + CLASSES):
        place(classes, row, 20, row % CLASSES)


def begun_at_the_end(classes: SimpleNamespace) -> None:
    """Begin in a row that none follows but the table's first."""
    place(classes, HEIGHTS[0] - 1, 0)


def halved(classes: SimpleNamespace) -> None:
    classes.reached[:, 215] = (P + 1) // 2


def two_turns(classes: SimpleNamespace) -> None:
    classes.turn[:, 215] = [1, 1, P - 1, 0]


def idle_steps(classes: SimpleNamespace) -> None:
    classes.step[:2, USED[0] :] = [[1], [P - 1]]


MOVES = [
    skipped_step, skipped_class, repeated_class, begun_in_the_middle, begun_in_a_class, ended_early, ended_in_a_class,
    gone_on, begun_at_the_end, halved, two_turns, idle_steps,
]  # fmt: skip


@pytest.mark.parametrize("move", MOVES)
def test_rows_of_another_order(move: Callable[[SimpleNamespace], None]) -> None:
    labels = failing(edited(lambda classes, *_: move(classes)), "keccak_classes")
    assert labels - {CONSTANT, "a block has one call"}


def test_blocks_may_be_anywhere() -> None:
    """Accept idle rows before and between blocks, and blocks over the end: nothing depends on them."""
    traces = honest()
    for table, rows in ((1, ROWS), (2, PLANE_ROWS)):
        blocks = [traces[table][:, start : start + rows].copy() for start in range(0, USED[table - 1], rows)]
        traces[table][:] = 0
        for i, block in enumerate(reversed(blocks)):
            at = 5 + i * (rows + 1)
            traces[table][:, at : at + rows] = block
        assert found(traces) == []
        traces[table] = np.roll(traces[table], -50, axis=1)
        assert found(traces) == []


# Limbs and calls.


def without_a_class(limbs: SimpleNamespace) -> None:
    """End a plane one class early."""
    limbs.on[15], limbs.ends[15], limbs.ends[16] = 0, 1, 0


def without_the_first_class(limbs: SimpleNamespace) -> None:
    limbs.on[0] = 0


def with_limbs_before(limbs: SimpleNamespace) -> None:
    """Begin with limbs that are not 0, and double them as if they were sums of bits."""
    for i in range(PLANE_ROWS):
        limbs.low[0, i] += np.uint64(2**i)


def limbs_alone(limbs: SimpleNamespace) -> None:
    limbs.ends[-1], limbs.of_class[-1] = 1, P - 1


def class_and_limbs(limbs: SimpleNamespace) -> None:
    limbs.ends[7] = 1


def of_another_plane(limbs: SimpleNamespace) -> None:
    limbs.plane[8:PLANE_ROWS] = 1


def after_at_once(limbs: SimpleNamespace) -> None:
    limbs.after[8:PLANE_ROWS] = 1


def of_another_call(limbs: SimpleNamespace) -> None:
    limbs.call[8:PLANE_ROWS] = CALLS[1]


@pytest.mark.parametrize(
    "edit",
    [
        without_a_class, without_the_first_class, with_limbs_before, limbs_alone, class_and_limbs, of_another_plane,
        after_at_once, of_another_call,
    ],
)  # fmt: skip
def test_limbs_are_of_all_classes_of_a_plane(edit: Callable[[SimpleNamespace], None]) -> None:
    assert failing(edited(lambda _, limbs, __: edit(limbs)), "keccak_limbs")


def test_every_class_is_sent_to_its_plane() -> None:
    def edit(_: SimpleNamespace, limbs: SimpleNamespace, __: SimpleNamespace) -> None:
        limbs.plane[:PLANE_ROWS], limbs.plane[PLANE_ROWS : 2 * PLANE_ROWS] = 1, 0

    assert buses(edited(edit)) == {"bus 'keccak-f'", CHUNKS}


@pytest.mark.parametrize("calls", [(7, 7), (7, 8)])
def test_every_call_is_answered_once(calls: tuple[int, int]) -> None:
    traces, steps = honest(), steps_of(some_states())
    traces[1], traces[2] = classes_trace(calls, steps, HEIGHTS[0]), limbs_trace(calls, steps, HEIGHTS[1])
    assert buses(found(traces)) == {"bus 'keccak-f'"}


def test_an_absent_call_is_not_answered() -> None:
    traces = honest()
    Caller().view(traces[0]).on[1] = 0
    (finding,) = found(traces)
    assert isinstance(finding, UnbalancedBus) and finding.bus == "bus 'keccak-f'"


def test_several_tables_share_the_calls() -> None:
    """Refuse to put more calls into a table than fit its rows; the others go to another table."""
    steps = steps_of(np.zeros((WORDS, 4), dtype=np.uint64))
    for trace, rows in ((classes_trace, 1024), (limbs_trace, 512)):
        with pytest.raises(ValueError, match="do not fit"):
            trace(range(4), steps, rows)
