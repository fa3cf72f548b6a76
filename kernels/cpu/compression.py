"""BLAKE3's compression function on sixteen messages at a time, as operations for kernels.

In memory, 32-bit word i of a state or of a block is a vector of sixteen lanes, as long as eight 64-bit words; lane l
belongs to message l in the order of ``split``, which takes 64-bit words apart and which ``join`` undoes. A processor
without 512-bit registers compresses the lanes of one register after another, because one state fills its registers.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils

from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.simd import Builder, Value
from graphprover.protocol.blake3 import COLUMNS, DIAGONALS, IV, SCHEDULE
from graphprover.runtime.numba_cache import intrinsic

LANES = 16  # messages
STATE_ROOM = 8 * simd.WIDTH  # 64-bit words of memory of a chaining value
BLOCK_ROOM = 16 * simd.WIDTH  # 64-bit words of memory of a block

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_VECTOR_BYTES = 4 * LANES


@cache
def _register_lanes(triple: str, processor: str, features: str) -> int:
    """Return the 32-bit lanes of the registers in which LLVM adds sixteen lanes on this processor."""
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, features=features)
    vector = ir.VectorType(_I32, LANES)
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(vector, [vector, vector]), "add")
    b = ir.IRBuilder(function.append_basic_block())
    b.ret(b.add(*function.args))
    text = machine.emit_assembly(llvm.parse_assembly(str(module)))
    return 16 if "zmm" in text else 8 if "ymm" in text else 4


def _emit_rotate_right(b: Builder, x: Value, amount: int) -> Value:
    lanes = x.type.count
    kind = ir.FunctionType(x.type, [x.type] * 3)
    function = cgutils.get_or_insert_function(b.module, kind, f"llvm.fshr.v{lanes}i32")
    return b.call(function, [x, x, ir.Constant(x.type, [amount] * lanes)])


def _emit_quarter_rounds(
    b: Builder, v: list[Value], places: Sequence[tuple[int, int, int, int]], words: Sequence[Callable[[], Value]]
) -> None:
    """Apply four independent quarter-rounds G in step to a state, each to four places and with two message words."""
    for half, (first, second) in enumerate(((16, 12), (8, 7))):
        for (x, y, _, _), word in zip(places, words[half::2], strict=True):
            v[x] = b.add(b.add(v[x], word()), v[y])
        for x, _, _, w in places:
            v[w] = _emit_rotate_right(b, b.xor(v[w], v[x]), first)
        for _, _, z, w in places:
            v[z] = b.add(v[z], v[w])
        for _, y, z, _ in places:
            v[y] = _emit_rotate_right(b, b.xor(v[y], v[z]), second)


def _emit_round(b: Builder, v: list[Value], words: Sequence[Callable[[], Value]]) -> None:
    _emit_quarter_rounds(b, v, COLUMNS, words[:8])
    _emit_quarter_rounds(b, v, DIAGONALS, words[8:])


def _emit_rounds(b: Builder, v: list[Value], load: Callable[[Value], Value]) -> list[Value]:
    """Return the state after all rounds; ``load`` gives the message word at a number of bytes of the block."""
    if v[0].type.count == LANES:  # all message words stay in registers
        for order in SCHEDULE:
            _emit_round(b, v, [partial(load, _I64(_VECTOR_BYTES * word)) for word in order])
        return v
    # The instructions of all rounds would fill the processor's cache of decoded ones, so that all others missed it.
    table, before = _schedule(b), b.block
    loop, end = b.append_basic_block("round"), b.append_basic_block("after_rounds")
    b.branch(loop)
    b.position_at_end(loop)
    first, state = b.phi(_I64), [b.phi(x.type) for x in v]
    after = list(state)
    places = [b.load(b.gep(table, [_I32(0), b.add(first, _I64(i))])) for i in range(16)]
    _emit_round(b, after, [partial(load, place) for place in places])
    following = b.add(first, _I64(16))
    for phi, start, value in zip([first, *state], [_I64(0), *v], [following, *after], strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(value, loop)
    b.cbranch(b.icmp_unsigned("<", following, _I64(16 * len(SCHEDULE))), loop, end)
    b.position_at_end(end)
    return after


def _schedule(b: Builder) -> Value:
    """Return the places in a block, in bytes, of the words in the order in which all rounds take them."""
    name = "graphprover_blake3_schedule"
    table = b.module.globals.get(name)
    if table is None:
        places = [_VECTOR_BYTES * word for order in SCHEDULE for word in order]
        table = ir.GlobalVariable(b.module, ir.ArrayType(_I64, len(places)), name)
        table.initializer = ir.Constant(table.value_type, places)
        table.linkage, table.global_constant = "linkonce_odr", True
    return table


def _numbers(context: Any, b: Builder, arguments: Sequence[Value], kinds: Sequence[types.Type]) -> list[Value]:
    return [context.cast(b, value, kind, types.int64) for value, kind in zip(arguments, kinds, strict=True)]


def _pointer(b: Builder, address: Value, offset: int, kind: Any) -> Value:
    return b.inttoptr(b.add(address, _I64(offset)), kind.as_pointer())


@intrinsic
def compress(_context, memory, target, state, block, counter, length, flags):
    """Write the chaining values after one more block; places are numbers of 64-bit words behind an address.

    Args:
        memory: An address.
        target: The place of the new values.
        state: The place of the values before.
        block: The place of the block.
        counter: The number of the chunk, below 2^32; 0 for a parent.
        length: The bytes of the block that belong to the message.
        flags: The flags. All lanes have the same counter, length and flags.
    """

    def codegen(context, b, signature, arguments):
        memory, *numbers = _numbers(context, b, arguments, signature.args)
        target, state, block = (b.add(memory, b.shl(number, _I64(3))) for number in numbers[:3])
        counter, length, flags = (b.trunc(number, _I32) for number in numbers[3:])
        lanes = _register_lanes(*context.codegen().magic_tuple())
        kind = ir.VectorType(_I32, lanes)
        single = ir.Constant(kind, ir.Undefined)

        def splat(word):
            return b.shuffle_vector(b.insert_element(single, word, _I32(0)), single, ir.Constant(kind, None))

        with cgutils.for_range(b, _I64(LANES // lanes)) as loop:
            offset = b.mul(loop.index, _I64(4 * lanes))

            def at(base, place):
                return b.inttoptr(b.add(b.add(base, offset), place), kind.as_pointer())

            words = [_I64(_VECTOR_BYTES * word) for word in range(8)]
            v = [b.load(at(state, word), align=8) for word in words]
            v += [ir.Constant(kind, [word] * lanes) for word in IV[:4]]
            v += [splat(word) for word in (counter, _I32(0), length, flags)]
            v = _emit_rounds(b, v, lambda place: b.load(at(block, place), align=8))
            for i, word in enumerate(words):
                b.store(b.xor(v[i], v[i + 8]), at(target, word), align=8)
        return context.get_dummy_value()

    return types.void(memory, target, state, block, counter, length, flags), codegen


def _halves(b: Builder, *vectors: Value) -> list[Value]:
    return [b.bitcast(x, ir.VectorType(_I32, LANES)) for x in vectors]


def _words(b: Builder, vectors: Sequence[Value]) -> list[Value]:
    return [b.bitcast(x, simd.constant(0).type) for x in vectors]


def _pick(b: Builder, x: Value, y: Value, four: Sequence[int]) -> Value:
    """Return four halves from each 128 bits of x and y, numbered from 0 in x and from 4 in y."""
    lanes = [first + (i if i < 4 else i - 4 + LANES) for first in range(0, LANES, 4) for i in four]
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, LANES), lanes))


@simd.operation(results=2)
def split(b, x, y):
    """Return the lower and the upper halves of sixteen words, each a vector of sixteen lanes."""
    x, y = _halves(b, x, y)
    return _words(b, [_pick(b, x, y, (0, 2, 4, 6)), _pick(b, x, y, (1, 3, 5, 7))])


@simd.operation(results=2)
def join(b, low, high):
    """Return the words whose halves ``split`` gave."""
    low, high = _halves(b, low, high)
    return _words(b, [_pick(b, low, high, (0, 4, 1, 5)), _pick(b, low, high, (2, 6, 3, 7))])


def _row(group: int, i: int) -> int:
    """Return the message in lane ``4 group + i`` after ``split``."""
    return 2 * group + i if i < 2 else LANES // 2 + 2 * group + i - 2


def _emit_transpose(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """Return the 4 x 4 halves in each 128 bits of four vectors, transposed."""
    low, high = (0, 4, 1, 5), (2, 6, 3, 7)
    x, y, z, w = (_pick(b, rows[i], rows[i + 1], four) for i in (0, 2) for four in (low, high))
    return [_pick(b, *pair, four) for pair in ((x, z), (y, w)) for four in ((0, 1, 4, 5), (2, 3, 6, 7))]


def _emit_concatenation(b: Builder, vectors: Sequence[Value]) -> Value:
    """Return one vector of the lanes of a power of two of vectors."""
    while len(vectors) > 1:
        lanes = ir.Constant(ir.VectorType(_I32, 2 * vectors[0].type.count), list(range(2 * vectors[0].type.count)))
        vectors = [b.shuffle_vector(*vectors[i : i + 2], lanes) for i in range(0, len(vectors), 2)]
    return vectors[0]


@intrinsic
def load_block(_context, address, stride):
    """Return the block of the eight adjacent words at an address, and of the messages ``stride`` bytes apart behind."""
    quarter = ir.VectorType(_I32, 4)

    def codegen(context, b, signature, arguments):
        address, stride = _numbers(context, b, arguments, signature.args)
        rows = [b.add(address, b.mul(stride, _I64(row))) for row in range(LANES)]
        halves = []
        for piece in range(4):
            parts = [
                [b.load(_pointer(b, rows[_row(group, i)], 16 * piece, quarter), align=8) for group in range(4)]
                for i in range(4)
            ]
            halves += _emit_transpose(b, [_emit_concatenation(b, part) for part in parts])
        return context.make_tuple(b, signature.return_type, _words(b, halves))

    return types.UniTuple(simd.vector, 16)(address, stride), codegen


@intrinsic
def store_values(_context, address, values):
    """Write the eight words of sixteen chaining values in a row each, 32 bytes apart, to an address."""

    def codegen(context, b, signature, arguments):
        (address,) = _numbers(context, b, arguments[:1], signature.args[:1])
        halves = _halves(b, *cgutils.unpack_tuple(b, arguments[1]))
        pieces = [_emit_transpose(b, halves[i : i + 4]) for i in (0, 4)]
        row = ir.VectorType(_I32, 8)
        for group in range(4):
            lanes = ir.Constant(row, [half * LANES + 4 * group + i for half in range(2) for i in range(4)])
            for i in range(4):
                value = b.shuffle_vector(pieces[0][i], pieces[1][i], lanes)
                b.store(value, _pointer(b, address, 32 * _row(group, i), row), align=8)
        return context.get_dummy_value()

    return types.void(address, values), codegen


@simd.operation(results=8)
def initial_value(b):
    """Return the initial value as eight vectors of sixteen lanes."""
    return [simd.constant(word << 32 | word) for word in IV]
