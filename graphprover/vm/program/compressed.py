"""Finds compressed instructions, which this machine does not have, and names the remedy.

The RISC-V Instruction Set Manual, volume I, chapter "Extending the Base ISA": an instruction of 4 bytes or more ends in
the bits 11, and any other has 2 bytes. Code may contain data, too, with any bits, so only reachable code is checked.
"""

import numpy as np

from graphprover.vm.program.isa import BRANCHES, Op, decode

REMEDY = "compile all of it with -march=rv64im"

_MOST = 1 << 14  # most instructions checked before a run; the run itself reports any other
_ENDS = frozenset({Op.JALR, Op.ECALL, Op.EBREAK})  # the code behind them may never run


def is_compressed(word: int) -> bool:
    """Tell whether a word that is executed begins with a compressed instruction.

    Args:
        word: the 4 bytes.

    Returns:
        False also for zeros, which are illegal by definition.
    """
    return word & 3 != 3 and word & 0xFFFF != 0


def reached_compressed(code: np.ndarray, base: int, entry: int) -> int | None:
    """Find a compressed instruction that is certainly code, not data.

    The search follows direct jumps, calls and both ways of branches from the entry on. The code behind a call, an
    indirect jump or a host call is not searched, since these may not return.

    Args:
        code: uint32, words of 4 bytes.
        base: the address of the first of them.
        entry: the address of the first instruction.

    Returns:
        The lowest address that was found, or None. A jump into the middle of a word finds that address.
    """
    seen, waiting, found = set[int](), [entry], list[int]()
    while waiting and len(seen) < _MOST:
        pc = waiting.pop()
        if pc in seen or not 0 <= pc - base < 4 * len(code):
            continue
        seen.add(pc)
        word = int(code[(pc - base) // 4])
        if pc % 4 or is_compressed(word):
            found.append(pc)
            continue
        instruction = decode(word)
        if instruction is None or instruction.op in _ENDS:
            continue
        if instruction.op is not Op.JAL:
            waiting.append(pc + 4)
        if instruction.op is Op.JAL or instruction.op in BRANCHES:
            waiting.append(pc + instruction.imm)
    return min(found, default=None)
