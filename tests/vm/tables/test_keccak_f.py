"""The table of Keccak-f proves the permutation and nothing else, for any trace."""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from graphprover.air import Air, TableBuilder
from graphprover.air.debugger import FailingConstraint, Finding, UnbalancedBus
from graphprover.field import P
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table
from graphprover.vm.tables import keccak_f
from graphprover.vm.tables.keccak_f import PERMUTATION, ROUNDS, WORDS, Even, KeccakF
from tests.naive import keccak256

CALLS = 2
ROWS = 64


class Caller(Air):
    """A table of calls of the permutation, one a row."""

    columns = ("on", "call", "before[50]", "after[50]")

    def define(self, t: TableBuilder) -> None:
        t.boolean(t.on)
        t.send(PERMUTATION, [0, t.call, *t.before], t.on, weight=1)
        t.receive(PERMUTATION, [1, t.call, *t.after], t.on, weight=1)


@cache
def honest() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the traces of callers, permutation and even numbers."""
    states = np.random.default_rng(5).integers(0, 2**64, (WORDS, CALLS), dtype=np.uint64)
    states[:, 1] = 0
    main = keccak_f.trace([7, 9], states, ROWS)
    called, c = Caller().zeros(CALLS)
    c.on[:], c.call[:] = 1, [7, 9]
    c.before[:] = keccak_f.stacked_limbs(states).reshape(50, CALLS)
    c.after[:] = keccak_f.stacked_limbs(keccak_f.rounds(states)[-1]).reshape(50, CALLS)
    return called, main, keccak_f.even_trace([main])


def found(main: np.ndarray, even: np.ndarray | None = None) -> list[Finding]:
    called, _, honest_even = honest()
    even = honest_even if even is None else even
    return check(Statement([Table(Caller(), [], called), Table(KeccakF(), [], main), Table(Even(), [], even)]))


def edited(edit: Callable[[SimpleNamespace], None]) -> np.ndarray:
    main = honest()[1].copy()
    edit(KeccakF().view(main))
    return main


def test_it_is_the_permutation_of_keccak256() -> None:
    block = np.zeros((WORDS, 1), dtype=np.uint64)
    block[0], block[16] = 1, 1 << 63  # the padding of no bytes
    assert keccak_f.rounds(block)[-1, :4].tobytes() == keccak256(b"")
    assert found(honest()[1]) == []


def test_its_cost() -> None:
    """Pin the cost, which every hash in a guest pays."""
    air, even = KeccakF().describe(), Even().describe()
    assert (air.main_width, len(air.lookups), air.log_quotient_chunks) == (2053, 41, 1)
    assert (even.main_width, len(even.lookups), even.log_quotient_chunks) == (13, 1, 0)


@pytest.mark.parametrize("rows", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [spec.partition("[")[0] for spec in KeccakF.columns])
def test_every_cell_counts(name: str, rows: int) -> None:
    """Change cells of every kind: in a middle round, in a truncated block, and in the first and the last round."""
    rng = np.random.default_rng(len(name))
    for row, change in ((11, P - 1), (ROWS - 1, 1), (0, 1), (ROUNDS - 1, int(rng.integers(2, 2**63))))[:rows]:

        def edit(c: SimpleNamespace, row: int = row, change: int = change) -> None:
            cells = getattr(c, name).reshape(-1, ROWS)
            cell = rng.integers(len(cells))
            cells[cell, row] = (int(cells[cell, row]) + change) % P

        assert found(edited(edit)), (row, change)


def forged_theta(flip: Callable[[np.ndarray], None]) -> np.ndarray:
    """Return a last round in which ``flip`` changed D, uint64 (5 columns, 64 bits), and all else follows from it."""

    def edit(c: SimpleNamespace) -> None:
        row = ROUNDS - 1
        before = c.theta[:, :, row] ^ np.tile(c.flip[:, :, row], (5, 1))
        flip(c.flip[:, :, row])
        c.theta[:, :, row] = before ^ np.tile(c.flip[:, :, row], (5, 1))
        lanes = (c.theta[:, :, row] << np.arange(64, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
        after = keccak_f.after_theta(lanes[:, None], 0)
        for i, z in enumerate(keccak_f.IOTA_BITS):
            c.chi[i, row] = after[0, 0] >> np.uint64(z) & np.uint64(1)
        after[0] ^= np.uint64(keccak_f.ROUND_CONSTANTS[-1])
        c.output[:, :, row] = keccak_f.stacked_limbs(after)[:, :, 0]

    return edited(edit)


def one(bits: np.ndarray) -> None:
    bits[2, 17] ^= 1


def column(bits: np.ndarray) -> None:
    bits[:, 0] ^= 1


def everything(bits: np.ndarray) -> None:
    bits ^= 1


@pytest.mark.parametrize("flip", [one, column, everything])
def test_theta_flips_what_it_should(flip: Callable[[np.ndarray], None]) -> None:
    """Notice another D by the parities and the caller alone if all other cells are consistent."""
    main = forged_theta(flip)
    findings = found(main, keccak_f.even_trace([main]))
    assert all(isinstance(finding, UnbalancedBus) for finding in findings)
    assert {finding.bus for finding in findings if isinstance(finding, UnbalancedBus)} == {
        "bus 'even'",
        "bus 'keccak-f'",
    }


def test_an_odd_number_is_not_even() -> None:
    """Refuse an odd number: its digits are twice a number of three bits, so one cell would have to be no bit."""
    main = forged_theta(one)
    even = keccak_f.even_trace([main])
    c = Even().view(even)
    good = honest()[2]
    wanted = {
        int(message.fields[0])
        for bus in found(main, good)
        if isinstance(bus, UnbalancedBus)
        for message in bus.messages
    }
    odd = next(number for number in wanted if number & 1 and number < 1 << 16)
    c.half[0, 0, -1] = odd * pow(2, -1, P) % P
    c.half[1:, :, -1] = 0
    c.half[0, 1:, -1] = 0
    assert any(isinstance(finding, FailingConstraint) and finding.table == "even" for finding in found(main, even))


def test_bits_are_bits() -> None:
    """Refuse cells that cancel in every sum of a row, but are no bits."""

    def edit(c: SimpleNamespace) -> None:
        c.theta[0, 5, 3] = (int(c.theta[0, 5, 3]) + 2) % P
        c.theta[5, 5, 3] = (int(c.theta[5, 5, 3]) - 2) % P

    labels = [finding.label for finding in found(edited(edit)) if isinstance(finding, FailingConstraint)]
    assert any("boolean" in label for label in labels)


def test_several_tables_share_the_calls() -> None:
    """Refuse to put more calls into a table than fit its rows; the others go to another table."""
    with pytest.raises(ValueError, match="do not fit"):
        keccak_f.trace(range(3), np.zeros((WORDS, 3), dtype=np.uint64), ROWS)
