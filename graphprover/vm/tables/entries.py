"""The rows of the program table, from all instructions at once.

The ways an instruction can go (`graphprover.vm.tables.chips.outcomes`) depend on its operation, its immediate, and on
its registers: which it has, and which are equal. Programs repeat these combinations. So `outcomes` is called once for
each combination, at one address; addresses and registers are then filled in for all instructions together.
"""

import numpy as np

from graphprover.vm.executor.record import NO_REGISTER, registers_accessed
from graphprover.vm.program.isa import BRANCHES, ILLEGAL, Instruction, Instructions, Op
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.chips import CHIP_NUMBERS, outcomes
from graphprover.vm.tables.program import FIELDS

_HERE = 1 << 40  # the address for which outcomes of each combination are computed
_AWAY = 1 << 30  # immediate of jumps and branches there: the next pc is then this address, 4 on, or away
_OPS = tuple(Op)


def program_entries(decoded: Instructions, base: int) -> np.ndarray:
    """Return the rows in order, uint64 (fields, rows), of the program that begins at address ``base``."""
    pc = base + 4 * np.arange(len(decoded.op), dtype=np.int64)
    used = registers_accessed(decoded)
    jumps = np.isin(decoded.op, [int(op) for op in BRANCHES | {Op.JAL}])
    # The value of auipc is computed as a sum with its address.
    imm = np.where(jumps, _AWAY, decoded.imm + np.where(decoded.op == Op.AUIPC, pc - _HERE, 0))
    missing = [register == NO_REGISTER for register in (used.d, used.a, used.b)]
    kind = decoded.op.astype(np.int64)
    for bit in (*missing, used.d == used.a, used.a == used.b):
        kind = 2 * kind + bit
    # One number for each kind sorts faster than two: there are fewer than 2^12 kinds.
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
    # The rows of a combination are neighbours, and so are the rows of an instruction.
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
    possible = following >= 0  # no pc is below address 0
    return np.stack([columns[name].astype(np.uint64)[possible] for name in FIELDS])
