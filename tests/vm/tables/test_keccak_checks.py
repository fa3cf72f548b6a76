"""Each constraint and each lookup of Keccak's tables is needed: a forged trace that it alone notices, judged by number.

A trace is judged by its table alone, as in test_calls.py. Some forgeries are rows of a longer trace; their last row is
not judged, as it is only there as the next one.
"""

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from graphprover.air import Air
from graphprover.air.description import AirDescription
from graphprover.field import P
from graphprover.vm.accelerators.keccak import permutation as keccak_f
from graphprover.vm.accelerators.keccak import rounds as keccak_rounds
from graphprover.vm.accelerators.keccak.classes import KeccakClasses
from graphprover.vm.accelerators.keccak.digits import BASE, CLASSES, PLACES, KeccakDigits
from graphprover.vm.accelerators.keccak.limbs import PLANE_ROWS, KeccakLimbs
from graphprover.vm.accelerators.keccak.planes import KeccakPlanes
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds
from graphprover.vm.accelerators.keccak.wide_traces import CONSTANTS, PermutationBlocks, blocks_of, rounds_trace
from tests.vm.tables import test_keccak_classes as narrow
from tests.vm.tables import test_keccak_f as wide
from tests.vm.tables.checks import alone, changed_cells, judged, names_of, noticed, noticed_windows

TABLES: dict[str, tuple[Air, int]] = {  # with the place among the traces of test_keccak_classes or test_keccak_f
    "keccak_rounds": (KeccakRounds(), 1),
    "keccak_planes": (KeccakPlanes(), 2),
    "keccak_digits": (KeccakDigits(), 3),
    "keccak_classes": (KeccakClasses(), 1),
    "keccak_limbs": (KeccakLimbs(), 2),
}
NARROW = ("keccak_classes", "keccak_limbs")
# Rows with changed cells, and the changes: also twice a digit, which leaves the parity of a sum.
TWICE = [2 * BASE**place for place in range(PLACES)]
CHANGED: dict[str, tuple[tuple[int, ...], list[int]]] = {
    "keccak_rounds": ((wide.LAST, 2 * wide.ROWS), [1, *TWICE]),
    "keccak_planes": ((0, 9), [5]),
    "keccak_digits": ((0, 14_000), [5]),
    "keccak_classes": ((7, 15, 16, narrow.LAST, narrow.ROWS - 1, narrow.USED[0]), [1, P - 1, *TWICE]),
    "keccak_limbs": ((0, 9, 15, 16, narrow.USED[1]), [5, P - 1]),
}
# Cells that the table alone leaves open, by row: it tells others of them, or nothing reads them, as in an idle row.
_IDLE_ROUNDS = ("call", "iota", "parity", "parity_turned", "theta", "turned")
_IDLE_CLASSES = ("call", "iota", "parity", "parity_turned", "shifted", "theta", "turned", "moved")
OPEN: dict[str, dict[int, tuple[str, ...]]] = {
    "keccak_rounds": {2 * wide.ROWS: _IDLE_ROUNDS},
    "keccak_planes": dict.fromkeys((0, 9), ("call", "plane", "sum")),
    "keccak_digits": dict.fromkeys((0, 14_000), ("count",)),
    "keccak_classes": {16: ("shifted",), narrow.LAST: ("shifted",), narrow.USED[0]: _IDLE_CLASSES},
    "keccak_limbs": {
        **dict.fromkeys((0, 9, 15, 16), ("sum",)),
        narrow.USED[1]: ("call", "plane", "of_class", "sum", "low", "high"),
    },
}
Edited = tuple[str, np.ndarray]  # the name of a forgery, and rows


@cache
def description(name: str) -> AirDescription:
    return TABLES[name][0].describe()


@cache
def trace(name: str) -> np.ndarray:
    """Return an honest trace."""
    honest = narrow.honest() if name in NARROW else wide.honest()
    return honest[TABLES[name][1]]


def view(name: str, rows: np.ndarray) -> SimpleNamespace:
    return TABLES[name][0].view(rows)


