"""The way an instruction went, which selects one of its entries of the program table.

An *entry* is an instruction as one chip proves it. Which of its entries a cycle looks up depends on few properties of
that cycle, its *way*, a number below WAYS, or of a host call below CALL_WAYS; an instruction without such properties
may go any way. `outcomes_by_way` asks the chips themselves which entry proves which way.

Only host calls have more than four ways, and a program has few of these instructions. So arrays by instruction and way
have WAYS elements for each instruction, and the elements of host calls come behind (`laid_out`).
"""

from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.registry import FIRST_NUMBER, WAY_OF, calls_of
from graphprover.vm.executor.operations import SIZES
from graphprover.vm.program.io import EXIT
from graphprover.vm.program.isa import ACCESS_BYTES, ILLEGAL, Op
from graphprover.vm.statement.table_numbers import CALL_CHIPS
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.tables.chips import CHIPS
from graphprover.vm.tables.entries import Form

WAYS = 4  # of an instruction that is no host call
CALL_WAYS = 1 + len(CALL_CHIPS)  # of a host call: the exit, then by the chip
MOST_WAYS = max(WAYS, CALL_WAYS)
FAR_BASE = 3  # the way of a load or store with a base at or above 2^32, which no chip proves

# The property on which the way of an instruction depends: none; how registers compare, as equal, signed or unsigned;
# whether the base of a jump is below 2^32; the offset in a word of an access of 1, 2, 4 or 8 bytes; whether upper
# halves equal the sum's; the amount of a shift; the number of a host call.
_NOTHING, _EQUAL, _UNEQUAL, _LESS, _NOT_LESS, _BELOW, _NOT_BELOW, _JUMP = range(8)
_PLACE, _SUM, _SHIFT, CALL = 8, 12, 13, 14

_U = np.uint64
_I = np.int64


def kinds(ops: np.ndarray) -> np.ndarray:
    """Return the property on which the way of an instruction with each of these operations depends, uint8."""
    found = np.full(ILLEGAL + 1, _NOTHING, dtype=np.uint8)
    found[Op.BEQ : Op.BGEU + 1] = _EQUAL, _UNEQUAL, _LESS, _NOT_LESS, _BELOW, _NOT_BELOW
    found[Op.JALR] = _JUMP
    found[[Op.ADDI, Op.ADD]] = _SUM
    found[[Op.SLL, Op.SRL, Op.SRA, Op.SLLW, Op.SRLW, Op.SRAW]] = _SHIFT
    found[Op.ECALL] = CALL
    for op, size in ACCESS_BYTES.items():
        found[op] = _PLACE + size.bit_length() - 1
    return found[ops]


def outcomes_by_way(forms: Sequence[Form]) -> np.ndarray:
    """Return the outcome by which instructions of each form go each way, the first that proves it, or -1.

    The result is int64 (forms, MOST_WAYS); the ways that an instruction does not have are as its last one.
    """
    names = {number: name for name, number in CHIP_NUMBERS.items()}
    found = np.full((len(forms), MOST_WAYS), -1, dtype=np.int64)
    of_forms = kinds(np.array([form.op for form in forms], dtype=np.uint8))
    for own, form, kind in zip(found, forms, of_forms.tolist(), strict=True):
        for outcome in reversed(range(len(form.chips))):
            own[_fits(names[form.chips[outcome]], kind)] = outcome
    return found


@cache  # one for each kind and chip, a few hundred; each program asks again for its forms'
def _fits(chip: str, kind: int) -> np.ndarray:
    """Return which ways of a kind a chip proves, by an example of each: bool (MOST_WAYS,).

    The ways that a kind does not have are as its last one.
    """
    zero, one, minus = 0, 1, 2**64 - 1
    a, b, c, address = [[zero] for _ in range(4)]
    if kind in (_EQUAL, _UNEQUAL):
        a = [zero, one]
    elif kind in (_LESS, _NOT_LESS):
        a = [minus, zero]
    elif kind in (_BELOW, _NOT_BELOW):
        b = [one, zero]
    elif kind == _JUMP:
        a = [zero, 1 << 32]
    elif kind == _SUM:
        c = [zero, 1 << 32]
    elif kind == _SHIFT:
        b = [0, 16, 32, 48]
    elif kind == CALL:
        a = [EXIT, *(calls_of(chip)[0].number for chip in CALL_CHIPS)]
    elif _PLACE <= kind < _SUM:
        size = 1 << (kind - _PLACE)
        address = [0, size // 2, 8 - size // 2, 0]
        a = [zero] * FAR_BASE + [1 << 32]
    if kind in (_UNEQUAL, _NOT_LESS, _NOT_BELOW):
        a, b = (column[::-1] for column in (a, b))
    columns = [
        np.array(column + column[-1:] * (MOST_WAYS - len(column)), dtype=np.uint64) for column in (a, b, c, address)
    ]
    example = SimpleNamespace(**dict(zip(("a", "b", "c", "address"), columns, strict=True)))
    return np.broadcast_to(CHIPS[chip](1).fits(example), MOST_WAYS)


def laid_out(
    calls: np.ndarray, of: Callable[[Any, int], np.ndarray], leading: Callable[[np.ndarray], np.ndarray] = np.asarray
) -> np.ndarray:
    """Return numbers of all ways of each instruction in one array.

    An instruction has WAYS numbers from WAYS times its index on. The CALL_WAYS numbers of a host call are behind the
    numbers of all instructions, and the numbers at its index tell where they begin.

    Args:
        calls: Which instructions are host calls, bool (instructions,).
        of: The numbers of chosen instructions, (instructions, ways), by an index for them and a number of ways.
        leading: The number at a host call's index, by where its own numbers begin.
    """
    numbers = of(slice(None), WAYS)
    (chosen,) = calls.nonzero()
    numbers[chosen] = leading(numbers.size + CALL_WAYS * np.arange(len(chosen)))[:, None]
    return np.concatenate([numbers.ravel(), of(chosen, CALL_WAYS).ravel()])


@njit(nogil=True, cache=True, forceinline=True)
def way_of(op, a, b, c, imm, jumps):
    """Return the way of an instruction that is no host call, with its operands, result and immediate.

    An instruction without a property goes the way of a shift; of word shifts, two ways are one.
    """
    if op >= Op.JAL and op <= Op.BGEU:
        return _I(a >> _U(32) != _U(0)) if op == Op.JALR else _I(not jumps)
    if op >= Op.LB and op <= Op.SD:
        return FAR_BASE if a >> _U(32) != _U(0) else _way_of_place(a + imm, SIZES[op - Op.LB])
    if op == Op.ADDI or op == Op.ADD:
        return _I((a ^ c) >> _U(32) != _U(0) or b >> _U(32) != _U(0))
    return _I(b >> _U(4) & _U(3))


@njit(nogil=True, cache=True, forceinline=True)
def _way_of_place(address, size):
    """Return the way of an access with a base below 2^32."""
    return _I((address & (size - _U(1))) != _U(0)) + _I((address & _U(7)) + size > _U(8))


@njit(nogil=True, cache=True, forceinline=True)
def way_of_call(a):
    """Return the way of a host call: 0 for the exit, then by the chip."""
    return 0 if a == _U(EXIT) else _I(WAY_OF[a - _U(FIRST_NUMBER)])
