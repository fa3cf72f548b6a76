"""Eight 64-bit words in one register as a Numba value: the language in which the hot kernels are written.

    from graphprover.kernels.cpu import simd

    @njit(nogil=True, cache=True)
    def axpy(a, x, y, first, last):             # y += a * x on (columns, rows) matrices; rows a multiple of WIDTH
        rows = x.shape[1]
        for column in range(first, last):
            for i in range(column * rows, (column + 1) * rows, simd.WIDTH):
                product = simd.mul(simd.load(x, i), a)          # an integer operand is broadcast
                simd.store(y, i, simd.canonical(simd.add(product, simd.load(y, i))))

Memory: ``load(source, index)`` and ``store(target, index, x)`` move the words index .. index + 7, counted flat from the
first word, of a C-contiguous uint64 array of any number of dimensions, of a ``CPointer(uint64)``, or of an integer
address. ``load_rows(source, index, stride, count)`` gives a tuple of ``count`` (a literal) vectors that lie ``stride``
words apart, ``store_rows`` is its inverse, and ``splat_rows`` gives vectors of one word each; ``gather``/``scatter``
take a vector of indices, ``load_word`` and ``store_word`` move one uint64, ``load_half`` gives one uint32, ``prefetch``
announces a load. No alignment is needed, no bounds are checked.
Field: a *word* is any 64-bit value read mod p, a *canonical* word is below p. Everything takes and gives words, unless
its docstring says more; ``canonical`` makes the one out of the other and is due before a store that leaves a kernel.
``add_canonical`` (a cheaper add) and ``sub_canonical`` take a second operand already known to be canonical (a word
loaded at a kernel's boundary is; a result of ``mul`` is not).
Extension: a tuple of three vectors over x^3 - x - 1, or of three integers (a challenge), with ``ext_add``, ``ext_sub``,
``ext_mul`` and ``ext_scale`` (by a base vector).
Bits: ``xor``, ``bit_and``, ``shift_left``/``shift_right`` (by a literal), ``wrapping_add``, ``wrapping_mul``.
Lanes: ``splat``, ``iota``, ``shuffle`` (makes one), ``transpose``, ``interleave``; ``equal``/``less`` give a
bit mask (uint8, lane i in bit i), which ``select`` takes.

Every operation is an intrinsic that emits LLVM instructions on <8 x i64>: one 512-bit register on AVX-512, two of 256
bits on AVX2, and whatever the target has elsewhere. LLVM left to vectorise a scalar loop does less than half as well.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import models, register_model

from graphprover.field import P
from graphprover.runtime.numba_cache import intrinsic

WIDTH = 8

_I1, _I8, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
_VECTOR = ir.VectorType(_I64, WIDTH)
_MASK = ir.VectorType(_I1, WIDTH)
_EPSILON = 0xFFFFFFFF  # 2^64 mod p

Value = Any  # an LLVM value; llvmlite has no types
Builder = Any  # llvmlite.ir.IRBuilder


class VectorType(types.Type):
    """The Numba type of eight uint64 lanes."""

    def __init__(self) -> None:
        super().__init__(name="uint64x8")


vector = VectorType()


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: VectorType) -> None:
        super().__init__(manager, kind, _VECTOR)


# Emission of field arithmetic: plain functions from LLVM values to LLVM values, which other intrinsics may compose.


def constant(k: int) -> Value:
    """Return the vector with k in every lane."""
    return ir.Constant(_VECTOR, [k] * WIDTH)


def emit_canonical(b: Builder, x: Value) -> Value:
    # x - p wraps to something above x exactly when x < p.
    reduced = b.sub(x, constant(P))
    return b.select(b.icmp_unsigned("<", x, reduced), x, reduced)


def emit_add_canonical(b: Builder, x: Value, y: Value) -> Value:
    # With y < p a carry leaves less than p - 1, so that adding 2^64 mod p = 2^32 - 1 cannot carry again.
    total = b.add(x, y)
    return b.select(b.icmp_unsigned("<", total, y), b.add(total, constant(_EPSILON)), total)


def emit_sub_canonical(b: Builder, x: Value, y: Value) -> Value:
    # With y < p a borrow leaves at least 2^32, so that subtracting 2^32 - 1 cannot borrow again.
    difference = b.sub(x, y)
    return b.select(b.icmp_unsigned("<", x, y), b.sub(difference, constant(_EPSILON)), difference)


def emit_add(b: Builder, x: Value, y: Value) -> Value:
    return emit_add_canonical(b, x, emit_canonical(b, y))


def emit_sub(b: Builder, x: Value, y: Value) -> Value:
    return emit_sub_canonical(b, x, emit_canonical(b, y))


def _opaque_epsilon(b: Builder) -> Value:
    """2^32 - 1 in every lane, out of memory: LLVM makes two shifts and a subtraction of a product by a constant."""
    name = "graphprover_epsilon"
    place = b.module.globals.get(name)
    if place is None:
        place = ir.GlobalVariable(b.module, _VECTOR, name)
        place.initializer = constant(_EPSILON)
        place.linkage = "linkonce_odr"
    return b.load(place)


def emit_reduce(b: Builder, high: Value, low: Value) -> Value:
    """high * 2^64 + low as a word, for any two words: 2^64 = 2^32 - 1 and 2^96 = -1."""
    epsilon, half = constant(_EPSILON), constant(32)
    top, middle = b.lshr(high, half), b.and_(high, epsilon)
    # A borrow leaves at least 2^64 - 2^32 and a carry at most 2^64 - 2^33: neither correction wraps.
    s = b.sub(low, top)
    s = b.select(b.icmp_unsigned("<", low, top), b.sub(s, epsilon), s)
    m = b.mul(middle, b.and_(_opaque_epsilon(b), epsilon))  # both below 2^32, hence one vpmuludq
    r = b.add(s, m)
    return b.select(b.icmp_unsigned("<", r, m), b.add(r, epsilon), r)


def emit_mul_wide(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """(high, low) of the 128-bit product, from four 32-bit products."""
    epsilon, half = constant(_EPSILON), constant(32)
    xl, xh, yl, yh = b.and_(x, epsilon), b.lshr(x, half), b.and_(y, epsilon), b.lshr(y, half)
    ll, lh, hl, hh = b.mul(xl, yl), b.mul(xl, yh), b.mul(xh, yl), b.mul(xh, yh)
    t = b.add(hl, b.lshr(ll, half))
    u = b.add(lh, b.and_(t, epsilon))
    return b.add(hh, b.add(b.lshr(t, half), b.lshr(u, half))), b.or_(b.shl(u, half), b.and_(ll, epsilon))


def emit_mul(b: Builder, x: Value, y: Value) -> Value:
    return emit_reduce(b, *emit_mul_wide(b, x, y))


def emit_mul_power_of_two(b: Builder, x: Value, exponent: int) -> Value:
    """x * 2^exponent as a word, for 0 <= exponent < 96: shifts instead of products."""
    epsilon, half = constant(_EPSILON), constant(32)
    if exponent == 0:
        return x
    if exponent < 64:
        high, low = b.lshr(x, constant(64 - exponent)), b.shl(x, constant(exponent))
        if exponent > 32:
            return emit_reduce(b, high, low)
        m = b.sub(b.shl(high, half), high)
        r = b.add(low, m)
        return b.select(b.icmp_unsigned("<", r, m), b.add(r, epsilon), r)
    # x = h 2^j + l with j = 96 - exponent, so x * 2^exponent = l 2^(32-j) 2^64 - h.
    j = 96 - exponent
    high, low = b.lshr(x, constant(j)), b.and_(x, constant((1 << j) - 1))
    low = b.shl(low, constant(32 - j))
    m = b.sub(b.shl(low, half), low)
    r = b.sub(m, high)
    return b.select(b.icmp_unsigned("<", m, high), b.sub(r, epsilon), r)


# From emission to Numba: the decorator that makes an intrinsic, and the intrinsics of memory.


def _is_operand(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_operand, kind.types))  # type: ignore[attr-defined]
    return kind == vector or isinstance(kind, types.Integer)


def _as_operand(context: Any, b: Builder, value: Value, kind: Any) -> Value:
    """Return a vector as it is, an integer in every lane, a tuple as a list of these."""
    if isinstance(kind, types.BaseTuple):
        parts = zip(cgutils.unpack_tuple(b, value), kind.types, strict=True)  # type: ignore[attr-defined]
        return [_as_operand(context, b, *part) for part in parts]
    return value if kind == vector else emit_splat(b, context.cast(b, value, kind, types.uint64))


def emit_splat(b: Builder, word: Value) -> Value:
    single = b.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, ir.Constant(_I32, 0))
    return b.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_I32, WIDTH), None))


def operation(results: int | None = None) -> Callable[[Callable], Any]:
    """Decorate a typing function to an intrinsic whose instructions ``emit(builder, *operands)`` writes.

    An operand is a vector, an integer (broadcast) or a tuple of these (given to ``emit`` as a list). The value is a
    vector, or with ``results`` given a tuple of that many.
    """

    def decorate(emit: Callable) -> Any:
        def typing(_context: Any, *kinds: types.Type) -> Any:
            if not all(map(_is_operand, kinds)):
                raise TypingError(f"{emit.__name__} takes vectors, integers and tuples of them, not {kinds}")

            def codegen(context: Any, b: Builder, signature: Any, arguments: Sequence[Value]) -> Value:
                value = emit(
                    b, *(_as_operand(context, b, *pair) for pair in zip(arguments, signature.args, strict=True))
                )
                return value if results is None else context.make_tuple(b, signature.return_type, value)

            return (vector if results is None else types.UniTuple(vector, results))(*kinds), codegen

        typing.__name__ = typing.__qualname__ = emit.__name__
        typing.__doc__ = emit.__doc__
        # Numba matches a call against the signature, which must name every operand.
        typing.__signature__ = inspect.signature(emit)  # type: ignore[attr-defined]
        return intrinsic(typing)

    return decorate


@intrinsic
def align_stack(_context):
    """Align the calling function's spills to the lines of a cache; spills across lines can halve its speed.

    Inlined, a function would lose its alignment, so the caller stays a function of its own.
    """

    def codegen(context, b, _signature, _arguments):
        b.function.attributes.alignstack = 8 * WIDTH
        b.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


def _check_memory(kind: types.Type, writable: bool = False) -> None:
    words = isinstance(kind, types.Array) and kind.dtype == types.uint64 and kind.layout == "C"
    if words and writable and not kind.mutable:
        raise TypingError("a read-only array cannot be stored to")
    if not words and kind != types.CPointer(types.uint64) and not isinstance(kind, types.Integer):
        raise TypingError(f"memory is a C-contiguous uint64 array, a pointer or an address, not {kind}")


def pointer_to(context: Any, b: Builder, memory: Value, kind: types.Type) -> Value:
    if isinstance(kind, types.Array):
        return context.make_array(kind)(context, b, memory).data
    if isinstance(kind, types.Integer):
        return b.inttoptr(context.cast(b, memory, kind, types.int64), _I64.as_pointer())
    return memory


def _at(b: Builder, pointer: Value, index: Value) -> Value:
    return b.bitcast(b.gep(pointer, [index]), _VECTOR.as_pointer())


@intrinsic
def load(_context, source, index):
    """Return the words index .. index + 7 of ``source``."""
    _check_memory(source)

    def codegen(context, b, signature, arguments):
        pointer = pointer_to(context, b, arguments[0], signature.args[0])
        return b.load(_at(b, pointer, context.cast(b, arguments[1], signature.args[1], types.int64)), align=8)

    return vector(source, index), codegen


@intrinsic
def store(_context, target, index, x):
    """Write x to the words index .. index + 7 of ``target``."""
    _check_memory(target, writable=True)

    def codegen(context, b, signature, arguments):
        pointer = pointer_to(context, b, arguments[0], signature.args[0])
        place = _at(b, pointer, context.cast(b, arguments[1], signature.args[1], types.int64))
        b.store(_as_operand(context, b, arguments[2], signature.args[2]), place, align=8)
        return context.get_dummy_value()

    return types.void(target, index, x), codegen


@intrinsic
def load_word(_context, source, index):
    """Return the word ``index`` of ``source``, as a uint64."""
    _check_memory(source)

    def codegen(context, b, signature, arguments):
        pointer = pointer_to(context, b, arguments[0], signature.args[0])
        return b.load(b.gep(pointer, [context.cast(b, arguments[1], signature.args[1], types.int64)]))

    return types.uint64(source, index), codegen


@intrinsic
def load_half(_context, source, index):
    """Return the 32 bits number ``index`` behind an address, as a uint64."""

    def codegen(context, b, signature, arguments):
        pointer = b.inttoptr(context.cast(b, arguments[0], signature.args[0], types.int64), _I32.as_pointer())
        index = context.cast(b, arguments[1], signature.args[1], types.int64)
        return b.zext(b.load(b.gep(pointer, [index])), _I64)

    return types.uint64(source, index), codegen


@intrinsic
def store_word(_context, target, index, word):
    """Write a uint64 to the word ``index`` of ``target``."""
    _check_memory(target, writable=True)

    def codegen(context, b, signature, arguments):
        pointer = pointer_to(context, b, arguments[0], signature.args[0])
        place = b.gep(pointer, [context.cast(b, arguments[1], signature.args[1], types.int64)])
        b.store(context.cast(b, arguments[2], signature.args[2], types.uint64), place)
        return context.get_dummy_value()

    return types.void(target, index, word), codegen


@intrinsic
def prefetch(_context, source, index):
    """Start to bring the word ``index`` of ``source`` near; an address outside of all memory is ignored."""
    _check_memory(source)

    def codegen(context, b, signature, arguments):
        pointer = pointer_to(context, b, arguments[0], signature.args[0])
        place = b.gep(pointer, [context.cast(b, arguments[1], signature.args[1], types.int64)])
        kind = ir.FunctionType(ir.VoidType(), [place.type, _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
        b.call(function, [place, _I32(0), _I32(3), _I32(1)])  # to read, into all caches, as data
        return context.get_dummy_value()

    return types.void(source, index), codegen


@intrinsic(prefer_literal=True)
def load_rows(_context, source, index, stride, count):
    """Return a tuple of ``count`` (literal) vectors: the k-th one is ``load(source, index + k * stride)``."""
    _check_memory(source)
    if not isinstance(count, types.IntegerLiteral):
        raise TypingError("the count of rows must be a literal")

    def codegen(context, b, signature, arguments):
        pointer = pointer_to(context, b, arguments[0], signature.args[0])
        index, stride = (context.cast(b, arguments[i], signature.args[i], types.int64) for i in (1, 2))
        rows = []
        for _ in range(count.literal_value):
            rows.append(b.load(_at(b, pointer, index), align=8))
            index = b.add(index, stride)
        return context.make_tuple(b, signature.return_type, rows)

    return types.UniTuple(vector, count.literal_value)(source, index, stride, count), codegen


@intrinsic
def store_rows(_context, target, index, stride, rows):
    """Store the k-th vector of the tuple ``rows`` at ``index + k * stride``."""
    _check_memory(target, writable=True)

    def codegen(context, b, signature, arguments):
        pointer = pointer_to(context, b, arguments[0], signature.args[0])
        index, stride = (context.cast(b, arguments[i], signature.args[i], types.int64) for i in (1, 2))
        for row in cgutils.unpack_tuple(b, arguments[3]):
            b.store(row, _at(b, pointer, index), align=8)
            index = b.add(index, stride)
        return context.get_dummy_value()

    return types.void(target, index, stride, rows), codegen


@intrinsic(prefer_literal=True)
def splat_rows(_context, source, index, stride, count):
    """Return a tuple of ``count`` (literal) vectors: the k-th one has the word ``index + k * stride`` in every lane."""
    _check_memory(source)
    if not isinstance(count, types.IntegerLiteral):
        raise TypingError("the count of rows must be a literal")

    def codegen(context, b, signature, arguments):
        pointer = pointer_to(context, b, arguments[0], signature.args[0])
        index, stride = (context.cast(b, arguments[i], signature.args[i], types.int64) for i in (1, 2))
        rows = []
        for _ in range(count.literal_value):
            rows.append(emit_splat(b, b.load(b.gep(pointer, [index]))))
            index = b.add(index, stride)
        return context.make_tuple(b, signature.return_type, rows)

    return types.UniTuple(vector, count.literal_value)(source, index, stride, count), codegen


def _lane_pointers(context: Any, b: Builder, memory: Value, kind: types.Type, indices: Value) -> Value:
    base = b.ptrtoint(pointer_to(context, b, memory, kind), _I64)
    addresses = b.add(emit_splat(b, base), b.shl(indices, constant(3)))
    return b.inttoptr(addresses, ir.VectorType(_I64.as_pointer(), WIDTH))


@intrinsic
def gather(_context, source, indices):
    """Lane i is the word ``indices[i]`` of ``source``."""
    _check_memory(source)

    def codegen(context, b, signature, arguments):
        pointers = _lane_pointers(context, b, arguments[0], signature.args[0], arguments[1])
        kind = ir.FunctionType(_VECTOR, [pointers.type, _I32, _MASK, _VECTOR])
        name = f"llvm.masked.gather.v{WIDTH}i64.v{WIDTH}p0"
        function = cgutils.get_or_insert_function(b.module, kind, name)
        operands = [pointers, ir.Constant(_I32, 8), ir.Constant(_MASK, [1] * WIDTH), ir.Constant(_VECTOR, ir.Undefined)]
        return b.call(function, operands)

    return vector(source, indices), codegen


@intrinsic
def scatter(_context, target, indices, x):
    """Write lane i of x to the word ``indices[i]`` of ``target``."""
    _check_memory(target, writable=True)

    def codegen(context, b, signature, arguments):
        pointers = _lane_pointers(context, b, arguments[0], signature.args[0], arguments[1])
        kind = ir.FunctionType(ir.VoidType(), [_VECTOR, pointers.type, _I32, _MASK])
        name = f"llvm.masked.scatter.v{WIDTH}i64.v{WIDTH}p0"
        function = cgutils.get_or_insert_function(b.module, kind, name)
        b.call(function, [arguments[2], pointers, ir.Constant(_I32, 8), ir.Constant(_MASK, [1] * WIDTH)])
        return context.get_dummy_value()

    return types.void(target, indices, x), codegen


# The base field.


@operation()
def canonical(b, x):
    """Return the representative of x below p."""
    return emit_canonical(b, x)


@operation()
def add(b, x, y):
    """x + y."""
    return emit_add(b, x, y)


@operation()
def add_canonical(b, x, y):
    """x + y for a canonical y; x may be any word, and so may the sum."""
    return emit_add_canonical(b, x, y)


@operation()
def sub_canonical(b, x, y):
    """x - y for a canonical y; x may be any word, and so may the difference."""
    return emit_sub_canonical(b, x, y)


@operation()
def mul(b, x, y):
    """x * y."""
    return emit_mul(b, x, y)


# The extension F[x] / (x^3 - x - 1).


def emit_ext_mul(b: Builder, x: Sequence[Value], y: Sequence[Value]) -> list[Value]:
    # x^3 = x + 1 and x^4 = x^2 + x; one product of each pair of coordinates serves both cross terms (Karatsuba).
    d0, d1, d2 = (emit_canonical(b, emit_mul(b, x[i], y[i])) for i in range(3))
    x0, x1, x2 = x
    y0, y1, y2 = (emit_canonical(b, v) for v in y)
    x1c, x2c = emit_canonical(b, x1), emit_canonical(b, x2)
    cross = []
    for (p, q), (r, s), (d, e) in (
        ((x0, x1c), (y0, y1), (d0, d1)),
        ((x0, x2c), (y0, y2), (d0, d2)),
        ((x1, x2c), (y1, y2), (d1, d2)),
    ):
        product = emit_mul(b, emit_add_canonical(b, p, q), emit_add_canonical(b, r, s))
        cross.append(emit_sub_canonical(b, emit_sub_canonical(b, product, d), e))
    e01, e02, e12 = cross
    c4 = d2
    c3 = emit_canonical(b, e12)
    return [
        emit_add_canonical(b, c3, d0),
        emit_add_canonical(b, emit_add_canonical(b, e01, c3), c4),
        emit_add_canonical(b, emit_add_canonical(b, e02, d1), c4),
    ]


@operation(results=3)
def ext_add(b, x, y):
    """x + y in the extension."""
    return [emit_add(b, *pair) for pair in zip(x, y, strict=True)]


@operation(results=3)
def ext_sub(b, x, y):
    """x - y in the extension."""
    return [emit_sub(b, *pair) for pair in zip(x, y, strict=True)]


@operation(results=3)
def ext_mul(b, x, y):
    """x * y in the extension."""
    return emit_ext_mul(b, x, y)


@operation(results=3)
def ext_scale(b, x, s):
    """Return the extension element x times the base element s."""
    return [emit_mul(b, coordinate, s) for coordinate in x]


@operation(results=3)
def ext_canonical(b, x):
    """Return the representatives below p of the three coordinates."""
    return [emit_canonical(b, coordinate) for coordinate in x]


# Bits and lanes.


@operation()
def splat(b, x):
    """x in every lane."""
    return x


@operation()
def iota(b):
    """0, 1, ... 7."""
    return ir.Constant(_VECTOR, list(range(WIDTH)))


@operation()
def xor(b, x, y):
    """x ^ y."""
    return b.xor(x, y)


@operation()
def bit_and(b, x, y):
    """x & y."""
    return b.and_(x, y)


@operation()
def wrapping_add(b, x, y):
    """x + y mod 2^64."""
    return b.add(x, y)


@operation()
def wrapping_mul(b, x, y):
    """x * y mod 2^64."""
    return b.mul(x, y)


def emit_rotate(b: Builder, x: Value, amount: int) -> Value:
    # A funnel shift becomes one vprolq on AVX-512.
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    function = cgutils.get_or_insert_function(b.module, kind, f"llvm.fshl.v{WIDTH}i64")
    return b.call(function, [x, x, constant(amount)]) if amount else x


def _by_literal(name: str, emit: Callable, doc: str) -> Any:
    def typing(_context, x, amount):
        if not isinstance(amount, types.IntegerLiteral) or not 0 <= amount.literal_value < 64:
            raise TypingError(f"{name} takes a vector and a literal from 0 to 63")

        def codegen(context, b, signature, arguments):
            return emit(b, arguments[0], amount.literal_value)

        return vector(x, amount), codegen

    typing.__name__ = typing.__qualname__ = name
    typing.__doc__ = doc
    return intrinsic(prefer_literal=True)(typing)


shift_left = _by_literal("shift_left", lambda b, x, k: b.shl(x, constant(k)), "x << k for a literal k.")
shift_right = _by_literal("shift_right", lambda b, x, k: b.lshr(x, constant(k)), "x >> k for a literal k.")


def _compare(operator: str, name: str, doc: str) -> Any:
    def typing(_context, x, y):
        def codegen(context, b, signature, arguments):
            x, y = (_as_operand(context, b, *pair) for pair in zip(arguments, signature.args, strict=True))
            return b.bitcast(b.icmp_unsigned(operator, x, y), _I8)

        return types.uint8(x, y), codegen

    typing.__name__ = typing.__qualname__ = name
    typing.__doc__ = doc
    return intrinsic(typing)


equal = _compare("==", "equal", "The bit mask (uint8) of the lanes in which the words x and y are the same 64 bits.")
less = _compare("<", "less", "The bit mask (uint8) of the lanes in which x < y as integers.")


@intrinsic
def select(_context, mask, x, y):
    """x in the lanes whose bit is set in ``mask`` (uint8), y in the others."""

    def codegen(context, b, signature, arguments):
        mask = b.bitcast(context.cast(b, arguments[0], signature.args[0], types.uint8), _MASK)
        x, y = (_as_operand(context, b, arguments[i], signature.args[i]) for i in (1, 2))
        return b.select(mask, x, y)

    return vector(mask, x, y), codegen


def emit_shuffle(b: Builder, x: Value, y: Value, lanes: Sequence[int]) -> Value:
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, WIDTH), list(lanes)))


def shuffle(*lanes: int) -> Any:
    """Return the intrinsic (x, y) -> vector whose lane i is lane ``lanes[i]`` of x followed by y; make it at module
    level.
    """

    @operation()
    def shuffled(b, x, y):
        return emit_shuffle(b, x, y, lanes)

    return shuffled


def emit_transpose(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """Vector i, lane j of eight vectors to vector j, lane i: three rounds that swap ever larger squares."""
    rows = list(rows)
    for size in (1, 2, 4):
        for i in (i for i in range(WIDTH) if not i & size):
            x, y = rows[i], rows[i + size]
            rows[i] = emit_shuffle(b, x, y, [j if not j & size else j - size + WIDTH for j in range(WIDTH)])
            rows[i + size] = emit_shuffle(b, x, y, [j + size if not j & size else j + WIDTH for j in range(WIDTH)])
    return rows


@operation(results=WIDTH)
def transpose(b, rows):
    """Eight vectors as an 8 x 8 matrix, transposed."""
    return emit_transpose(b, rows)


@operation(results=4)
def interleave(b, rows):
    """Four vectors as the 32 words rows[0][0], rows[1][0], rows[2][0], rows[3][0], rows[0][1], ... in order."""
    result = []
    for i in range(0, WIDTH, 2):
        pairs = [i, i + WIDTH, i + 1, i + 1 + WIDTH] * 2
        first, second = emit_shuffle(b, rows[0], rows[1], pairs), emit_shuffle(b, rows[2], rows[3], pairs)
        result.append(emit_shuffle(b, first, second, [0, 1, WIDTH, WIDTH + 1, 2, 3, WIDTH + 2, WIDTH + 3]))
    return result
