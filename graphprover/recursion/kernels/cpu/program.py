"""Runs of programs in compiled code.

A run takes the instructions one by one (``graphprover.recursion.tables.steps``). An instruction with one unknown cell
gives its value, and an instruction without any is checked. Free cells have hints. A run that ends is a proof that all
relations hold.
"""

import numpy as np

from graphprover.field import P
from graphprover.kernels.cpu.field import P as _P
from graphprover.kernels.cpu.field import add, ext_add, ext_mul, ext_scale, ext_sub, inverse, mul, sub
from graphprover.kernels.cpu.simd import load_word, store_word
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.recursion.kernels.cpu.places import HALF_BITS, MIX, slot_of
from graphprover.recursion.program.assembler import HintKind
from graphprover.recursion.tables.segments import READ, SPLIT, STRIDE
from graphprover.recursion.tables.steps import FIRST_FRAME, FLAGS
from graphprover.runtime.numba_cache import borrowed, njit

HALTED, FAILED = 0, 1
REGION_BITS = 32  # a region of memory has 2^32 addresses in the first run
PAGE_BITS = 5  # cells with 2^5 addresses are side by side
PAGES, FULL = 0, 1  # counters of memory
CELL_WORDS, KNOWN = 4, 3  # of a cell: its value, and 1 if it is known
_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
_LOW = _U(0xFFFFFFFF)
_PAGE = 1 << PAGE_BITS
_INVERSES = np.array([pow(i, P - 2, P) for i in range(256)], dtype=np.uint64)  # of counters of turns
_MULTIPLY, _ADD, _INDIRECT, _JUMP, _CALL, _BACK, _ROW, _CAP, _GATE, _HALT = (
    1 << FLAGS.index(name)
    for name in ("multiply", "add", "indirect", "jump", "call", "back", "row", "cap", "gate", "halt")
)
_ALLOCATE, _RETURN, _BIT, _DIGEST = map(int, (HintKind.ALLOCATE, HintKind.BACK, HintKind.BIT, HintKind.DIGEST))


# Memory: the address of its pages, or 0 if cells are by their addresses, with the largest slot of a page; the address
# and the number of its cells; the address of its counters. Arrays would be counted wherever functions pass them.


@njit(nogil=True)
def _pointers(memory):
    """Return memory as its addresses."""
    pages, cells, counters = memory
    at = pages.ctypes.data if len(pages) else 0
    return np.int64(at), len(pages) - 1, np.int64(cells.ctypes.data), len(cells), np.int64(counters.ctypes.data)


@njit(nogil=True)
def _cell(memory, address):
    """Return the number of the cell at an address, or -1 if there is none."""
    pages, _, _, count, _ = memory
    if not pages:
        return address if 0 <= address < count else -1
    return _paged(memory, address) if address >= 0 else -1


@njit(nogil=True)
def _paged(memory, address):
    """Return the number of the cell at an address, on a page that can be new; -1 if there are too few cells."""
    pages, last, _, count, counters = memory
    wanted = (address >> PAGE_BITS) + 1
    at = np.int64(_U(wanted) * MIX >> HALF_BITS) & last
    while load_word(pages, 2 * at) != _U(wanted):
        if not load_word(pages, 2 * at):
            made = np.int64(load_word(counters, PAGES))
            if (made + 1) * _PAGE > count:
                store_word(counters, FULL, _ONE)
                return -1
            store_word(pages, 2 * at, wanted)
            store_word(pages, 2 * at + 1, made)
            store_word(counters, PAGES, made + 1)
            break
        at = at + 1 & last
    return np.int64(load_word(pages, 2 * at + 1)) * _PAGE + (address & _PAGE - 1)


@njit(nogil=True)
def _is_known(memory, cell):
    return load_word(memory[2], CELL_WORDS * cell + KNOWN) != _ZERO


@njit(nogil=True)
def _known(memory, address):
    """Return the number of the cell at an address, or -1 if it is unknown."""
    at = _cell(memory, address)
    return at if at >= 0 and _is_known(memory, at) else -1


@njit(nogil=True)
def _at(memory, cell):
    cells, first = memory[2], CELL_WORDS * cell
    return load_word(cells, first), load_word(cells, first + 1), load_word(cells, first + 2)


@njit(nogil=True)
def _write(memory, cell, value):
    cells, first = memory[2], CELL_WORDS * cell
    store_word(cells, first, value[0])
    store_word(cells, first + 1, value[1])
    store_word(cells, first + 2, value[2])
    store_word(cells, first + KNOWN, _ONE)


