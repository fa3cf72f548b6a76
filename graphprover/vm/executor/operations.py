"""The results of instructions, compiled: for the machine's inner loop, and for replaying its record.

Operations of registers take one operand beside rs1: rs2's value plus the immediate, of which one is always 0.
"""

import numpy as np

from graphprover.runtime.numba_cache import njit
from graphprover.vm.program.isa import ACCESS_BYTES, Op
from graphprover.vm.tables.limbs import LIMB_BITS, LIMB_MASK, WORD_MASK

SIZES = np.array([ACCESS_BYTES[op] for op in sorted(ACCESS_BYTES)], dtype=np.uint64)  # of LB .. SD

_U = np.uint64
_I = np.int64
_0, _1, _2, _3, _8, _31, _63, _64 = map(np.uint64, (0, 1, 2, 3, 8, 31, 63, 64))
_LIMB_BITS, _LIMB_MASK, _WORD_MASK = map(np.uint64, (LIMB_BITS, LIMB_MASK, WORD_MASK))


@njit(nogil=True, cache=True)
def _product_high(a, b):
    """Return the upper word of the unsigned product."""
    al, ah, bl, bh = a & _LIMB_MASK, a >> _LIMB_BITS, b & _LIMB_MASK, b >> _LIMB_BITS
    low = al * bl
    middle = ah * bl + (low >> _LIMB_BITS)
    other = al * bh + (middle & _LIMB_MASK)
    return ah * bh + (middle >> _LIMB_BITS) + (other >> _LIMB_BITS)


@njit(nogil=True, cache=True)
def _word(a):
    """Sign-extend the low 32 bits."""
    return _U(_I(np.int32(a)))


@njit(nogil=True, cache=True, error_model="numpy")
def _divide(a, b):
    """Return quotient and remainder, signed, rounded towards zero; for a division by zero -1 and a."""
    if b == _0:
        return _WORD_MASK, a
    x = _0 - a if _I(a) < 0 else a
    y = _0 - b if _I(b) < 0 else b
    q = x // y
    r = x - q * y
    return _0 - q if _I(a ^ b) < 0 else q, _0 - r if _I(a) < 0 else r


@njit(nogil=True, cache=True, error_model="numpy")
def _divide_unsigned(a, b):
    """Return quotient and remainder; for a division by zero 2^64 - 1 and a."""
    if b == _0:
        return _WORD_MASK, a
    q = a // b
    return q, a - q * b


@njit(nogil=True, cache=True, forceinline=True)
def decoded(fields):
    """Return operation, rd, rs1, rs2 and immediate of a word of `predecode.predecode`."""
    rd, rs1, rs2 = fields >> _8 & _U(0xFF), fields >> _U(16) & _U(0xFF), fields >> _U(24) & _U(0xFF)
    return _I(fields & _U(0xFF)), rd, rs1, rs2, _U(_I(fields) >> 32)


@njit(nogil=True, cache=True, forceinline=True)
def placed(op, imm, pc):
    """Return what an instruction at ``pc`` that reads no register, or jumps, writes to rd; 0 of a branch."""
    if op == Op.LUI:
        return imm
    if op == Op.AUIPC:
        return pc + imm
    return pc + _U(4) if op == Op.JAL or op == Op.JALR else _0


@njit(nogil=True, cache=True, forceinline=True)
def taken(op, a, b):
    """Return whether a jump or branch is taken."""
    if op == Op.JAL or op == Op.JALR:
        return True
    if op == Op.BEQ:
        return bool(a == b)
    if op == Op.BNE:
        return bool(a != b)
    if op == Op.BLT:
        return bool(_I(a) < _I(b))
    if op == Op.BGE:
        return bool(_I(a) >= _I(b))
    if op == Op.BLTU:
        return bool(a < b)
    return bool(a >= b)


@njit(nogil=True, cache=True, forceinline=True)
def target(op, a, imm, index, code_base):
    """Return the number of the instruction to which a jump or branch goes; -1 if the address is of none."""
    if op != Op.JALR:
        return index + _I(imm)
    distance = ((a + imm) & ~_1) - _U(code_base)
    return -1 if distance & _3 else _I(distance >> _2)


