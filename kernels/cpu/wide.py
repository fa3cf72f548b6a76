"""Sums of products of words, of 128 bits, inside Numba."""

from llvmlite import ir
from numba import types

from graphprover.runtime.numba_cache import intrinsic

_WORD, _WIDE = ir.IntType(64), ir.IntType(128)
PART_BITS = 62  # of the parts that `combine` returns


def _words(b, x):
    """Return the low and the high word of a number of 128 bits."""
    return b.trunc(x, _WORD), b.trunc(b.lshr(x, _WIDE(64)), _WORD)


@intrinsic
def multiply_add(_context, x, y, z, carry):
    """Return the low and the high word of x y + z + carry, of uint64."""

    def codegen(context, b, signature, arguments):
        x, y, z, carry = (b.zext(argument, _WIDE) for argument in arguments)
        return context.make_tuple(b, signature.return_type, _words(b, b.add(b.add(b.mul(x, y), z), carry)))

    word = types.uint64
    return types.UniTuple(word, 2)(word, word, word, word), codegen


@intrinsic
def combine(_context, u, x, v, y, w, z, low, high):
    """Return the lowest PART_BITS bits of u x + v y + w z + carry, and the other bits: the next carry, in two words.

    All are int64; the carry is 2^64 high + low, with ``low`` as an unsigned number.
    """

    def codegen(context, b, signature, arguments):
        u, x, v, y, w, z = (b.sext(argument, _WIDE) for argument in arguments[:6])
        low, high = (b.zext(argument, _WIDE) for argument in arguments[6:])
        total = b.or_(low, b.shl(high, _WIDE(64)))
        for product in (b.mul(u, x), b.mul(v, y), b.mul(w, z)):
            total = b.add(total, product)
        part = b.and_(b.trunc(total, _WORD), _WORD((1 << PART_BITS) - 1))
        carry = _words(b, b.ashr(total, _WIDE(PART_BITS)))
        return context.make_tuple(b, signature.return_type, (part, *carry))

    word = types.int64
    return types.UniTuple(word, 3)(*[word] * 8), codegen
