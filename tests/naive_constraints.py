"""The constraint identity of one table at one point in Python integers, in its simplest form: an oracle."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.air.description import AirDescription
from graphprover.air.expression import ADD, CONST, FIRST, LAST, MAIN, MUL, NEG, PREPROCESSED, PUBLIC, SUB
from graphprover.field import (
    GENERATOR,
    ONE,
    ZERO,
    Ext,
    ext,
    ext_add,
    ext_mul,
    ext_neg,
    ext_pow,
    ext_scale,
    ext_sub,
    ext_sum,
    inv,
    root_of_unity,
)
from graphprover.field import P as MODULUS
from graphprover.protocol.constraints import Selectors


@dataclass(frozen=True)
class Evaluations:
    """The values of all polynomials of one table at the out-of-domain point."""

    main: Sequence[Ext]
    main_next: Sequence[Ext]  # zeros if not opened
    preprocessed: Sequence[Ext]
    preprocessed_next: Sequence[Ext]
    permutation: Sequence[Ext]  # one for each extension column
    permutation_next: Sequence[Ext]
    public_values: Sequence[int]
    terminal: Ext | None


def join_coordinates(coordinates: Sequence[Ext]) -> list[Ext]:
    """Return extension columns from their opened coordinate columns: a + b·x + c·x^2 for each three."""
    x, x_squared = (0, 1, 0), (0, 0, 1)
    return [
        ext_sum((a, ext_mul(b, x), ext_mul(c, x_squared)))
        for a, b, c in zip(coordinates[0::3], coordinates[1::3], coordinates[2::3], strict=True)
    ]


def evaluate_nodes(air: AirDescription, at: Evaluations, selectors: Selectors) -> list[Ext]:
    """Return the value of every node of the table's expressions."""
    rows = {MAIN: (at.main, at.main_next), PREPROCESSED: (at.preprocessed, at.preprocessed_next)}
    values: list[Ext] = []
    for op, a, b in air.nodes:
        if op == MUL:
            value = ext_mul(values[a], values[b])
        elif op == ADD:
            value = ext_add(values[a], values[b])
        elif op == SUB:
            value = ext_sub(values[a], values[b])
        elif op == NEG:
            value = ext_neg(values[a])
        elif op in rows:
            value = rows[op][b][a]
        elif op == CONST:
            value = ext(a)
        elif op == PUBLIC:
            value = ext(at.public_values[a])
        else:
            value = {FIRST: selectors.first, LAST: selectors.last}.get(op, selectors.transition)
        values.append(value)
    return values


def fold_constraints(
    air: AirDescription, at: Evaluations, selectors: Selectors, prefixes: Sequence[Ext], tau: Ext, alpha: Ext
) -> Ext:
    """Return all constraints of the table folded by Horner's rule in alpha: AIR, fractions, accumulator."""
    nodes = evaluate_nodes(air, at, selectors)
    constraints = [nodes[node] for node in air.constraints]
    if air.lookups:
        assert at.terminal is not None
        accumulator, *fractions = at.permutation
        for lookup, prefix, fraction in zip(air.lookups, prefixes, fractions, strict=True):
            denominator, numerator = ONE, ZERO
            for message in lookup.tuples:
                combined = ZERO
                for field in message.fields:
                    combined = ext_add(ext_mul(combined, tau), nodes[field])
                term = ext_sub(prefix, combined)
                # V/U + m/d = (V·d + m·U) / (U·d)
                numerator = ext_add(ext_mul(numerator, term), ext_mul(nodes[message.multiplicity], denominator))
                denominator = ext_mul(denominator, term)
            constraints.append(ext_sub(ext_mul(denominator, fraction), numerator))
        total = ext_sum(fractions)
        step = ext_sub(ext_sub(at.permutation_next[0], accumulator), total)
        end = ext_sub(ext_sub(at.terminal, accumulator), total)
        constraints.append(ext_mul(selectors.first, accumulator))
        constraints.append(ext_mul(selectors.transition, step))
        constraints.append(ext_mul(selectors.last, end))
    folded = ZERO
    for constraint in constraints:
        folded = ext_add(ext_mul(folded, alpha), constraint)
    return folded


def join_quotient(log_height: int, chunks: Sequence[Sequence[Ext]], point: Ext) -> Ext:
    """Return the quotient at a point from the values of its chunks with domains 7·h^i·H (``split_domains``)."""
    log_chunks = len(chunks).bit_length() - 1
    generator = root_of_unity(log_height + log_chunks)
    order = 1 << log_height
    # Z_j(x) = (x / s_j)^n - 1; only the n-th powers of the shifts s_j = 7·h^j matter.
    shifts = [pow(GENERATOR * pow(generator, j, MODULUS), order, MODULUS) for j in range(len(chunks))]
    power = ext_pow(point, order)
    total = ZERO
    for i, chunk in enumerate(chunks):
        weight = join_coordinates(chunk)[0]
        for j, shift in enumerate(shifts):
            if j != i:
                inverse = inv(shift)
                weight = ext_mul(weight, ext_sub(ext_scale(power, inverse), ONE))
                weight = ext_scale(weight, inv(shifts[i] * inverse - 1))
        total = ext_add(total, weight)
    return total
