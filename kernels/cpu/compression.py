"""BLAKE3's compression function on sixteen messages at a time, as operations for kernels.

In memory, 32-bit word i of a state or of a block is a vector of sixteen lanes, as long as eight 64-bit words; lane l
belongs to message l in the order of ``split``, which takes 64-bit words apart and which ``join`` undoes. A processor
without 512-bit registers compresses the lanes of one register after another, because one state fills its registers.

As with ``simd``, delete ``kernels/cpu/__pycache__`` after editing this file.
"""

from collections.abc import Callable, Sequence
from functools import cache
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
    if lanes == 8 and amount % 8 == 0:
        # AVX2 moves bytes for this rotation, which LLVM would do to both operands of the exclusive or that gave x.
        x = b.asm(ir.FunctionType(x.type, [x.type]), "", "=x,0", [x], False)
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


def _emit_compression(
    b: Builder, kind: Any, load: Callable[[int, int], Value], store: Callable[[int, Value], None], last: list[Value]
) -> None:
    """Compress with ``load(part, word)``, part 0 being the state and part 1 the block, and the state's last row."""
    v = [load(0, word) for word in range(8)]
    v += [ir.Constant(kind, [word] * kind.count) for word in IV[:4]] + last
    for order in SCHEDULE:
        words = [lambda word=word: load(1, word) for word in order]
        _emit_quarter_rounds(b, v, COLUMNS, words[:8])
        _emit_quarter_rounds(b, v, DIAGONALS, words[8:])
    for word in range(8):
        store(word, b.xor(v[word], v[word + 8]))


@intrinsic
def compress(_context, memory, target, state, block, counter, length, flags):
    """Write the chaining values after one more block, from and to places (numbers of words) of an array of uint64.

    The counter is below 2^32; it, the length of the block in bytes, and the flags are those of all lanes.
    """

    def codegen(context, b, signature, arguments):
        # Spills that cross a cache's line would halve the speed; inlined, the function would lose its alignment.
        b.function.attributes.alignstack = _VECTOR_BYTES
        b.function.attributes.add("noinline")
        pointer = b.ptrtoint(simd.pointer_to(context, b, arguments[0], signature.args[0]), _I64)
        numbers = [
            context.cast(b, value, kind, types.int64)
            for value, kind in zip(arguments[1:], signature.args[1:], strict=True)
        ]
        target, state, block = (b.add(pointer, b.shl(number, _I64(3))) for number in numbers[:3])
        counter, length, flags = (b.trunc(number, _I32) for number in numbers[3:])
        lanes = _register_lanes(*context.codegen().magic_tuple())
        kind = ir.VectorType(_I32, lanes)
        single = ir.Constant(kind, ir.Undefined)

        def splat(word):
            return b.shuffle_vector(b.insert_element(single, word, _I32(0)), single, ir.Constant(kind, None))

        with cgutils.for_range(b, _I64(LANES // lanes)) as loop:
            offset = b.mul(loop.index, _I64(4 * lanes))

            def at(base, word):
                address = b.add(b.add(base, offset), _I64(_VECTOR_BYTES * word))
                return b.inttoptr(address, kind.as_pointer())

            _emit_compression(
                b,
                kind,
                lambda part, word: b.load(at((state, block)[part], word), align=8),
                lambda word, x: b.store(x, at(target, word), align=8),
                [splat(counter), splat(_I32(0)), splat(length), splat(flags)],
            )
        return context.get_dummy_value()

    return types.void(memory, target, state, block, counter, length, flags), codegen


def _halves(b: Builder, *vectors: Value) -> list[Value]:
    return [b.bitcast(x, ir.VectorType(_I32, LANES)) for x in vectors]


def _shuffled(b: Builder, x: Value, y: Value, four: Sequence[int]) -> Value:
    """Return from each 128 bits of x and y the halves with these numbers, those of y from 4 on."""
    lanes = [first + (i if i < 4 else i - 4 + LANES) for first in range(0, LANES, 4) for i in four]
    return b.bitcast(b.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, LANES), lanes)), simd.constant(0).type)


@simd.operation(results=2)
def split(b, x, y):
    """Return the lower and the upper halves of sixteen words, each a vector of sixteen lanes."""
    x, y = _halves(b, x, y)
    return [_shuffled(b, x, y, (0, 2, 4, 6)), _shuffled(b, x, y, (1, 3, 5, 7))]


@simd.operation(results=2)
def join(b, low, high):
    """Return the words whose halves ``split`` gave."""
    low, high = _halves(b, low, high)
    return [_shuffled(b, low, high, (0, 4, 1, 5)), _shuffled(b, low, high, (2, 6, 3, 7))]


@simd.operation(results=8)
def initial_value(b):
    """Return the initial value as eight vectors of sixteen lanes."""
    return [simd.constant(word << 32 | word) for word in IV]
