"""The interpreter of a table's bytecode (``graphprover.air.bytecode``) over blocks of rows.

One interpreter serves all tables. It decodes an instruction once for each block and runs it as a loop of explicit
vectors over the block's rows, so decoding is cheap and no table needs its own compilation. A plane is an address:
inputs and outputs are used in place, and only registers are copies, which stay in the innermost caches.

The next row. On a trace it is the row below, cyclically. On the quotient domain, c blocks of n rows in bit-reversed
order, it is row rev(rev(s) + 1 mod n) of the same block. There an aligned run of B rows, number q of its block, has
rev(s) = rev(offset) n/B + rev(q): the next rows are again a run, number rev(rev(q) + 1), in the same order, except for
the last q, whose next rows are a permutation of run 0 and are gathered.
"""

from collections.abc import Sequence

import numpy as np

from graphprover.air.bytecode import Bytecode, Opcode, Source
from graphprover.kernels.cpu import simd, sums
from graphprover.kernels.cpu.field import reverse_bits
from graphprover.runtime.numba_cache import njit

BLOCK = 256  # rows: a plane of 2 KiB, so that some twenty registers fit the innermost data cache

_ADD, _SUB, _MUL, _SCALE = int(Opcode.ADD), int(Opcode.SUB), int(Opcode.MUL), int(Opcode.SCALE)
_SUB_BASE, _EXT_MUL, _LINEAR = int(Opcode.SUB_BASE), int(Opcode.EXT_MUL), int(Opcode.LINEAR)
_WORD = 8  # bytes


@njit(nogil=True, cache=True)
def _add(d, a, stride_a, b, stride_b, rows):
    for i in range(0, rows, simd.WIDTH):
        x, y = simd.load(a, i * stride_a), simd.load(b, i * stride_b)
        simd.store(d, i, simd.canonical(simd.add_canonical(x, y)))


@njit(nogil=True, cache=True)
def _sub(d, a, stride_a, b, stride_b, rows):
    for i in range(0, rows, simd.WIDTH):
        x, y = simd.load(a, i * stride_a), simd.load(b, i * stride_b)
        simd.store(d, i, simd.canonical(simd.sub_canonical(x, y)))


@njit(nogil=True, cache=True)
def _mul(d, a, stride_a, b, stride_b, rows):
    for i in range(0, rows, simd.WIDTH):
        x, y = simd.load(a, i * stride_a), simd.load(b, i * stride_b)
        simd.store(d, i, simd.canonical(simd.mul(x, y)))


@njit(nogil=True, cache=True)
def _scale(d, a, stride_a, b, stride_b, rows):
    for i in range(0, rows, simd.WIDTH):
        x, j = simd.load(b, i * stride_b), i * stride_a
        y = (simd.load(a[0], j), simd.load(a[1], j), simd.load(a[2], j))
        u, v, w = simd.ext_canonical(simd.ext_scale(y, x))
        simd.store(d[0], i, u)
        simd.store(d[1], i, v)
        simd.store(d[2], i, w)


@njit(nogil=True, cache=True)
def _ext_mul(d, a, stride_a, b, stride_b, rows):
    for i in range(0, rows, simd.WIDTH):
        j, k = i * stride_a, i * stride_b
        x = (simd.load(a[0], j), simd.load(a[1], j), simd.load(a[2], j))
        y = (simd.load(b[0], k), simd.load(b[1], k), simd.load(b[2], k))
        u, v, w = simd.ext_canonical(simd.ext_mul(x, y))
        simd.store(d[0], i, u)
        simd.store(d[1], i, v)
        simd.store(d[2], i, w)


@njit(nogil=True, cache=True)
def _linear(d, a, stride_a, terms, address, stride, weights, rows):
    for i in range(0, rows, simd.WIDTH):
        sum_ = sums.zero()
        for t in range(len(terms)):
            plane = terms[t, 0]
            x = simd.load(address[plane], i * stride[plane])
            sum_ = sums.accumulate(sum_, x, sums.broadcast(weights, sums.LIMBS * terms[t, 1], 6))
        x = simd.load(a, i * stride_a)
        simd.store(d, i, simd.canonical(simd.add_canonical(sums.total(sum_), x)))


