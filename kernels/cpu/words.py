"""Integers of any number of words inside Numba: tuples of uint64, the lowest word first.

The number of words is a part of a tuple's type, so that each number gets code without loops and without arrays.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import unpack_tuple

from graphprover.runtime.numba_cache import intrinsic

_WORD, _WIDE = ir.IntType(64), ir.IntType(128)


def _integer(words: int) -> types.UniTuple:
    return types.UniTuple(types.uint64, words)


def _codegen(function: Callable[..., list[ir.Value]]) -> Callable:
    """Return the code generator of a function from lists of words, or a word, to the words of its result."""

    def codegen(context: Any, b: ir.IRBuilder, signature: Any, arguments: list[ir.Value]) -> ir.Value:
        unpacked = [
            unpack_tuple(b, value) if isinstance(kind, types.UniTuple) else value
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        return context.make_tuple(b, signature.return_type, function(b, *unpacked))

    return codegen


def _packed(b: ir.IRBuilder, words: list[ir.Value], bits: int) -> ir.Value:
    """Return words as one number of LLVM, which adds and subtracts it by chains of carries."""
    kind = ir.IntType(bits)
    total = kind(0)
    for i, word in enumerate(words):
        total = b.or_(total, b.shl(b.zext(word, kind), kind(64 * i)))
    return total


def _words(b: ir.IRBuilder, x: ir.Value, count: int) -> list[ir.Value]:
    return [b.trunc(b.lshr(x, x.type(64 * i)), _WORD) for i in range(count)]


def _row(b: ir.IRBuilder, x: ir.Value, y: list[ir.Value], z: list[ir.Value]) -> list[ir.Value]:
    """Return the words of x y + z, for a word x."""
    found, carry = [], _WORD(0)
    for one, other in zip(y, z, strict=True):
        total = b.mul(b.zext(x, _WIDE), b.zext(one, _WIDE))
        total = b.add(b.add(total, b.zext(other, _WIDE)), b.zext(carry, _WIDE))
        low, carry = _words(b, total, 2)
        found.append(low)
    return [*found, carry]


@intrinsic
def row(_context, x, y, z):
    """Return x y + z, for a word x: one word more than y and z have."""
    kind = _integer(len(y))
    return _integer(len(y) + 1)(types.uint64, kind, kind), _codegen(_row)


@intrinsic
def multiply(_context, a, b, c):
    """Return a b + c, with twice as many words."""

    def code(builder, a, b, c):
        found, rest = [], c
        for x in a:
            low, *rest = _row(builder, x, b, rest)
            found.append(low)
        return [*found, *rest]

    kind = _integer(len(a))
    return _integer(2 * len(a))(kind, kind, kind), _codegen(code)


@intrinsic
def plus(_context, x, y):
    """Return x + y with one word more: the carry."""

    def code(b, x, y):
        bits = 64 * (len(x) + 1)
        return _words(b, b.add(_packed(b, x, bits), _packed(b, y, bits)), len(x) + 1)

    kind = _integer(len(x))
    return _integer(len(x) + 1)(kind, kind), _codegen(code)


@intrinsic
def minus(_context, x, y):
    """Return x - y with one word more: the borrow, which is all bits, or 0."""

    def code(b, x, y):
        bits = 64 * (len(x) + 1)
        return _words(b, b.sub(_packed(b, x, bits), _packed(b, y, bits)), len(x) + 1)

    kind = _integer(len(x))
    return _integer(len(x) + 1)(kind, kind), _codegen(code)


@intrinsic
def masked(_context, x, mask):
    """Return the words of x, each with the bits of a mask."""

    def code(b, x, mask):
        return [b.and_(word, mask) for word in x]

    kind = _integer(len(x))
    return kind(kind, types.uint64), _codegen(code)


@intrinsic
def shifted(_context, x, bits):
    """Return x shifted to the left by less than 64 bits, without the bits above its words."""

    def code(b, x, bits):
        found, back = [], b.sub(_WORD(63), bits)
        for low, high in zip([_WORD(0), *x], x, strict=False):
            found.append(b.or_(b.shl(high, bits), b.lshr(b.lshr(low, _WORD(1)), back)))
        return found

    kind = _integer(len(x))
    return kind(kind, types.uint64), _codegen(code)


@intrinsic
def up(_context, x, word):
    """Return x moved up by a word, which comes lowest, without its highest word."""
    kind = _integer(len(x))
    return kind(kind, types.uint64), _codegen(lambda _, x, word: [word, *x[:-1]])


@intrinsic
def down(_context, x):
    """Return x moved down by a word, without its lowest word."""
    kind = _integer(len(x))
    return kind(kind), _codegen(lambda _, x: [*x[1:], _WORD(0)])


@intrinsic
def extended(_context, x):
    """Return x with one word more, which is 0."""
    return _integer(len(x) + 1)(_integer(len(x))), _codegen(lambda _, x: [*x, _WORD(0)])


@intrinsic
def lower(_context, x):
    """Return the lower half of the words, or one more of an odd number."""
    count = (len(x) + 1) // 2
    return _integer(count)(_integer(len(x))), _codegen(lambda _, x: x[:count])


@intrinsic
def upper(_context, x):
    """Return the upper half of the words, or one less of an odd number."""
    count = len(x) // 2
    return _integer(count)(_integer(len(x))), _codegen(lambda _, x: x[-count:])


@intrinsic
def any_bit(_context, x):
    """Return a word that is 0 if x is 0."""

    def codegen(context, b, signature, arguments):
        found = _WORD(0)
        for word in unpack_tuple(b, arguments[0]):
            found = b.or_(found, word)
        return found

    return types.uint64(_integer(len(x))), codegen