def limbs_forgeries() -> Iterator[Edited]:
    """Yield planes with limbs before the first class, with limbs of nothing, and without all classes."""
    plane = np.concatenate([np.zeros_like(trace("keccak_limbs")[:, :1]), trace("keccak_limbs")[:, : PLANE_ROWS + 1]], 1)
    doubled = np.array([1 << i for i in range(PLANE_ROWS)], dtype=np.uint64)
    for name in ("low", "high"):
        for word in range(5):
            rows = plane.copy()
            getattr(view("keccak_limbs", rows), name)[word, 1 : 1 + PLANE_ROWS] += doubled
            yield f"a limb before the first class, {name} {word}", rows
    for first in (1, 5):
        rows = np.delete(plane, range(1, 1 + first), axis=1)
        left = PLANE_ROWS - first
        c = view("keccak_limbs", rows)
        for limb in (*c.low, *c.high):
            limb[1 : 1 + left] -= limb[1] * doubled[:left]
        yield f"without the first {first} classes", rows
    rows = np.delete(plane, range(10, 1 + CLASSES), axis=1)
    after_class = int(view("keccak_limbs", rows).of_class[9])
    c = view("keccak_limbs", rows)
    limbs = view("keccak_limbs", plane)
    for name in ("low", "high"):
        getattr(c, name)[:, 10] = getattr(limbs, name)[:, 10]
    c.of_class[10] = after_class - 1
    yield "the limbs behind half of the classes", rows
    rows = plane.copy()
    view("keccak_limbs", rows).after[9 : 1 + PLANE_ROWS] = 1
    yield "half a plane after the permutation", rows
    yield "the limbs alone", np.concatenate([plane[:, :1], plane[:, PLANE_ROWS : PLANE_ROWS + 2]], axis=1)


def with_tokens(classes: list[dict[int, int]], cells: np.ndarray) -> np.ndarray:
    """Return rows of `keccak_classes` with these flags of classes, which may be no bits, of step 0 if they add up to 1.

    The other cells are equal in all rows.
    """
    rows = np.repeat(cells[:, None], len(classes), axis=1)
    c = view("keccak_classes", rows)
    c.step[:], c.turn[:], c.constant[:] = 0, 0, 0
    for row, flags in enumerate(classes):
        for i in range(1, CLASSES):
            c.reached[i - 1, row] = sum(value for of, value in flags.items() if of >= i) % P
        c.on[row] = sum(flags.values()) % P
    return rows


def classes_forgeries() -> Iterator[Edited]:
    """Yield flags of steps, of turns and of classes that are no bits; in idle rows they lead to parts of a block."""
    name = "keccak_classes"
    honest, idle = trace(name), np.zeros((len(trace(name)), 4), dtype=np.uint64)
    for family in ("step", "turn"):
        for i in range(5):
            rows = idle.copy()
            flags = getattr(view(name, rows), family)
            if i:
                flags[i - 1] = P - 1
            flags[1 if i == 1 else 0] = 1
            yield f"{family} {i} is -1 in all rows of an idle table", rows

    def block_from(flags: list[dict[int, int]], first: int) -> np.ndarray:
        """Return idle rows with these flags, and the rows of a block from one of step 0 on."""
        cells = np.zeros(len(honest), dtype=np.uint64)
        shifted = view(name, honest[:, first : first + 1]).shifted[:, 0]
        c = view(name, cells[:, None])
        c.shifted[:, 0], c.parity_turned[:, 0], c.call[:] = shifted, shifted, view(name, honest).call[0]
        return np.concatenate([with_tokens(flags, cells), honest[:, first : CLASSES + 2]], axis=1)

    for i in range(1, CLASSES - 1):
        moving: list[dict[int, int]] = [{}]
        for k in range(i, CLASSES):
            moving.append({k: -1} | ({k + 1: 1} if k + 1 < CLASSES else {0: 1}))
        yield f"class {i + 1} without the one before", block_from(moving, 1)
    for family, step in (("step", CLASSES), ("turn", 5 * CLASSES)):
        for i in range(1, 5):
            rows = honest[:, step * i - 1 : step * i + 2].copy()
            c = view(name, rows)
            c.on[0], c.constant[0], c.step[:, 0], c.turn[:, 0], c.reached[:, 0] = 0, 0, 0, 0, 0
            yield f"from {family} {i} on", rows
    # Class 0 is followed by class 1 and -1 of class 0, so the block seems idle; one more makes up for it in the end.
    moving = [{k: 1, k - 1: -1} for k in range(1, CLASSES)] + [{CLASSES - 1: -1, 0: 1}]
    yield "-1 of class 0", np.concatenate([honest[:, :1], block_from(moving, 1)], axis=1)


def rounds_forgeries() -> Iterator[Edited]:
    """Yield blocks from a row on, and one whose first row is apart."""
    name, honest = "keccak_rounds", trace("keccak_rounds")
    for first in range(1, keccak_rounds.ROWS):
        rows = honest[:, first - 1 : keccak_rounds.ROWS + 1].copy()
        c = view(name, rows)
        c.step[:, 0], c.turn[:, 0] = 0, 0
        yield f"from row {first} on", rows
    rows = np.concatenate([honest[:, :1], np.repeat(honest[:, 1:2], 5, axis=1), honest[:, 1:7]], axis=1)
    c = view(name, rows)
    c.turn[:, 1:6] = 0
    for i in range(1, 6):  # as in test_sha256.py
        c.step[:, i] = [((k == i) - (k == i - 1) + (i == 5 and k == 0)) % P for k in range(5)]
    yield "a step of -1 in an idle row", rows


