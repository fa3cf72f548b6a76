"""Traces of `KeccakClasses` and `KeccakLimbs` from the states before calls, on arrays of the host.

The reference of the kernels of both devices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.field import P
from graphprover.vm.accelerators.keccak.classes import BASE as STEP_BASE
from graphprover.vm.accelerators.keccak.classes import ROWS, STEPS, KeccakClasses
from graphprover.vm.accelerators.keccak.digits import CLASSES, PLACES, SPREAD, Lookup
from graphprover.vm.accelerators.keccak.limbs import PLANE_ROWS, KeccakLimbs
from graphprover.vm.accelerators.keccak.limbs import ROWS as LIMB_ROWS
from graphprover.vm.accelerators.keccak.permutation import (
    ROTATIONS,
    ROUND_CONSTANTS,
    WORDS,
    after_rho,
    before_rho,
    flips,
    parities,
    rotated,
    rounds,
)
from graphprover.vm.accelerators.keccak.planes import PLANES
from graphprover.vm.accelerators.keccak.wide_traces import chi_digits, number, spread

# By step, the constant that the state has from the round before.
CONSTANTS = np.array([0, *ROUND_CONSTANTS], dtype=np.uint64)[:, None]


@dataclass(frozen=True)
class ClassSteps:
    """The words of calls by step: uint64 arrays (words, 25 steps, calls)."""

    theta: np.ndarray  # 25 words: T
    parity: np.ndarray  # 5 words: C
    moved: np.ndarray  # 25 words: T of the step before, after rho and pi
    constant: np.ndarray  # (25 steps, 1): of the round before

    @property
    def shifted(self) -> np.ndarray:
        """Return C, rotated by 1."""
        return rotated(self.parity, np.uint64(1))

    @property
    def iota(self) -> np.ndarray:
        """Return C[4] xor the constant of the round before: (25 steps, calls)."""
        iota: np.ndarray = self.parity[4] ^ self.constant
        return iota


def steps_of(states: np.ndarray) -> ClassSteps:
    """Return the steps of calls with these states, uint64 (25, calls)."""
    before = rounds(states)
    theta = np.stack([state ^ np.tile(flips(state), (5, 1)) for state in before], axis=1)
    moved = np.empty_like(theta)
    moved[:, 0] = after_rho(before_rho(states))
    for step in range(1, STEPS):
        moved[:, step] = after_rho(theta[:, step - 1])
    return ClassSteps(theta, np.stack([parities(state) for state in before], axis=1), moved, CONSTANTS)


def _by_class(words: np.ndarray) -> np.ndarray:
    """Return the digits of words (..., steps, calls) by class: (..., steps, 16 classes, calls)."""
    return np.stack([spread(words, c) for c in range(CLASSES)], axis=-2)


def _in_rows(words: np.ndarray) -> np.ndarray:
    """Return the digits of words (..., 25 steps, calls) in the order of rows."""
    by_call = np.moveaxis(_by_class(words), -1, -3)
    return np.ascontiguousarray(by_call).reshape(*by_call.shape[:-3], -1)


def classes_trace(numbers: Sequence[int] | np.ndarray, steps: ClassSteps, rows: int) -> np.ndarray:
    """Return the trace of `KeccakClasses` of this height for calls with these numbers."""
    calls = len(numbers)
    if ROWS * calls > rows:
        raise ValueError(f"{calls} permutations do not fit {rows} rows")
    main, columns = KeccakClasses().zeros(rows)
    used = np.arange(ROWS * calls)
    step, of_class = used % ROWS // CLASSES, used % CLASSES
    columns.on[used] = 1
    for i in range(1, STEP_BASE):
        columns.step[i - 1, used], columns.turn[i - 1, used] = step % STEP_BASE == i, step // STEP_BASE == i
    for i in range(1, CLASSES):
        columns.reached[i - 1, used] = of_class >= i
    columns.call[used] = np.repeat(np.asarray(numbers, dtype=np.uint64), ROWS)
    constant = np.broadcast_to(steps.constant, steps.iota.shape)
    for name, words in (
        ("constant", constant), ("iota", steps.iota), ("parity", steps.parity), ("shifted", steps.shifted),
        ("theta", steps.theta), ("moved", steps.moved),
    ):  # fmt: skip
        getattr(columns, name)[..., used] = number(_in_rows(words))
    parity, theta = _in_rows(steps.parity), _in_rows(steps.theta)
    columns.parity_turned[:, used] = np.where(of_class == CLASSES - 1, number(parity, 1), number(parity))
    for word in range(1, WORDS):
        turns = (of_class + ROTATIONS[word]) // CLASSES % PLACES
        columns.turned[word - 1, used] = np.choose(turns, [number(theta[word], by) for by in range(PLACES)])
    return main


def _ends(steps: ClassSteps) -> np.ndarray:
    """Return the digits whose bits 1 are the states before and after: (25 words, 16 classes, 2, calls)."""
    left, shifted = np.roll(steps.parity, 1, axis=0), np.roll(steps.shifted, -1, axis=0)
    words = steps.theta, np.tile(left, (5, 1, 1)), np.tile(shifted, (5, 1, 1))
    theta, of_left, of_shifted = (_by_class(some[:, [0, -1]]) for some in words)
    return 2 * (theta + of_left + of_shifted).swapaxes(1, 2)


def limbs_trace(numbers: Sequence[int] | np.ndarray, steps: ClassSteps, rows: int) -> np.ndarray:
    """Return the trace of `KeccakLimbs` of this height for calls with these numbers."""
    calls = len(numbers)
    if LIMB_ROWS * calls > rows:
        raise ValueError(f"{calls} permutations do not fit {rows} rows")
    main, columns = KeccakLimbs().zeros(rows)
    used = np.arange(LIMB_ROWS * calls)
    row, plane, after = used % PLANE_ROWS, used // PLANE_ROWS % PLANES, used // PLANE_ROWS // PLANES % 2
    columns.on[used], columns.ends[used] = row < CLASSES, row == CLASSES
    columns.after[used], columns.plane[used] = after, plane
    columns.call[used] = np.repeat(np.asarray(numbers, dtype=np.uint64), LIMB_ROWS)
    columns.of_class[used] = np.where(row < CLASSES, (CLASSES - 1 - row).astype(np.uint64), np.uint64(P - 1))
    of_class = row < CLASSES
    at, ends = used[of_class], _ends(steps)
    for x in range(5):
        digits = ends[5 * plane[of_class] + x, CLASSES - 1 - row[of_class], after[of_class], at // LIMB_ROWS]
        columns.sum[x, at] = number(digits)
        bits = digits >> np.uint64(1) & np.uint64(SPREAD)
        for limbs, parts in ((columns.low[x], bits & np.uint64(2**32 - 1)), (columns.high[x], bits >> np.uint64(32))):
            for i in range(CLASSES):
                of_row = at % PLANE_ROWS == i
                limbs[at[of_row] + 1] = 2 * limbs[at[of_row]] + parts[of_row]
    return main


def lookups(steps: ClassSteps) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the tag and the numbers of all lookups."""
    shifted = steps.shifted
    for c in range(CLASSES):
        yield Lookup.SECOND, number(2 * (spread(steps.parity[4], c) + spread(steps.constant, c)))
        for x in range(5):
            flip = spread(steps.parity[x - 1], c) + spread(shifted[(x + 1) % 5], c)
            column = sum(spread(word, c) for word in steps.theta[x::5])
            yield Lookup.FIRST if c < CLASSES - 1 else Lookup.FIRST_TURNED_1, number(column + flip)
        for w in range(WORDS):
            left = steps.parity[w % 5 - 1] if w else steps.iota
            flip = spread(left, c) + spread(shifted[(w % 5 + 1) % 5], c)
            tag = Lookup.SECOND + (c + ROTATIONS[w]) // CLASSES % PLACES
            yield tag, number(chi_digits(steps.moved, w, c) + 2 * flip)
    yield Lookup.HALVES, number(_ends(steps))
