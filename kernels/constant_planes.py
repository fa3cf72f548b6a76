"""The constant planes of a table's bytecode for one proof, computed on the host for the kernels of every device."""

from collections.abc import Sequence

import numpy as np

from graphprover.air.bytecode import NONE, TERMINAL, Bytecode
from graphprover.air.expression import ADD, CONST, NEG, PUBLIC, SUB
from graphprover.field import ZERO, Ext
from graphprover.kernels.cpu.field import add, ext_add, ext_mul, ext_scale, ext_sub, mul, sub
from graphprover.runtime.numba_cache import njit

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_CONST, _PUBLIC, _ADD, _SUB, _NEG = (np.uint64(op) for op in (CONST, PUBLIC, ADD, SUB, NEG))
_NO_WORDS, _NO_PREFIXES = np.empty(0, dtype=np.uint64), np.empty((0, 3), dtype=np.uint64)


def constants(
    bytecode: Bytecode,
    public_values: Sequence[int],
    prefixes: Sequence[Ext] = (),
    tau: Ext = ZERO,
    alpha: Ext = ZERO,
    terminal: Ext = ZERO,
) -> np.ndarray:
    """Return the values of the constant planes for one proof. Values that the bytecode does not read may be omitted.

    Args:
        bytecode: The program.
        public_values: The public values of the table, canonical.
        prefixes: The constant term of the denominators of each lookup (`graphprover.protocol.lookup.lookup_prefixes`).
        tau: The challenge that combines the fields of a tuple.
        alpha: The challenge that folds the constraints.
        terminal: The LogUp sum of the table.

    Returns:
        The values: uint64 (bytecode.constant_planes,).

    Raises:
        ValueError: If the bytecode reads a public value or prefix that is missing.
    """
    program = bytecode.constant_program
    if program.public_values > len(public_values) or program.prefixes > len(prefixes):
        raise ValueError(
            f"{len(public_values)} public values and {len(prefixes)} prefixes: the bytecode reads "
            f"{program.public_values} and {program.prefixes}"
        )
    words = np.empty(bytecode.constant_planes, dtype=np.uint64)
    _fill(
        program.uniforms,
        program.base,
        program.ends,
        program.weights,
        program.highest,
        np.array(public_values, dtype=np.uint64) if program.public_values else _NO_WORDS,
        np.array(prefixes, dtype=np.uint64) if program.prefixes else _NO_PREFIXES,
        np.array((tau, alpha, terminal), dtype=np.uint64),
        words,
    )
    return words


@njit(nogil=True, cache=True)
def _fill(uniforms, base, ends, weights, highest, public_values, prefixes, challenges, target):
    """Write the constant planes; see `graphprover.air.bytecode.ConstantProgram` for the first five arguments.

    Args:
        public_values: uint64 (values,).
        prefixes: uint64 (lookups, 3).
        challenges: uint64 (3, 3): tau, alpha, terminal.
        target: uint64 (constant planes,).
    """
    values = np.empty(len(uniforms), dtype=np.uint64)
    for i in range(len(uniforms)):
        op, a, b = uniforms[i, 0], uniforms[i, 1], uniforms[i, 2]
        if op == _CONST:
            values[i] = a
        elif op == _PUBLIC:
            values[i] = public_values[a]
        elif op == _NEG:
            values[i] = sub(_ZERO, values[a])
        elif op == _ADD:
            values[i] = add(values[a], values[b])
        elif op == _SUB:
            values[i] = sub(values[a], values[b])
        else:
            values[i] = mul(values[a], values[b])
    for i in range(len(base)):
        target[i] = values[base[i]]

    terminal = (challenges[2, 0], challenges[2, 1], challenges[2, 2])
    alphas, taus = _powers(challenges[1], highest[0]), _powers(challenges[0], highest[1])
    place, first = len(base), 0
    for end in ends:
        total = (_ZERO, _ZERO, _ZERO)
        for i in range(first, end):
            sign, node, alpha, tau, shift, challenge = weights[i]
            value = (alphas[alpha, 0], alphas[alpha, 1], alphas[alpha, 2])
            if tau:
                value = ext_mul(value, (taus[tau, 0], taus[tau, 1], taus[tau, 2]))
            for _ in range(shift):
                value = ext_mul(value, (_ZERO, _ONE, _ZERO))
            if challenge == TERMINAL:
                value = ext_mul(value, terminal)
            elif challenge != NONE:
                value = ext_mul(value, (prefixes[challenge, 0], prefixes[challenge, 1], prefixes[challenge, 2]))
            if node != NONE:
                value = ext_scale(value, values[node])
            total = ext_add(total, value) if sign > 0 else ext_sub(total, value)
        target[place], target[place + 1], target[place + 2] = total
        place, first = place + 3, end


@njit(nogil=True)
def _powers(base, highest):
    """Return the powers 0 to ``highest`` of an extension element: uint64 (highest + 1, 3)."""
    powers = np.zeros((highest + 1, 3), dtype=np.uint64)
    value = (_ONE, _ZERO, _ZERO)
    for i in range(highest + 1):
        powers[i, 0], powers[i, 1], powers[i, 2] = value
        value = ext_mul(value, (base[0], base[1], base[2]))
    return powers
