"""Number-theoretic transforms of many columns: between evaluations on cosets of two-adic subgroups and coefficients.

A polynomial of n = 2^L coefficients is reduced down a binary tree: the node of block b at a level holds it modulo
x^m - r, and its two children modulo x^(m/2) -/+ sqrt(r). One root serves a whole node, so that a step down the tree is
a butterfly with one broadcast twiddle, the leaves come out in bit-reversed order of the subgroup, and the subtree below
block t of level k is the evaluation on the t-th coset of a 2^k times larger subgroup: a low-degree extension is just
the same n coefficients sent down 2^k subtrees (the splitting of Cooley and Tukey in the ring's own terms; Bernstein,
"Multidigit multiplication for mathematicians", 2001). The inverse climbs the same tree.

Three levels at a time: with c the twiddle of the first grandchild, a node multiplies its eight parts by 1, c, ... c^7
and takes an 8-point transform, in which every root of unity is a power of two, since 2 has order 192 mod p. One table
of these powers by block, the same for all sizes (a longer one only continues it), of 7/8 n words is all a direction
needs. Eight rows are handled at a time in the lanes of one vector; the last three levels, in which a part is shorter
than a vector, handle eight nodes at a time, one per lane, after an 8 x 8 transposition. The tree is walked depth first,
so that every subtree that fits a cache stays in it until it is done, whatever the caches' sizes.
"""

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from graphprover import field
from graphprover.kernels.cpu import pages, simd
from graphprover.kernels.cpu.field import add, mul, power, reverse_bits
from graphprover.kernels.cpu.parallel import Threads, split_columns
from graphprover.kernels.operands import Unextended
from graphprover.runtime.numba_cache import njit

_LOG_LEAF = 6
_LEAF = 1 << _LOG_LEAF  # rows handled in registers at the bottom of the tree; smaller transforms run word by word
_ONE = np.uint64(1)


def _log2_of_power_of_two(root: int) -> int:
    """k with 2^k = root, which exists for every root of unity whose order divides 192."""
    return next(k for k in range(192) if pow(2, k, field.P) == root)


# Exponents of two of the twiddles of the first four nodes of a level: 1, w_4, w_8, w_4 w_8.
_QUARTER, _EIGHTH = (_log2_of_power_of_two(field.root_of_unity(log)) for log in (2, 3))
_NODE_EXPONENTS = (0, _QUARTER, _EIGHTH, _QUARTER + _EIGHTH)


def _signed_shift(b, x, y, exponent):
    """(x - y) * 2^exponent for canonical x and y."""
    if exponent >= 96:  # 2^96 = -1
        x, y, exponent = y, x, exponent - 96
    return simd.emit_mul_power_of_two(b, simd.emit_sub_canonical(b, x, y), exponent)


