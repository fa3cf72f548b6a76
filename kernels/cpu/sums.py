"""Sums of products with constant weights, reduced once at their end.

A weight w stands in a table as six 32-bit limbs: of w, w 2^22 and w 2^44 mod p. A word x is split into pieces of
22, 22 and 20 bits, so that x w is a sum of three products for the low and three for the high limbs, each below 2^54:
``TERMS`` terms fit a pair of 64-bit accumulators before one reduction of low + 2^32 high. A term costs 6 multiply and 6
add instructions for each coordinate; a reduced product costs about thirty.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError

from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.field import mul
from graphprover.runtime.numba_cache import njit

LIMBS = 6  # words of the table that one base weight takes
TERMS = 256  # most terms before a reduction: 3 * 2^54 * TERMS < 2^64
PIECE = 22  # bits of a piece of a word
_I64 = ir.IntType(64)
_LIMB_BITS = np.uint64(32)
_LIMB_MASK = np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True)
def limbs(words, table):
    """Fill ``table``, uint64 (len(words), 6), with the limbs of the weights ``words``."""
    shift = np.uint64(1 << PIECE)
    for i in range(len(words)):
        word = words[i]
        for piece in range(3):
            table[i, 2 * piece] = word & _LIMB_MASK
            table[i, 2 * piece + 1] = word >> _LIMB_BITS
            word = mul(word, shift)


@simd.intrinsic(prefer_literal=True)
def broadcast(_context, source, index, count):
    """Return a tuple of ``count`` (literal) vectors, the words index, index + 1, ... of ``source`` in every lane."""
    if not isinstance(count, types.IntegerLiteral):
        raise TypingError("the count must be a literal")

    def codegen(context, b, signature, arguments):
        pointer = simd.pointer_to(context, b, arguments[0], signature.args[0])
        index = context.cast(b, arguments[1], signature.args[1], types.int64)
        words = [b.load(b.gep(pointer, [b.add(index, _I64(i))])) for i in range(count.literal_value)]
        return context.make_tuple(b, signature.return_type, [simd.emit_splat(b, word) for word in words])

    return types.UniTuple(simd.vector, count.literal_value)(source, index, count), codegen


def _emit_accumulate(b, sums, x, table):
    mask, low = simd.constant((1 << PIECE) - 1), simd.constant(0xFFFFFFFF)
    pieces = [
        b.and_(x, mask),
        b.and_(b.lshr(x, simd.constant(PIECE)), mask),
        b.lshr(x, simd.constant(2 * PIECE)),
    ]
    result = []
    for i, total in enumerate(sums):
        coordinate, half = divmod(i, 2)
        for k, piece in enumerate(pieces):
            weight = b.and_(table[LIMBS * coordinate + 2 * k + half], low)
            total = b.add(total, b.mul(piece, weight))
        result.append(total)
    return result


@simd.operation(results=2)
def zero(b):
    """Return an empty sum."""
    return [simd.constant(0)] * 2


@simd.operation(results=6)
def ext_zero(b):
    """Return an empty sum of three coordinates."""
    return [simd.constant(0)] * 6


@simd.operation(results=2)
def accumulate(b, sums, x, table):
    """Return the sums (low, high) plus the word x times the weight whose limbs are ``table``."""
    return _emit_accumulate(b, sums, x, table)


@simd.operation(results=6)
def ext_accumulate(b, sums, x, table):
    """Return the sums of three coordinates plus x times an extension weight: 18 limbs, coordinate by coordinate."""
    return _emit_accumulate(b, sums, x, table)


def _emit_total(b, low, high):
    # high * 2^32 = (high >> 32) * 2^64 + (high << 32); neither correction of a carry carries again.
    half, epsilon = simd.constant(32), simd.constant(0xFFFFFFFF)
    shifted = b.shl(high, half)
    total = b.add(low, shifted)
    total = b.select(b.icmp_unsigned("<", total, shifted), b.add(total, epsilon), total)
    top = b.lshr(high, half)
    top = b.sub(b.shl(top, half), top)
    result = b.add(total, top)
    return b.select(b.icmp_unsigned("<", result, top), b.add(result, epsilon), result)


@simd.operation()
def total(b, sums):
    """Return the word low + 2^32 high."""
    return _emit_total(b, *sums)


@simd.operation(results=3)
def ext_total(b, sums):
    """Return the words of three coordinates."""
    return [_emit_total(b, sums[2 * i], sums[2 * i + 1]) for i in range(3)]
