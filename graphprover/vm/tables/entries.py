"""The rows of the program table, from all instructions at once.

The ways an instruction can go (`graphprover.vm.tables.chips.outcomes`) depend on its operation, its immediate, and on
which of its registers there are and which are the same. Programs repeat these, so each combination is asked for once,
at one place; addresses and registers are then put in for all instructions together.
"""

import numpy as np

from graphprover.vm.executor.record import NO_REGISTER, registers_accessed
from graphprover.vm.program.isa import BRANCHES, ILLEGAL, Instruction, Instructions, Op
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.chips import CHIP_NUMBERS, outcomes
from graphprover.vm.tables.program import FIELDS

_HERE = 1 << 40  # where each combination is asked for
_AWAY = 1 << 30  # the immediate of jumps and branches there: what comes next is then here, 4 on, or away
_OPS = tuple(Op)


def program_entries(decoded: Instructions, base: int) -> np.ndarray:
    """The rows in order, uint64 (fields, rows), of the program that begins at address ``base``."""
    pc = base + 4 * np.arange(len(decoded.op), dtype=np.int64)
    used = registers_accessed(decoded)
    jumps = np.isin(decoded.op, [int(op) for op in BRANCHES | {Op.JAL}])
    # What auipc adds to its address is asked for as a sum.
    imm = np.where(jumps, _AWAY, decoded.imm + np.where(decoded.op == Op.AUIPC, pc - _HERE, 0))
    missing = [register == NO_REGISTER for register in (used.d, used.a, used.b)]
    kind = decoded.op.astype(np.int64)
    for bit in (*missing, used.d == used.a, used.a == used.b):
        kind = 2 * kind + bit
    # As one number, which sorts faster than two: there are fewer than 2^12 kinds.
    _, first, which = np.unique(imm * (1 << 12) + kind, return_index=True, return_inverse=True)
    counts, rows = np.zeros(len(first), dtype=np.int64), []
    for i, at in enumerate(first.tolist()):
        if decoded.op[at] != ILLEGAL:
            registers = int(used.d[at]), int(used.a[at]), int(used.b[at])
            rd, rs1, rs2, value = (int(field[at]) for field in (decoded.rd, decoded.rs1, decoded.rs2, imm))
            found = outcomes(Instruction(_OPS[decoded.op[at]], rd, rs1, rs2, value, _HERE), registers)
            rows += [(CHIP_NUMBERS[outcome.chip], outcome.following, outcome.imm, outcome.imm2) for outcome in found]
            counts[i] = len(found)
    asked = np.array(rows, dtype=np.uint64).reshape(-1, 4)
    of = np.repeat(np.arange(len(pc)), counts[which])  # the instruction of each row
    # A combination's rows come one after the other, and so do an instruction's.
    starts = np.cumsum(counts) - counts
    within = np.arange(len(of)) - np.repeat(np.cumsum(counts[which]) - counts[which], counts[which])
    chip, following, imm1, imm2 = asked[starts[which][of] + within].T
    away = following == _HERE + _AWAY
    following = np.where(following == 0, 0, (pc + np.where(jumps, decoded.imm, 0))[of] * away + (pc + 4)[of] * ~away)
    d, a, b = (
        np.where(none, 0, REGISTER_BASE + register.astype(np.int64))[of]
        for none, register in zip(missing, (used.d, used.a, used.b), strict=True)
    )
    columns = {
        "chip": chip,
        "pc": pc[of],
        "following": following,
        "d": d,
        "a": a,
        "b": b,
        "imm": imm1,
        "imm2": imm2,
    }
    possible = following >= 0  # there is no way to below address 0
    return np.stack([columns[name].astype(np.uint64)[possible] for name in FIELDS])