def flipped_parities() -> np.ndarray:
    """Return a block for each chunk of parities, of which a bit is flipped in a row, with all that follows from it."""
    count = 5 * CLASSES
    state = np.repeat(wide.some_states()[:, :1], count, axis=1)
    blocks, row = blocks_of(state), 12
    state = keccak_f.rounds(state)[row - 1]
    for at in range(row, keccak_rounds.ROWS):
        parity = keccak_f.parities(state)
        if at == row:
            for i in range(count):
                parity[i // CLASSES, i] ^= np.uint64(1 << i % CLASSES)
        flips = np.roll(parity, 1, axis=0) ^ keccak_f.rotated(np.roll(parity, -1, axis=0), np.uint64(1))
        blocks.parity[:, at], blocks.theta[:, at] = parity, state ^ np.tile(flips, (5, 1))
        state = keccak_f.after_theta(blocks.theta[:, at], keccak_f.ROUND_CONSTANTS[at - 1])
    made = PermutationBlocks(blocks.theta, blocks.parity, blocks.parity[4] ^ CONSTANTS)
    return rounds_trace(range(count), made, keccak_rounds.ROWS * count)


FORGERIES = {
    "keccak_limbs": limbs_forgeries,
    "keccak_classes": classes_forgeries,
    "keccak_rounds": rounds_forgeries,
}


@cache
def others(name: str) -> np.ndarray:
    """Return which check notices which forgery, bool (checks, forgeries)."""
    air = description(name)
    forgeries = {
        "keccak_limbs": limbs_forgeries,
        "keccak_classes": classes_forgeries,
        "keccak_rounds": rounds_forgeries,
    }
    found = [noticed_windows(air, rows, 1) for _, rows in forgeries.get(name, lambda: iter(()))()]
    if name == "keccak_rounds":
        found.append(noticed(air, flipped_parities(), 5 * CLASSES))
    if name == "keccak_digits":
        rows = np.zeros((air.main_width, PLACES), dtype=np.uint64)
        c = view(name, rows)
        for place in range(PLACES):
            c.first[place, place], c.second[place, place], c.high[place, place] = 1, 1, 2
        found.append(noticed(air, rows, PLACES))
    return np.concatenate(found, axis=1) if found else np.zeros((len(names_of(air)), 0), dtype=bool)


@pytest.mark.parametrize("name", TABLES)
def test_forgeries_are_noticed(name: str) -> None:
    assert others(name).any(axis=0).all()


# Checks without which everything else would still be noticed.
ENDS = "behind a row of a class the flag is 1 - on, elsewhere 0"
REDUNDANT = {
    "keccak_rounds": {
        "a row is of one step or idle": "a row of two steps would have twice the turns of the row before",
        "a turn": "a row's other turns are bits behind an idle row, and it is the rest; blocks fill no table",
    },
    "keccak_classes": {
        "a row is of one class or idle": "classes and steps are bits; the lookups of two classes would have no tag",
    },
    "keccak_limbs": {
        "a row has a class or none": "limbs are a bit, so the row behind is one of class 15 and one below this row's",
        "t.boolean(t.ends)": ENDS,
        "a row has a class or the limbs": ENDS,
    },
}


@cache
def changed(name: str) -> np.ndarray:
    """Return which check notices which changed cell that the table does not leave open, bool (checks, changes)."""
    air, (rows, changes) = description(name), CHANGED[name]
    assert not judged(air, trace(name))[0].any()
    families = [cell.partition("[")[0] for cell in air.main_names]
    closed = [family not in OPEN[name].get(row, ()) for row in rows for family in families]
    return changed_cells(air, trace(name), rows, changes)[:, np.repeat(closed, len(changes))]


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_counts(name: str) -> None:
    """Notice changed cells by the table alone, but for those that it tells others of."""
    assert changed(name).any(axis=0).all()


def needed(name: str) -> set[str]:
    """Return the checks that are the only one to notice a forgery that the tests above require to be noticed."""
    of = alone(changed(name)) | alone(others(name))
    return {check for check, is_needed in zip(names_of(description(name)), of, strict=True) if is_needed}


@pytest.mark.parametrize("name", TABLES)
def test_every_check_counts(name: str) -> None:
    """For each constraint and each lookup have a forgery that it alone notices; other tests require this."""
    assert set(names_of(description(name))) - needed(name) == set(REDUNDANT.get(name, ()))
