"""Operations on eight words at a time against Python integers, at the words where carries occur and at random ones."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from graphprover.kernels.cpu import simd
from tests import naive
from tests.naive import EDGES, LOOSE_EDGES, P

words = st.sampled_from(LOOSE_EDGES) | st.integers(0, 2**64 - 1)
canonical_words = st.sampled_from(EDGES) | st.integers(0, P - 1)
many = settings(max_examples=50, deadline=None)


def lift(operation, operands, results=None):
    """Return the operation on vectors as a function of lists of integers of any length."""

    @njit
    def unary(x, target):
        for i in range(0, len(x), simd.WIDTH):
            simd.store(target, i, operation(simd.load(x, i)))

    @njit
    def binary(x, y, target):
        for i in range(0, len(x), simd.WIDTH):
            simd.store(target, i, operation(simd.load(x, i), simd.load(y, i)))

    @njit
    def extension(x, y, target):
        n = x.shape[1]
        for i in range(0, n, simd.WIDTH):
            product = operation(simd.load_rows(x, i, n, 3), simd.load_rows(y, i, n, 3))
            simd.store_rows(target, i, n, product)

    @njit
    def mixed(x, y, target):
        n = x.shape[1]
        for i in range(0, n, simd.WIDTH):
            simd.store_rows(target, i, n, operation(simd.load_rows(x, i, n, 3), simd.load(y, i)))

    kernel = {"x": unary, "xy": binary, "XY": extension, "Xy": mixed}[operands]

    def run(*lists):
        count = len(lists[0])
        arrays = []
        for values in lists:
            array = np.array(values, dtype=np.uint64).T
            padding = [(0, 0)] * (array.ndim - 1) + [(0, -count % simd.WIDTH)]
            arrays.append(np.ascontiguousarray(np.pad(array, padding)))
        target = np.zeros_like(arrays[0])
        kernel(*arrays, target)
        return target.T[:count].tolist()

    return run


@simd.operation()
def sub(b, x, y):
    return simd.emit_sub(b, x, y)


@simd.operation()
def rotate_13(b, x):
    return simd.emit_rotate(b, x, 13)


BINARY = {
    "add": (simd.add, lambda x, y: x + y),
    "sub": (sub, lambda x, y: x - y),
    "mul": (simd.mul, lambda x, y: x * y),
}
SECOND_CANONICAL = {
    "add_canonical": (simd.add_canonical, lambda x, y: x + y),
    "sub_canonical": (simd.sub_canonical, lambda x, y: x - y),
}


@pytest.mark.parametrize("name", BINARY | SECOND_CANONICAL)
def test_field_operations_mean_what_integers_mean(name):
    operation, meaning = (BINARY | SECOND_CANONICAL)[name]
    run = lift(operation, "xy")
    second = EDGES if name in SECOND_CANONICAL else LOOSE_EDGES

    def check(pairs):
        xs, ys = zip(*pairs, strict=True)
        for (x, y), z in zip(pairs, run(xs, ys), strict=True):
            assert z % P == meaning(x, y) % P, (x, y)

    check(list(itertools.product(LOOSE_EDGES, second)))
    others = canonical_words if name in SECOND_CANONICAL else words
    many(given(st.lists(st.tuples(words, others), min_size=1, max_size=40))(check))()


def test_canonical_is_the_representative_below_p():
    run = lift(simd.canonical, "x")
    assert run(LOOSE_EDGES) == [x % P for x in LOOSE_EDGES]


@pytest.mark.parametrize("exponent", [0, 1, 24, 31, 32, 33, 48, 63, 64, 65, 72, 95])
def test_products_by_powers_of_two(exponent):
    @simd.operation()
    def shifted(b, x):
        return simd.emit_mul_power_of_two(b, x, exponent)

    for x, z in zip(LOOSE_EDGES, lift(shifted, "x")(LOOSE_EDGES), strict=True):
        assert z % P == x * 2**exponent % P


elements = st.tuples(words, words, words)


@pytest.mark.parametrize("name", ["ext_add", "ext_sub", "ext_mul"])
def test_extension(name):
    run = lift(getattr(simd, name), "XY")
    meaning = getattr(naive, name)

    def check(pairs):
        xs, ys = zip(*pairs, strict=True)
        for x, y, z in zip(xs, ys, run(xs, ys), strict=True):
            assert tuple(c % P for c in z) == meaning(x, y), (x, y)

    corners = list(itertools.product([0, P - 1, 2**32, 2**64 - 1], repeat=3))
    check([(x, y) for x in corners for y in corners])
    many(given(st.lists(st.tuples(elements, elements), min_size=1, max_size=20))(check))()


def test_extension_times_base():
    run = lift(simd.ext_scale, "Xy")
    xs = [(a, b, c) for a, b, c in zip(LOOSE_EDGES, LOOSE_EDGES[1:], LOOSE_EDGES[2:], strict=False)]
    scales = LOOSE_EDGES[-len(xs) :]
    for x, s, z in zip(xs, scales, run(xs, scales), strict=True):
        assert tuple(c % P for c in z) == naive.ext_mul(x, (s, 0, 0))


def test_bits():
    @njit
    def kernel(x, y, target):
        a, b = simd.load(x, 0), simd.load(y, 0)
        simd.store(target, 0, simd.xor(a, b))
        simd.store(target, 8, simd.bit_and(a, b))
        simd.store(target, 16, rotate_13(a))
        simd.store(target, 24, simd.shift_left(a, 13))
        simd.store(target, 32, simd.shift_right(a, 13))
        simd.store(target, 40, simd.wrapping_add(a, b))
        simd.store(target, 48, simd.wrapping_mul(a, b))

    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 2**64, (2, 8), dtype=np.uint64)
    target = np.zeros((7, 8), dtype=np.uint64)
    kernel(x, y, target)
    mask = 2**64 - 1
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        rotated = (a << 13 | a >> 51) & mask
        expected = [a ^ b, a & b, rotated, a << 13 & mask, a >> 13, a + b & mask, a * b & mask]
        assert target[:, i].tolist() == expected


def test_lanes_and_memory():
    swap = simd.shuffle(15, 14, 13, 12, 3, 2, 1, 0)

    @njit
    def kernel(x, places, target):
        a, b = simd.load(x, 0), simd.load(x, 8)
        simd.store(target, 0, swap(a, b))
        simd.store(target, 8, simd.select(simd.less(a, b), a, b))
        simd.store(target, 16, simd.gather(x, simd.load(places, 0)))
        simd.scatter(target, simd.wrapping_add(simd.load(places, 0), 24), a)
        simd.store_rows(target, 88, 8, simd.transpose(simd.load_rows(x, 0, 8, 8)))
        simd.store_rows(target, 152, 8, simd.interleave(simd.load_rows(x, 0, 8, 4)))
        simd.store(target, 184, simd.wrapping_add(simd.iota(), a))
        simd.store_word(target, 192, simd.load_word(x, 5))
        return simd.equal(a, simd.splat(x[2])), simd.less(a, 2**63)

    x = np.random.default_rng(2).integers(0, 2**64, 64, dtype=np.uint64)
    places = np.array([60, 3, 7, 0, 11, 42, 5, 63], dtype=np.uint64)
    target = np.zeros(193, dtype=np.uint64)
    equal, less = kernel(x, places, target)
    assert target[0:8].tolist() == [*x[8:16][::-1][:4], *x[:4][::-1]]
    assert target[8:16].tolist() == np.minimum(x[:8], x[8:16]).tolist()
    assert target[16:24].tolist() == x[places].tolist()
    assert target[24 + places].tolist() == x[:8].tolist()
    assert target[88:152].reshape(8, 8).tolist() == x.reshape(8, 8).T.tolist()
    assert target[152:184].reshape(8, 4).tolist() == x[:32].reshape(4, 8).T.tolist()
    assert target[184:192].tolist() == (x[:8] + np.arange(8, dtype=np.uint64)).tolist()
    assert target[192] == x[5]
    assert equal == 1 << 2
    assert less == sum(1 << i for i in range(8) if x[i] < 2**63)


def test_a_function_with_an_aligned_stack_is_not_inlined():
    @njit
    def double(x):
        simd.align_stack()
        return 2 * x

    @njit
    def caller(x):
        return double(x) + 1

    assert caller(3) == 7
    (llvm,) = caller.inspect_llvm().values()
    assert "alignstack(64)" in llvm or "alignstack=64" in llvm


def test_memory_of_another_type_is_refused():
    @njit
    def kernel(x):
        return simd.less(simd.load(x, 0), 1)

    for wrong in (np.zeros(8), np.zeros(8, dtype=np.int64), np.zeros(16, dtype=np.uint64)[::2]):
        with pytest.raises(TypingError, match="memory is"):
            kernel(wrong)

    @njit
    def write(x):
        simd.store(x, 0, 1)

    constant = np.zeros(8, dtype=np.uint64)
    constant.flags.writeable = False
    with pytest.raises(TypingError, match="read-only"):
        write(constant)


@pytest.mark.skipif("NUMBA_CPU_NAME" in os.environ, reason="this is the run for another processor")
@pytest.mark.parametrize(
    ("processor", "names"),
    [
        pytest.param("haswell", ("simd", "keccak", "blake3", "hashes", "ntt"), marks=pytest.mark.slow),
        pytest.param("x86-64", ("simd", "keccak", "blake3", "hashes"), marks=pytest.mark.slow),
        ("x86-64", ("keccak", "blake3")),
    ],
)
def test_processors_without_wide_registers(processor, names):
    """The same tests, compiled for 256-bit and for 128-bit registers."""
    root = Path(__file__).parents[2]
    files = [f"tests/kernels/test_{name}.py" for name in names]
    arguments = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    environment = {**os.environ, "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    run = subprocess.run([sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