@njit(nogil=True, cache=True)
def _ext_linear(d, a, stride_a, terms, address, stride, weights, rows):
    for i in range(0, rows, simd.WIDTH):
        sum_ = sums.ext_zero()
        for t in range(len(terms)):
            plane = terms[t, 0]
            x = simd.load(address[plane], i * stride[plane])
            sum_ = sums.ext_accumulate(sum_, x, sums.broadcast(weights, sums.LIMBS * terms[t, 1], 18))
        u, v, w = sums.ext_total(sum_)
        j = i * stride_a
        simd.store(d[0], i, simd.canonical(simd.add_canonical(u, simd.load(a[0], j))))
        simd.store(d[1], i, simd.canonical(simd.add_canonical(v, simd.load(a[1], j))))
        simd.store(d[2], i, simd.canonical(simd.add_canonical(w, simd.load(a[2], j))))


@njit(nogil=True, cache=True)
def _three(address, plane):
    return address[plane], address[plane + 1], address[plane + 2]


@njit(nogil=True, cache=True)
def _execute(instructions, terms, address, stride, weights, rows):
    """Run all instructions over one block; ``address`` and ``stride`` (0 for a constant) locate each plane."""
    for k in range(len(instructions)):
        op, width, d, a, b, count = instructions[k]
        if op == _LINEAR:
            some = terms[b : b + count]
            if width == 3:
                d3, a3 = _three(address, d), _three(address, a)
                _ext_linear(d3, a3, stride[a], some, address, stride, weights, rows)
            else:
                _linear(address[d], address[a], stride[a], some, address, stride, weights, rows)
        elif op == _MUL:
            _mul(address[d], address[a], stride[a], address[b], stride[b], rows)
        elif op == _ADD:
            for i in range(width):
                _add(address[d + i], address[a + i], stride[a], address[b + i], stride[b], rows)
        elif op == _SUB:
            for i in range(width):
                _sub(address[d + i], address[a + i], stride[a], address[b + i], stride[b], rows)
        elif op == _EXT_MUL:
            _ext_mul(_three(address, d), _three(address, a), stride[a], _three(address, b), stride[b], rows)
        elif op == _SCALE:
            _scale(_three(address, d), _three(address, a), stride[a], address[b], stride[b], rows)
        elif op == _SUB_BASE:
            _sub(address[d], address[a], stride[a], address[b], stride[b], rows)
            for i in range(1, 3):
                if address[d + i] != address[a + i]:
                    for j in range(0, rows, simd.WIDTH):
                        simd.store(address[d + i], j, simd.load(address[a + i], j * stride[a]))


@njit(nogil=True, cache=True)
def _next_row(row, log_rows, bit_reversed):
    """Return the row after ``row`` on blocks of 2^log_rows rows."""
    mask = (1 << log_rows) - 1
    if not bit_reversed:
        return (row + 1) & mask
    natural = reverse_bits(row & mask, log_rows)
    return row & ~mask | reverse_bits((natural + 1) & mask, log_rows)