@njit(nogil=True, cache=True, forceinline=True)
def loaded(op, value):
    """Return the value of a load, from a word that begins with the bytes at its address."""
    if op == Op.LB:
        return _U(_I(np.int8(value)))
    if op == Op.LH:
        return _U(_I(np.int16(value)))
    if op == Op.LW:
        return _U(_I(np.int32(value)))
    if op == Op.LD:
        return value
    if op == Op.LBU:
        return value & _U(0xFF)
    if op == Op.LHU:
        return value & _U(0xFFFF)
    return value & _LIMB_MASK


@njit(nogil=True, cache=True, forceinline=True)
def stored(old, value, size, shift):
    """Return a word after a store of this many bytes, this many bits from its lower end."""
    mask = _WORD_MASK >> (_64 - _8 * size)
    return (old & ~(mask << shift)) | ((value & mask) << shift)


@njit(nogil=True, cache=True, forceinline=True)
def stored_behind(old, value, size, shift):
    """Return the next word, if the store crosses into it."""
    mask, back = _WORD_MASK >> (_64 - _8 * size), _64 - shift
    return (old & ~(mask >> back)) | ((value & mask) >> back)


@njit(nogil=True, cache=True, forceinline=True, error_model="numpy")
def computed(op, a, y):
    """Return the result of an operation of registers, or of one and an immediate; 0 of any other."""
    if op == Op.ADDI or op == Op.ADD:
        return a + y
    if op == Op.SLTI or op == Op.SLT:
        return _U(_I(a) < _I(y))
    if op == Op.SLTIU or op == Op.SLTU:
        return _U(a < y)
    if op == Op.XORI or op == Op.XOR:
        return a ^ y
    if op == Op.ORI or op == Op.OR:
        return a | y
    if op == Op.ANDI or op == Op.AND:
        return a & y
    if op == Op.SLLI or op == Op.SLL:
        return a << (y & _63)
    if op == Op.SRLI or op == Op.SRL:
        return a >> (y & _63)
    if op == Op.SRAI or op == Op.SRA:
        return _U(_I(a) >> _I(y & _63))
    if op == Op.SUB:
        return a - y
    return _computed_word(op, a, y) if op < Op.MUL else _multiplied(op, a, y)


@njit(nogil=True, cache=True, forceinline=True)
def _computed_word(op, a, y):
    """Return the result of an operation of RV64I on 32 bits; 0 of any other."""
    if op == Op.ADDIW or op == Op.ADDW:
        return _word(a + y)
    if op == Op.SLLIW or op == Op.SLLW:
        return _word(a << (y & _31))
    if op == Op.SRLIW or op == Op.SRLW:
        return _word((a & _LIMB_MASK) >> (y & _31))
    if op == Op.SRAIW or op == Op.SRAW:
        return _U(_I(_word(a)) >> _I(y & _31))
    return _word(a - y) if op == Op.SUBW else _0


@njit(nogil=True, cache=True, forceinline=True, error_model="numpy")
def _multiplied(op, a, y):
    """Return the result of an operation of the extension M; 0 of any other."""
    if op == Op.MUL:
        return a * y
    if op == Op.MULH:
        return _product_high(a, y) - (y if _I(a) < 0 else _0) - (a if _I(y) < 0 else _0)
    if op == Op.MULHSU:
        return _product_high(a, y) - (y if _I(a) < 0 else _0)
    if op == Op.MULHU:
        return _product_high(a, y)
    if op == Op.DIV:
        return _divide(a, y)[0]
    if op == Op.DIVU:
        return _divide_unsigned(a, y)[0]
    if op == Op.REM:
        return _divide(a, y)[1]
    if op == Op.REMU:
        return _divide_unsigned(a, y)[1]
    if op == Op.MULW:
        return _word(a * y)
    if op == Op.DIVW:
        return _word(_divide(_word(a), _word(y))[0])
    if op == Op.DIVUW:
        return _word(_divide_unsigned(a & _LIMB_MASK, y & _LIMB_MASK)[0])
    if op == Op.REMW:
        return _divide(_word(a), _word(y))[1]
    if op == Op.REMUW:
        return _word(_divide_unsigned(a & _LIMB_MASK, y & _LIMB_MASK)[1])
    return _0