@njit(nogil=True)
def _has(memory, cell, value):
    """Return whether a cell has a value."""
    a, b, c = _at(memory, cell)
    return a == value[0] and b == value[1] and c == value[2]


@njit(nogil=True)
def _put_cell(memory, cell, value):
    """Set a cell by its number; return whether it has the value."""
    if _is_known(memory, cell):
        return _has(memory, cell, value)
    _write(memory, cell, value)
    return True


@njit(nogil=True)
def _put(memory, address, value):
    """Set a cell; return whether it has the value."""
    at = _cell(memory, address)
    return at >= 0 and _put_cell(memory, at, value)


@njit(nogil=True)
def _touch(memory, address):
    """Set a cell to 0 if it is unknown; return whether there is one."""
    at = _cell(memory, address)
    if at >= 0 and not _is_known(memory, at):
        _write(memory, at, (_ZERO, _ZERO, _ZERO))
    return at >= 0


# Instructions.


@njit(nogil=True)
def _ext_inverse(a):
    """Return 1/a by the adjugate of the matrix of multiplication by a; zero gives zero."""
    if not a[1] and not a[2]:
        return _INVERSES[a[0]] if a[0] < len(_INVERSES) else inverse(a[0]), _ZERO, _ZERO
    both, sum12 = add(a[0], a[2]), add(a[1], a[2])
    c0 = sub(mul(both, both), mul(a[1], sum12))
    c1 = sub(mul(a[2], sum12), mul(a[1], both))
    c2 = sub(mul(a[1], a[1]), mul(a[2], both))
    norm = inverse(add(add(mul(a[0], c0), mul(a[2], c1)), mul(a[1], c2)))
    return mul(c0, norm), mul(c1, norm), mul(c2, norm)


@njit(nogil=True)
def _arithmetic(memory, flags, k, constant, frame, a, b, c, d):
    """Take an arithmetic instruction, c = a b + k a + d + l; return whether its relation holds.

    One of b, c and d may be unknown, and gets the value with which it holds.
    """
    multiplies, adds, indirect = flags & _MULTIPLY != 0, flags & _ADD != 0, flags & _INDIRECT != 0
    at_a, at_c = _cell(memory, frame + a), _cell(memory, frame + c)
    if at_a < 0 or at_c < 0:
        return False
    value, first = (constant, _ZERO, _ZERO), (_ZERO, _ZERO, _ZERO)
    if k or multiplies or indirect:
        if not _is_known(memory, at_a):
            return False
        first = _at(memory, at_a)
    if k:
        value = ext_add(value, first if k == _ONE else ext_scale(first, k))
    at_d = at_b = at_a
    if adds:
        at_d = _cell(memory, (np.int64(first[0]) if indirect else frame) + d)
    if multiplies:
        at_b = _cell(memory, frame + b)
    if at_b < 0 or at_d < 0:
        return False
    finds_b, finds_d = multiplies and not _is_known(memory, at_b), adds and not _is_known(memory, at_d)
    if adds and not finds_d:
        value = ext_add(value, _at(memory, at_d))
    if multiplies and not finds_b:
        value = ext_add(value, ext_mul(first, _at(memory, at_b)))
    if finds_b or finds_d:
        if (finds_b and finds_d) or not _is_known(memory, at_c):
            return False
        rest = ext_sub(_at(memory, at_c), value)
        if finds_d:
            _write(memory, at_d, rest)
        elif first[0] or first[1] or first[2]:
            _write(memory, at_b, ext_mul(rest, _ext_inverse(first)))
        else:
            return False
    elif not _put_cell(memory, at_c, value):
        return False
    if not _is_known(memory, at_a):  # looked up though it does not count
        _write(memory, at_a, (_ZERO, _ZERO, _ZERO))
    if indirect and not adds:
        own = _at(memory, at_c)
        return own[1] == 0 and own[2] == 0
    return True


@njit(nogil=True)
def _gate(memory, k, constant, frame, a, b, c, d):
    """Take a gate; return whether its relation holds."""
    at_a = _known(memory, frame + a)
    if at_a < 0:
        return False
    pointers = _at(memory, at_a)
    at_d = _known(memory, np.int64(pointers[0]) + d)
    at_b = _known(memory, np.int64(pointers[1]) + b)
    if at_b < 0 or at_d < 0:
        return False
    first, second = _at(memory, at_d), _at(memory, at_b)
    value = ext_scale(second, k)
    if constant:
        value = ext_add(value, ext_scale(ext_mul(first, second), constant))
    if constant != _ONE:
        value = ext_add(value, ext_scale(first, sub(_ONE, constant)))
    return _put(memory, frame + c, value)