@njit(nogil=True, cache=True)
def _next_run(row, rows, log_rows, bit_reversed, block):
    """Return the position of the run after the run of ``rows`` rows at ``row``; -1 if its order differs."""
    size = 1 << log_rows
    if not bit_reversed:
        return row + 1 if row + rows < size else -1
    if rows != block or row % block:
        return -1
    runs = size // block
    bits = 0
    while 1 << bits < runs:
        bits += 1
    natural = reverse_bits(row % size // block, bits) + 1
    return row - row % size + reverse_bits(natural, bits) * block if natural < runs else -1


@njit(nogil=True, cache=True)
def _run(instructions, terms, words, sources, shifted, targets, offset, registers, log_rows, bit_reversed, first, last):
    """Run the blocks of rows; ``sources``: addresses of each input's row 0; ``targets``: of each output's row
    ``offset``.
    """
    block = min(BLOCK, max(1 << log_rows, simd.WIDTH))
    inputs, outputs, constants = len(sources), len(targets), len(words)
    planes = constants + inputs + outputs + registers

    weights = np.empty((constants, sums.LIMBS), dtype=np.uint64)
    sums.limbs(words, weights)
    # One allocation, which ``copies`` keeps alive: copies of inputs and outputs, registers, constants in every lane.
    size = (inputs + outputs + registers) * block + constants * simd.WIDTH
    scratch = np.empty(size + simd.WIDTH, dtype=np.uint64)
    skipped = -(scratch.ctypes.data // _WORD) % simd.WIDTH  # to the next multiple of a vector's size
    base = scratch.ctypes.data + skipped * _WORD
    copies = scratch[skipped : skipped + (inputs + outputs) * block].reshape(inputs + outputs, block)
    address = np.empty(planes, dtype=np.int64)
    stride = np.ones(planes, dtype=np.int64)
    for k in range(registers):
        address[constants + inputs + outputs + k] = base + (inputs + outputs + k) * block * _WORD
    for k in range(constants):
        address[k] = base + ((inputs + outputs + registers) * block + k * simd.WIDTH) * _WORD
        stride[k] = 0
        simd.store(address[k], 0, simd.splat(words[k]))
    following = np.empty(block, dtype=np.int64)

    row = first
    while row < last:
        rows = min(block - row % block, last - row)
        whole = rows % simd.WIDTH == 0  # otherwise vectors would reach beyond the rows, and all is staged
        run = _next_run(row, rows, log_rows, bit_reversed, block)
        if run < 0:
            for i in range(rows):
                following[i] = _next_row(row + i, log_rows, bit_reversed)
        for k in range(inputs):
            start = run if shifted[k] else row
            if start >= 0 and whole:
                address[constants + k] = sources[k] + start * _WORD
                continue
            address[constants + k] = base + k * block * _WORD
            for i in range(rows):
                source = row + i if not shifted[k] else start + i if start >= 0 else following[i]
                copies[k, i] = simd.load_word(sources[k], source)
        for k in range(outputs):
            if whole:
                address[constants + inputs + k] = targets[k] + (row - offset) * _WORD
            else:
                address[constants + inputs + k] = base + (inputs + k) * block * _WORD
        padded = (rows + simd.WIDTH - 1) // simd.WIDTH * simd.WIDTH
        _execute(instructions, terms, address, stride, weights, padded)
        if not whole:
            for k in range(outputs):
                for i in range(rows):
                    simd.store_word(targets[k], row - offset + i, copies[inputs + k, i])
        row += rows


def evaluate(
    bytecode: Bytecode,
    constants: np.ndarray,
    matrices: Sequence[np.ndarray | None],
    targets: Sequence[np.ndarray],
    log_rows: int,
    bit_reversed: bool,
    first: int,
    last: int,
    offset: int = 0,
) -> None:
    """Run bytecode on rows [first, last) and write its output planes.

    Rows are in natural order, 2^log_rows of them cyclically, or with ``bit_reversed`` in blocks of 2^log_rows rows of a
    bit-reversed coset: the quotient domain is one block for each chunk, a prefix of a low-degree extension.

    ``constants`` fills the bytecode's constant planes (``graphprover.air.bytecode.constants``). ``matrices`` are in the
    order of ``Source``: C-contiguous uint64 of shape (planes, rows), canonical; None if the bytecode does not read it.
    ``targets`` hold the output planes in order, as the rows of one or more C-contiguous uint64 matrices whose column 0
    is row ``offset``; the outputs are canonical.

    Raises ValueError for an array of another type or layout, too few rows or planes, or a missing matrix.
    """
    size = 1 << log_rows
    rows = -(-last // size) * size  # of whole blocks: the next row may be anywhere in one
    if not 0 <= offset <= first <= last or (rows > size and not bit_reversed):
        raise ValueError(f"rows {first} to {last} do not lie within the trace and the targets")
    kinds, planes, shifted = bytecode.inputs.T.astype(np.int64)
    sources = np.empty_like(planes)
    for kind in Source:
        read = planes[kinds == kind]
        if len(read):
            sources[kinds == kind] = _addresses(matrices[kind], kind.name, int(read.max()) + 1, rows)[read]
    outputs = np.concatenate([_addresses(target, "target", len(target), last - offset) for target in targets])
    if len(outputs) != bytecode.outputs or not all(target.flags.writeable for target in targets):
        raise ValueError(f"expected {bytecode.outputs} writable target planes, not {len(outputs)}")
    if constants.shape != (bytecode.constant_planes,) or constants.dtype != np.uint64:
        raise ValueError(f"expected {bytecode.constant_planes} constants of uint64, not {constants.shape}")
    _run(
        bytecode.instructions,
        bytecode.terms,
        constants,
        sources,
        shifted,
        outputs,
        offset,
        bytecode.registers,
        log_rows,
        bit_reversed,
        first,
        last,
    )


def _addresses(matrix: np.ndarray | None, name: str, planes: int, rows: int) -> np.ndarray:
    """Return the addresses of the first ``planes`` rows of a matrix."""
    if matrix is None or matrix.shape[0] < planes or matrix.shape[1] < rows:
        raise ValueError(f"the {name} matrix has no {planes} planes of {rows} rows")
    if matrix.dtype != np.uint64 or not matrix.flags.c_contiguous:
        raise ValueError(f"the {name} matrix is not a C-contiguous array of uint64")
    return matrix.ctypes.data + np.arange(planes) * (matrix.shape[1] * _WORD)