def _down(radix):
    """Return the operation (parts, powers) -> parts one to three levels down: ``powers`` holds c, c^2, ... c^(radix -
    1).
    """

    @simd.operation(results=radix)
    def down(b, parts, powers):
        parts = [parts[0], *(simd.emit_mul(b, *pair) for pair in zip(parts[1:], powers, strict=True))]
        half = radix // 2
        while half:
            for node in range(radix // (2 * half)):
                exponent = _NODE_EXPONENTS[node] % 192
                for i in range(2 * half * node, 2 * half * node + half):
                    x = parts[i]
                    y = simd.emit_canonical(b, simd.emit_mul_power_of_two(b, parts[i + half], exponent % 96))
                    total, difference = simd.emit_add_canonical(b, x, y), simd.emit_sub_canonical(b, x, y)
                    parts[i], parts[i + half] = (difference, total) if exponent >= 96 else (total, difference)
            half //= 2
        return parts

    return down


def _up(radix):
    """Return the operation (parts, factors) -> parts one to three levels up, multiplied by their factors at the end.

    With one factor less than parts the first is 1.
    """

    @simd.operation(results=radix)
    def up(b, parts, factors):
        parts = list(parts)
        half = 1
        while half < radix:
            for node in range(radix // (2 * half)):
                exponent = -_NODE_EXPONENTS[node] % 192
                for i in range(2 * half * node, 2 * half * node + half):
                    x, y = (simd.emit_canonical(b, parts[k]) for k in (i, i + half))
                    parts[i] = simd.emit_add_canonical(b, x, y)
                    parts[i + half] = _signed_shift(b, x, y, exponent)
            half *= 2
        first = radix - len(factors)
        return parts[:first] + [simd.emit_mul(b, *pair) for pair in zip(parts[first:], factors, strict=True)]

    return up


@simd.operation(results=7)
def _powers(b, c):
    """c, c^2, ... c^7."""
    result = [c]
    for k in range(2, 8):
        result.append(simd.emit_mul(b, result[k // 2 - 1], result[k - k // 2 - 1]))
    return result


_down_8, _up_8 = _down(8), _up(8)
_GROUP = 7 * simd.WIDTH  # words of the table for eight blocks: the first powers of their c, then the second, ...


@njit(nogil=True)
def _place(block):
    """Return the position of the first power of c of ``block`` in the table; the others follow, eight words apart."""
    return _GROUP * (block >> 3) + (block & 7)


def _make_step_down(radix):
    down = _down(radix)
    # A node that is split less than eight-fold takes the fourth or every second power.
    power_step, count = 8 // radix, radix - 1

    @njit(nogil=True, cache=True)
    def step_down(source, source_start, target, start, size, block, table):
        """One node of ``size`` rows, a multiple of 8 * radix, to its ``radix`` descendants."""
        stride = size // radix
        first_power = _place(block) + simd.WIDTH * (power_step - 1)
        factors = simd.splat_rows(table, first_power, simd.WIDTH * power_step, count)
        for j in range(0, stride, simd.WIDTH):
            parts = simd.load_rows(source, source_start + j, stride, radix)
            simd.store_rows(target, start + j, stride, down(parts, factors))

    return step_down


_step_down_2, _step_down_4, _step_down_8 = (_make_step_down(radix) for radix in (2, 4, 8))


@njit(nogil=True, cache=True)
def _odd_radix(log_size):
    """Return the radix of the one step at the root that makes the others eight-fold."""
    return 1 << (log_size % 3 if log_size % 3 else 3)


def _make_last_step_up(radix):
    up = _up(radix)

    @simd.operation(results=radix)
    def canonical_scale(b, parts, factor):
        return [simd.emit_canonical(b, simd.emit_mul(b, part, factor)) for part in parts]

    @njit(nogil=True, cache=True)
    def last_step_up(x, start, size, factors, shift):
        """Return the root of the tree from its ``radix`` descendants; factors[k, i] is for coefficient k size / radix +
        i.
        """
        stride = size // radix
        first_factors = simd.load_rows(factors, 0, simd.WIDTH, radix)
        step = simd.splat(power(shift, np.uint64(simd.WIDTH)))
        rising = simd.splat(_ONE)
        for j in range(0, stride, simd.WIDTH):
            parts = up(simd.load_rows(x, start + j, stride, radix), first_factors)
            simd.store_rows(x, start + j, stride, canonical_scale(parts, rising))
            rising = simd.mul(rising, step)

    return last_step_up


@njit(nogil=True, cache=True)
def _factors(log_size, scale, shift):
    """scale * shift^i for the first eight coefficients of each part in the last step up."""
    radix = _odd_radix(log_size)
    factors = np.empty((radix, simd.WIDTH), dtype=np.uint64)
    to_next_part = power(shift, np.uint64((1 << log_size) // radix))
    for k in range(radix):
        factor = scale
        for i in range(simd.WIDTH):
            factors[k, i] = factor
            factor = mul(factor, shift)
        scale = mul(scale, to_next_part)
    return factors


_last_step_up_2, _last_step_up_4, _last_step_up_8 = (_make_last_step_up(radix) for radix in (2, 4, 8))


@simd.operation(results=8)
def _canonical_8(b, parts):
    return [simd.emit_canonical(b, part) for part in parts]


@simd.operation(results=8)
def _bit_reversed_8(b, parts):
    return [parts[field.reverse_bits(k, 3)] for k in range(8)]


@njit(nogil=True, cache=True)
def _leaf(source, source_start, target, start, block, table):
    """Compute the last six levels below one node of 64 rows."""
    parts = simd.load_rows(source, source_start, simd.WIDTH, 8)
    parts = _down_8(parts, simd.splat_rows(table, _place(block), simd.WIDTH, 7))
    parts = _down_8(simd.transpose(parts), simd.load_rows(table, _GROUP * block, simd.WIDTH, 7))
    simd.store_rows(target, start, 8, simd.transpose(_canonical_8(parts)))


@njit(nogil=True, cache=True)
def _step_up(x, start, size, block, table):
    """One node of ``size`` rows, a multiple of 64, from its eight descendants."""
    stride = size // 8
    factors = simd.splat_rows(table, _place(block), simd.WIDTH, 7)
    for j in range(0, stride, simd.WIDTH):
        simd.store_rows(x, start + j, stride, _up_8(simd.load_rows(x, start + j, stride, 8), factors))


@njit(nogil=True, cache=True)
def _first_steps_up_natural(source, source_start, target, start, log_size, root):
    """Compute the lowest three levels from rows in natural order: rows j + k n/8 for all k belong to node rev(j)."""
    stride = 1 << (log_size - 3)
    step = simd.splat(power(root, np.uint64(simd.WIDTH)))
    lanes = np.empty(simd.WIDTH, dtype=np.uint64)
    for i in range(simd.WIDTH):
        lanes[i] = power(root, np.uint64(i))
    c = simd.load(lanes, 0)
    for j in range(0, stride, simd.WIDTH):
        parts = _bit_reversed_8(simd.load_rows(source, source_start + j, stride, 8))
        parts = simd.transpose(_up_8(parts, _powers(c)))
        place = start + 8 * reverse_bits(j >> 3, log_size - 6)
        simd.store_rows(target, place, stride, _bit_reversed_8(parts))
        c = simd.mul(c, step)


@njit(nogil=True, cache=True)
def _down_tree(source, source_start, target, start, log_size, block, table):
    """Coefficients at ``source`` to evaluations at ``target``: everything below block ``block`` of its level."""
    size = 1 << log_size
    radix = _odd_radix(log_size)
    inner = size // radix
    if size == _LEAF:
        _leaf(source, source_start, target, start, block, table)
        return
    if radix == 2:
        _step_down_2(source, source_start, target, start, size, block, table)
    elif radix == 4:
        _step_down_4(source, source_start, target, start, size, block, table)
    else:
        _step_down_8(source, source_start, target, start, size, block, table)
    first = block << log_size
    for position in range(0, size, _LEAF):
        node = _LEAF
        while node < inner and position & (8 * node - 1) == 0:
            node *= 8
        while node > _LEAF:
            here = start + position
            _step_down_8(target, here, target, here, node, (first + position) // node, table)
            node >>= 3
        _leaf(target, start + position, target, start + position, (first + position) // _LEAF, table)


@njit(nogil=True, cache=True)
def _up_tree(source, source_start, target, start, log_size, natural, root, table, factors, shift):
    """Transform evaluations on the subgroup at ``source`` to coefficients at ``target``, the i-th times scale *
    shift^i.
    """
    size = 1 << log_size
    if natural:
        _first_steps_up_natural(source, source_start, target, start, log_size, root)
    radix = _odd_radix(log_size)
    inner = size // radix
    for position in range(0, size, _LEAF):
        if not natural:
            parts = simd.transpose(simd.load_rows(source, source_start + position, 8, 8))
            parts = _up_8(parts, simd.load_rows(table, _GROUP * (position >> 6), simd.WIDTH, 7))
            simd.store_rows(target, start + position, 8, simd.transpose(parts))
        node = _LEAF
        end = position + _LEAF
        while node <= inner and end & (node - 1) == 0:
            _step_up(target, start + end - node, node, end // node - 1, table)
            node *= 8
    if radix == 2:
        _last_step_up_2(target, start, size, factors, shift)
    elif radix == 4:
        _last_step_up_4(target, start, size, factors, shift)
    else:
        _last_step_up_8(target, start, size, factors, shift)


@njit(nogil=True, cache=True)
def _evaluate_small(coefficients, size, target, start, log_order, root):
    """Horner's rule for ``size`` coefficients at root^rev(i), i < 2^log_order."""
    for i in range(1 << log_order):
        point = power(root, np.uint64(reverse_bits(i, log_order)))
        value = np.uint64(0)
        for k in range(size - 1, -1, -1):
            value = add(mul(value, point), coefficients[k])
        simd.store_word(target, start + i, value)


@njit(nogil=True, cache=True)
def _interpolate_small(source, start, coefficients, log_size, natural, root, scale, shift):
    """Coefficients as the sums that define them, the i-th times scale * shift^i; ``root`` is 1 / w_n."""
    size = 1 << log_size
    for i in range(size):
        step = power(root, np.uint64(i))
        factor = scale
        total = np.uint64(0)
        for k in range(size):
            row = k if natural else reverse_bits(k, log_size)
            total = add(total, mul(factor, simd.load_word(source, start + row)))
            factor = mul(factor, step)
        coefficients[i] = total
        scale = mul(scale, shift)


@njit(nogil=True, cache=True)
def _fill(table, twiddles):
    for i in range(0, len(twiddles), simd.WIDTH):
        simd.store_rows(table, 7 * i, simd.WIDTH, _powers(simd.load(twiddles, i)))


@cache
def _table(log_size, inverse):
    """Return the powers c, ... c^7 of every block whose level is split eight-fold in transforms of up to 2^log_size
    rows.

    uint64 of shape (blocks / 8, 7, 8). Bit i of a block's number stands for a factor of order 2^(i+4) in c, and for
    its inverse if ``inverse``.
    """
    twiddles = np.ones(max(1 << log_size >> 3, simd.WIDTH), dtype=np.uint64)
    for log in range(len(twiddles).bit_length() - 1):
        half = 1 << log
        root = field.root_of_unity(log + 4)
        factor = np.asarray(field.inv(root) if inverse else root, dtype=np.uint64)
        twiddles[half : 2 * half] = field.array_mul(twiddles[:half], factor)
    table = np.empty((len(twiddles) // simd.WIDTH, 7, simd.WIDTH), dtype=np.uint64)
    _fill(table, twiddles)
    return table


@njit(nogil=True, cache=True)
def _transform(source, target, log_size, log_blowup, up, down, natural, roots, tables, scale, shift, first, last):
    """Columns [first, last) up the tree and/or down again; ``source``, ``target`` and ``tables`` are addresses.

    One kernel for all transforms, and addresses instead of arrays, so that all of it is compiled once.
    """
    size = 1 << log_size
    factors = _factors(log_size, scale, shift)
    small = np.empty(_LEAF, dtype=np.uint64)
    for column in range(first, last):
        source_start, start = column << log_size, column << (log_size + log_blowup)
        if log_size < _LOG_LEAF:
            if up:
                _interpolate_small(source, source_start, small, log_size, natural, roots[1], scale, shift)
            else:
                for i in range(size):
                    small[i] = simd.load_word(source, source_start + i)
            if down:
                _evaluate_small(small, size, target, start, log_size + log_blowup, roots[0])
            else:
                for i in range(size):
                    simd.store_word(target, start + i, small[i])
        else:
            if up:
                _up_tree(source, source_start, target, start, log_size, natural, roots[1], tables[1], factors, shift)
            if down:
                # In between, the coefficients occupy the first block's target, so that block comes last.
                coefficients, place = (target, start) if up else (source, source_start)
                for block in range((1 << log_blowup) - 1, -1, -1):
                    _down_tree(coefficients, place, target, start + block * size, log_size, block, tables[0])


def _run(
    source: np.ndarray,
    target: np.ndarray,
    log_blowup: int,
    columns: tuple[int, int],
    up: bool = False,
    down: bool = False,
    natural: bool = False,
    shift: int = 1,
) -> None:
    log_size = _check(source, target, log_blowup, columns)
    log_order = log_size + log_blowup
    roots = (field.root_of_unity(log_order), field.inv(field.root_of_unity(log_size)))
    # Held here: when two threads miss the cache together, one of the two tables is kept there and the other is not.
    downward, upward = _table(log_order, False), _table(log_size, True)
    _transform(
        source.ctypes.data,
        target.ctypes.data,
        log_size,
        log_blowup,
        up,
        down,
        natural,
        (np.uint64(roots[0]), np.uint64(roots[1])),
        (downward.ctypes.data, upward.ctypes.data),
        np.uint64(field.inv(1 << log_size)),
        np.uint64(shift),
        *columns,
    )


def _check(source: np.ndarray, target: np.ndarray, log_blowup: int, columns: tuple[int, int]) -> int:
    """Check all requirements of the kernels on both arrays; return log2 of the source's rows."""
    for matrix in (source, target):
        if matrix.dtype != np.uint64 or matrix.ndim != 2 or not matrix.flags.c_contiguous:
            raise ValueError("a transform takes C-contiguous uint64 arrays of shape (columns, rows)")
    width, rows = source.shape
    if rows == 0 or rows & (rows - 1) or target.shape != (width, rows << log_blowup) or not target.flags.writeable:
        raise ValueError(f"no transform from {source.shape} to {target.shape} with {1 << log_blowup} times the rows")
    if not 0 <= columns[0] <= columns[1] <= width:
        raise ValueError(f"columns {columns} of {width}")
    return rows.bit_length() - 1


def ntt(source: np.ndarray, target: np.ndarray, first: int, last: int) -> None:
    """Coefficients in natural order to evaluations on the subgroup of order n in bit-reversed order.

    Both are C-contiguous uint64 arrays of shape (columns, n), n a power of two, and may be the same array; columns
    [first, last) are transformed and come out canonical. Raises ValueError for other arrays.
    """
    _run(source, target, 0, (first, last), down=True)


def inverse_ntt(source: np.ndarray, target: np.ndarray, first: int, last: int, shift: int = 1) -> None:
    """Transform evaluations on shift * (the subgroup of order n) in bit-reversed order to coefficients in natural
    order.

    Shapes and errors as in ``ntt``, whose inverse it is for shift 1; the arrays may be the same.
    """
    _run(source, target, 0, (first, last), up=True, shift=field.inv(shift))


def coset_lde(
    source: np.ndarray,
    target: np.ndarray,
    log_blowup: int,
    source_shift: int,
    target_shift: int,
    bit_reversed_source: bool,
    first: int,
    last: int,
) -> None:
    """Evaluate the polynomials of degree < n given on source_shift * H on target_shift * K, in bit-reversed order.

    H and K are the subgroups of order n and n << log_blowup. ``source`` has shape (columns, n) and is in natural or in
    bit-reversed order, ``target`` has shape (columns, n << log_blowup); both are C-contiguous uint64 arrays, distinct
    unless log_blowup is 0 and the source is bit-reversed. Columns [first, last) are written, canonical. The rows
    t n ... (t + 1) n - 1 of the target are the coset target_shift * w^rev(t) * H, w the generator of K. Raises
    ValueError for other arrays.
    """
    shift = target_shift * field.inv(source_shift) % field.P
    natural = not bit_reversed_source
    _run(source, target, log_blowup, (first, last), up=True, down=True, natural=natural, shift=shift)


def coset_ldes(
    threads: Threads,
    sources: Sequence[np.ndarray],
    log_chunks: Sequence[int],
    log_cosets: int,
    shift: int,
    bit_reversed_source: bool,
) -> list[np.ndarray]:
    """Return the polynomials given by evaluations, on 2^log_cosets times as many points.

    A source (columns, n c) holds for each column c = 2^log_chunks runs of n evaluations in bit-reversed order, run z
    on the coset h w^rev(z) H with w of order n c; or, without chunks, one of n in natural order on h H. The result,
    (columns c, n 2^log_cosets), has in row columns rev(z) + column that column's run z on the coset shift h K in
    bit-reversed order. Raises ValueError for other shapes.
    """
    return [
        _coset_lde_of_runs(threads, source, log, log_cosets, shift, bit_reversed_source)
        for source, log in zip(sources, log_chunks, strict=True)
    ]


def extended(threads: Threads, matrix: Unextended, columns: np.ndarray) -> np.ndarray:
    """Return the extension of some of a matrix's columns."""
    return coset_ldes(threads, [columns], [0], matrix.log_blowup, field.GENERATOR, bit_reversed_source=False)[0]


def _coset_lde_of_runs(
    threads: Threads, source: np.ndarray, log_chunks: int, log_cosets: int, shift: int, bit_reversed_source: bool
) -> np.ndarray:
    columns, rows = source.shape[0], source.shape[1] >> log_chunks
    if rows << log_chunks != source.shape[1] or (log_chunks and not bit_reversed_source):
        raise ValueError(f"no extension of {source.shape} from 2^{log_chunks} chunks to 2^{log_cosets} cosets")
    generator = field.root_of_unity(source.shape[1].bit_length() - 1)
    target = pages.empty((columns << log_chunks, rows << log_cosets))
    for run in range(1 << log_chunks):
        chunk = field.reverse_bits(run, log_chunks)
        values = np.ascontiguousarray(source[:, run * rows : (run + 1) * rows])
        extension = target[columns * chunk : columns * (chunk + 1)]
        source_shift = pow(generator, chunk, field.P)
        piece = partial(coset_lde, values, extension, log_cosets, source_shift, shift, bit_reversed_source)
        split_columns(threads, piece, columns, rows)
    return target