@njit(nogil=True)
def _jump(memory, frame, a, b, c):
    """Take a jump; return 1 if the cell a is 0, 0 if it is not, and -1 for a failure."""
    at_a = _known(memory, frame + a)
    if at_a < 0:
        return -1
    value = _at(memory, at_a)
    if not (value[0] or value[1] or value[2]):
        return 1 if _touch(memory, frame + b) and _put(memory, frame + c, (_ONE, _ZERO, _ZERO)) else -1
    at_b = _cell(memory, frame + b)
    if at_b < 0:
        return -1
    if _is_known(memory, at_b):
        product = ext_mul(value, _at(memory, at_b))
        if product[0] != _ONE or product[1] or product[2]:
            return -1
    else:
        _write(memory, at_b, _ext_inverse(value))
    return 0 if _put(memory, frame + c, (_ZERO, _ZERO, _ZERO)) else -1


@njit(nogil=True)
def _row(memory, rows, kind, frame, a, b, c, d):
    """Take a request for a chunk of a row; return whether there is such a chunk, and its cells agree."""
    slots, places, starts, words = rows
    at_a, at_b = _known(memory, frame + a), _known(memory, frame + b)
    if at_a < 0 or at_b < 0:
        return False
    tree, layer, index = _at(memory, at_a)
    counter, base, end = _at(memory, at_b)
    row = slots[slot_of(slots, places, tree, layer, index)]
    if row < 0 or counter > _LOW:
        return False
    first = starts[row] + CHUNK_WORDS * np.int64(counter)
    count = min(CHUNK_WORDS, starts[row + 1] - first)
    if count <= 0 or end != base + _U(STRIDE * count):
        return False
    address = np.int64(base)
    x0, x1, x2, y0, y1, y2 = _ZERO, _ZERO, _ZERO, _ZERO, _ZERO, _ZERO
    for i in range(count):
        word, at = words[first + i], address + STRIDE * i
        if kind == READ:
            if not _put(memory, at, (word % _P, _ZERO, _ZERO)):
                return False
        elif kind == SPLIT:
            if not _put(memory, at + 1, (word & _LOW, word >> HALF_BITS, _ZERO)):
                return False
        else:
            at_x, at_y = _known(memory, at), _known(memory, at + 1)
            if at_x < 0 or at_y < 0:
                return False
            x, y = _at(memory, at_x), _at(memory, at_y)
            x0, x1, x2 = add(x0, mul(x[0], word)), add(x1, mul(x[1], word)), add(x2, mul(x[2], word))
            y0, y1, y2 = add(y0, mul(y[0], word)), add(y1, mul(y[1], word)), add(y2, mul(y[2], word))
    return _put(memory, frame + c, (x0, x1, x2)) and _put(memory, frame + d, (y0, y1, y2))


