"""Instructions as words that the machine's inner loop and replays read."""

from weakref import WeakKeyDictionary

import numpy as np

from graphprover.vm.executor.record import NO_REGISTER, registers_accessed
from graphprover.vm.program.io import DEBUG_PRINT
from graphprover.vm.program.isa import ILLEGAL, Instructions, Op, decode

END = ILLEGAL + 1  # marks the end of the code

_NOWHERE = 1 << 30  # the distance of a jump to no instruction

# The words of a program, without and with its prints.
_words: "WeakKeyDictionary[Instructions, dict[bool, np.ndarray]]" = WeakKeyDictionary()


def predecode(decoded: Instructions, *, prints: bool = False) -> np.ndarray:
    """Return one uint64 an instruction: op, d, a, b as bytes from the lowest, then the immediate; and one for the end.

    An instruction without register accesses and effect becomes a fence; the immediate of jumps counts instructions.
    A fence has the immediate 0; with ``prints`` the ones of DEBUG_PRINT have 1. All runs of a program share the
    array, which must not be written to.
    """
    known = _words.setdefault(decoded, {})
    if prints not in known:
        known[prints] = _with_prints(decoded) if prints else _without_prints(decoded)
    return known[prints]


def _without_prints(decoded: Instructions) -> np.ndarray:
    used, op = registers_accessed(decoded), decoded.op
    idle = (used.d == NO_REGISTER) & (used.a == NO_REGISTER)
    idle &= (op != int(Op.JAL)) & (op != int(Op.EBREAK)) & (op != ILLEGAL)
    words = np.empty(len(op) + 1, dtype=np.uint64)
    words[-1] = END | NO_REGISTER << 8 | NO_REGISTER << 16 | NO_REGISTER << 24
    fields = words[:-1].view(np.uint8).reshape(-1, 8)
    fields[:, 0] = np.where(idle, np.uint8(Op.FENCE), op)
    fields[:, 1], fields[:, 2], fields[:, 3] = used.d, used.a, used.b
    imm = words[:-1].view(np.int32)[1::2]
    imm[:] = decoded.imm
    (jumps,) = ((op >= int(Op.JAL)) & (op <= int(Op.BGEU)) & (op != int(Op.JALR))).nonzero()
    distance = decoded.imm[jumps]
    imm[jumps] = np.where(distance & 3, _NOWHERE, distance >> 2)
    imm[idle] = 0
    return words


def _with_prints(decoded: Instructions) -> np.ndarray:
    words = predecode(decoded).copy()
    words[:-1][_is_print(decoded)] |= np.uint64(1 << 32)
    return words


def _is_print(decoded: Instructions) -> np.ndarray:
    """Return which instructions are DEBUG_PRINT."""
    word = decode(DEBUG_PRINT)
    assert word is not None
    same = (decoded.op == int(word.op)) & (decoded.imm == word.imm)
    return same & (decoded.rd == word.rd) & (decoded.rs1 == word.rs1)
