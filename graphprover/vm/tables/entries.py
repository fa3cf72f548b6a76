"""The rows of the program table, from all instructions at once.

The ways an instruction can go (`graphprover.vm.tables.chips.outcomes`) depend on its operation, its immediate, and on
its registers: which it has, and which are equal. Programs repeat these combinations. So `outcomes` is called once for
each combination, at one address; addresses, registers and immediates of 32 bits are then filled in for all instructions
together.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.field import P
from graphprover.vm.executor.record import NO_REGISTER, AccessedRegisters, registers_accessed
from graphprover.vm.program.isa import BRANCHES, ILLEGAL, LOADS, STORES, Instruction, Instructions, Op
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.chips import CHIP_NUMBERS, Outcome, outcomes
from graphprover.vm.tables.limbs import limbs
from graphprover.vm.tables.program import FIELDS

_HERE = 1 << 40  # the address for which outcomes of each combination are computed
# Immediates there that stand for others: the next pc of jumps and branches is this address, 4 on, or away; a field that
# is the instruction's own immediate is _AWAY.
_AWAY = 1 << 30
_BELOW = -2 * _HERE  # of jumps and branches to a negative address
_SHORT = 1 << 12  # immediates of other combinations, from -2^11 on
_OPS = tuple(Op)
_ADDRESSES = np.array([*range(REGISTER_BASE, REGISTER_BASE + NO_REGISTER), 0], dtype=np.uint64)  # by register


@dataclass(frozen=True)
class Form:
    """What instructions of a program have in common: their operation, and the chips that prove them."""

    op: int  # an `Op` or ILLEGAL
    chips: tuple[int, ...]  # their numbers, by outcome


@dataclass(frozen=True, eq=False)
class Entries:
    """The rows of a program table, by instruction and then by outcome."""

    rows: np.ndarray  # uint64 (fields, rows)
    instruction: np.ndarray  # int64 (rows,), the instruction of each row, rising
    first: np.ndarray  # int64 (instructions + 1,), the first row of each instruction, and the number of rows
    form: np.ndarray  # int64 (instructions,), of each instruction
    forms: tuple[Form, ...]  # by their first instruction


def program_entries(decoded: Instructions, base: int) -> Entries:
    """Return the rows of the program that begins at address ``base``."""
    op, imm = decoded.op, decoded.imm
    pc = base + 4 * np.arange(len(op), dtype=np.int64)
    used = registers_accessed(decoded)
    jumps, long = _among(op, BRANCHES | {Op.JAL}), _among(op, {Op.LUI, Op.AUIPC, Op.FENCE})
    own = _among(op, LOADS | STORES | {Op.JALR, Op.ADDI, Op.ADDIW}) & (imm != 0)
    below = jumps & (pc + imm < 0)
    kind = op.astype(np.int64)
    missing = (register == NO_REGISTER for register in (used.d, used.a, used.b))
    for bit in (*missing, used.d == used.a, used.a == used.b, below, own):
        kind = 2 * kind + bit
    # Few kinds occur, so a table with a place for each kind and immediate is small.
    _, kind = _numbered(kind, (ILLEGAL + 1) << 7)
    short = np.where(jumps | long | own, 0, imm)
    at, which = _numbered(_SHORT * kind + short + _SHORT // 2, _SHORT * (int(kind.max(initial=0)) + 1))
    asked = np.where(below, _BELOW, np.where(jumps | own, _AWAY, short))
    found = [_outcomes(decoded, used, int(i), int(asked[i])) for i in at]
    chips = [tuple(CHIP_NUMBERS[outcome.chip] for outcome in some) for some in found]

    counts = np.array([len(some) for some in found], dtype=np.int64)
    of_each = counts[which]
    first = np.concatenate([[0], np.cumsum(of_each)])
    of = np.repeat(np.arange(len(op)), of_each)  # the instruction of each row
    # The rows of a combination are neighbours, and so are the rows of an instruction.
    source = ((np.cumsum(counts) - counts)[which] - first[:-1])[of] + np.arange(len(of))
    rows = np.empty((len(FIELDS), len(of)), dtype=np.uint64)
    columns = dict(zip(FIELDS, rows, strict=True))
    _pick(pc.view(np.uint64), of, columns["pc"])
    _pick(_column(chips), source, columns["chip"])
    for name in ("following", "imm", "imm2"):
        _pick(_column([[getattr(outcome, name) for outcome in some] for some in found]), source, columns[name])
    for name in ("d", "a", "b"):
        _pick(_ADDRESSES[getattr(used, name)], of, columns[name])
    following, imm1 = columns["following"], columns["imm"]
    (same,) = (imm1 == _AWAY).nonzero()
    imm1[same] = _element(imm[of[same]])
    (constant,) = (columns["chip"] == CHIP_NUMBERS["constant"]).nonzero()
    own_op, own_pc, value = (array[of[constant]] for array in (op, pc, imm))
    value[own_op == Op.AUIPC] += own_pc[own_op == Op.AUIPC]
    imm1[constant], columns["imm2"][constant] = limbs(value.view(np.uint64))
    (away,) = (following == _HERE + _AWAY).nonzero()
    (next_one,) = (following == _HERE + 4).nonzero()
    following[away] = (pc + imm)[of[away]]
    following[next_one] = columns["pc"][next_one] + np.uint64(4)

    numbers: dict[Form, int] = {}
    forms = [numbers.setdefault(Form(*form), len(numbers)) for form in zip(op[at].tolist(), chips, strict=True)]
    return Entries(rows, of, first, np.array(forms, dtype=np.int64)[which], tuple(numbers))


def _outcomes(decoded: Instructions, used: AccessedRegisters, at: int, imm: int) -> list[Outcome]:
    """Return the outcomes of an instruction if it had another immediate, and the address _HERE."""
    if decoded.op[at] == ILLEGAL:
        return []
    rd, rs1, rs2 = (int(field[at]) for field in (decoded.rd, decoded.rs1, decoded.rs2))
    instruction = Instruction(_OPS[decoded.op[at]], rd, rs1, rs2, imm, _HERE)
    return outcomes(instruction, (int(used.d[at]), int(used.a[at]), int(used.b[at])))


def _pick(values: np.ndarray, index: np.ndarray, column: np.ndarray) -> None:
    """Write the values at valid indices to a column."""
    np.take(values, index, out=column, mode="clip")  # the mode "raise" would copy the column


def _column(of_each: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([value for some in of_each for value in some], dtype=np.uint64)


def _element(signed: np.ndarray) -> np.ndarray:
    """Return int64 numbers as field elements."""
    return signed.view(np.uint64) - np.where(signed < 0, np.uint64(2**64 - P), np.uint64(0))


def _among(op: np.ndarray, ops: Collection[Op]) -> np.ndarray:
    found = np.zeros(ILLEGAL + 1, dtype=bool)
    found[[*ops]] = True
    return found[op]


def _numbered(keys: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Give a number to each different key below ``end``, by first appearance.

    Returns:
        The index of each key's first appearance, rising, and the number of each key: int64.
    """
    first = np.full(end, -1, dtype=np.int64)
    first[keys[::-1]] = np.arange(len(keys))[::-1]  # the last assignment counts
    at = np.sort(first[first >= 0])
    number = np.empty(end, dtype=np.int64)
    number[keys[at]] = np.arange(len(at))
    return at, number[keys]