@njit(nogil=True)
def _advise(memory, digests, frame, kind, a, b, number):
    """Return whether a hint has a value, and the value; not of ALLOCATE or BACK."""
    slots, places, words = digests
    none = _ZERO, _ZERO, _ZERO
    at_a = _known(memory, frame + a)
    if at_a < 0:
        return False, none
    first = _at(memory, at_a)
    if kind == _BIT:
        return True, (first[0] >> _U(number) & _ONE, _ZERO, _ZERO)
    if kind == _DIGEST:
        entry = slots[slot_of(slots, places, first[0], first[1], first[2])]
        if entry < 0:
            return False, none
        return True, (_U(words[entry, number]), _ZERO, _ZERO)
    at_b = _known(memory, frame + b)
    if at_b < 0:
        return False, none
    divisor = _at(memory, at_b)[0]
    if not divisor:
        return False, none
    return True, (first[0] // divisor, _ZERO, _ZERO)


# Runs.


@njit(nogil=True, cache=True)
def run_program(program, memory, rows, digests, bases, steps, pcs, frames):
    """Run a program in memory with its inputs.

    Args:
        program: Arrays: the instructions, uint64 (n, 7), in the order of `Fixed`'s columns; the offsets, l and k with
            their signs, int64 (n, 7) in the same order; `Linked.hints`; `Linked.first_hints`.
        memory: Arrays: pages, uint64 (2^i, 2), zeros at first, with the address of each page over 2^`PAGE_BITS` plus 1,
            and its number; (0, 2) if cells are by their addresses. Cells, uint64 (cells, 4), zeros at first: the value
            and 1 of each known cell. Counters, uint64 (2,): the number of pages, and 1 if there are too few of them.
        rows: Arrays: slots (`table_of`), places, uint64 (rows, 3), the first word of each row and of one after the last
            one, int64 (rows + 1,), and all words, uint64.
        digests: Arrays: slots, places, uint64 (digests, 3), and words, uint32 (digests, 8).
        bases: The address of each region of memory and of one after the last one, int64; empty for the first run.
        steps: The most steps.
        pcs: uint32 (steps,): the address of each step's instruction is written; empty for the first run.
        frames: uint32 (steps,): the frame pointer of each step is written; empty for the first run.

    Returns:
        `HALTED` or `FAILED`, the number of steps, the number of regions that were allocated, and the address of the
        last instruction; -1 if there are more steps.
    """
    memory, rows, digests = _pointers(memory), borrowed(rows), borrowed(digests)
    fields, signed, hints, first_hints = borrowed(program)
    pc, frame, regions = np.int64(0), np.int64(FIRST_FRAME), np.int64(0)
    for step in range(steps):
        if not 0 <= pc < len(fields):
            return FAILED, step, regions, pc
        here = pc
        if step < len(pcs):
            pcs[step], frames[step] = pc, frame
        for i in range(first_hints[pc], first_hints[pc + 1]):
            kind = hints[i, 1]
            if kind == _ALLOCATE:
                regions += 1
                if len(bases) and regions >= len(bases) - 1:
                    return FAILED, step, regions, pc
                advised = True, (_U(bases[regions] if len(bases) else regions << REGION_BITS), _ZERO, _ZERO)
            elif kind == _RETURN:
                advised = True, (_U(hints[i, 4]), _U(frame), _ZERO)
            else:
                advised = _advise(memory, digests, frame, kind, hints[i, 2], hints[i, 3], hints[i, 4])
            if not advised[0] or not _put(memory, frame + hints[i, 0], advised[1]):
                return FAILED, step, regions, pc
        flags, k, constant = np.int64(fields[pc, 0]), fields[pc, 1], fields[pc, 2]
        a, b, c, d = signed[pc, 3], signed[pc, 4], signed[pc, 5], signed[pc, 6]
        holds = True
        if flags < _JUMP:  # no flags of other instructions
            holds = _arithmetic(memory, flags, k, constant, frame, a, b, c, d)
            pc += 1
        elif flags & _ROW:
            holds = _row(memory, rows, signed[pc, 1], frame, a, b, c, d)
            pc += 1
        elif flags & _CAP:
            pc += 1
        elif flags & _JUMP:
            goes = _jump(memory, frame, a, b, c)
            holds = goes >= 0
            pc += 1 + (signed[pc, 2] if goes else 0)
        elif flags & _CALL:
            holds = _put(memory, frame + a, (_U(pc + 1), _U(frame), _ZERO))
            pc, following = signed[pc, 2], frame + signed[pc, 1]
            if flags & _MULTIPLY:
                at = _known(memory, frame + b)
                holds = holds and at >= 0
                following = np.int64(_at(memory, max(at, 0))[0])
            frame = following
        elif flags & _BACK:
            at = _known(memory, frame + a)
            holds = at >= 0
            to = _at(memory, max(at, 0))
            pc, frame = np.int64(to[0]), np.int64(to[1])
        elif flags & _HALT:
            return HALTED, step + 1, regions, pc
        else:
            holds = _gate(memory, k, constant, frame, a, b, c, d)
            pc += 1
        if not holds:
            return FAILED, step, regions, here
    return FAILED, steps, regions, np.int64(-1)


@njit(nogil=True, cache=True)
def region_sizes(memory, sizes):
    """Write the size of each region after a first run; return whether each known cell is in a region.

    Args:
        memory: See `run_program`.
        sizes: int64 (regions,): zeros; the size of each region is written.
    """
    pages, cells, _ = memory
    for at in range(len(pages)):
        if not pages[at, 0]:
            continue
        address, cell = np.int64(pages[at, 0] - _ONE) * _PAGE, np.int64(pages[at, 1]) * _PAGE
        for i in range(_PAGE):
            if cells[cell + i, KNOWN]:
                region = address + i >> REGION_BITS
                if region >= len(sizes):
                    return False
                sizes[region] = max(sizes[region], (address + i & (1 << REGION_BITS) - 1) + 1)
    return True


@njit(nogil=True, cache=True)
def put_cells(memory, addresses, values):
    """Write cells, int64 (n,) and uint64 (n, 3); return whether all of them have a place in memory."""
    pointers = _pointers(memory)
    for i in range(len(addresses)):
        at = _cell(pointers, addresses[i])
        if at < 0:
            return False
        _write(pointers, at, (values[i, 0], values[i, 1], values[i, 2]))
    return True
