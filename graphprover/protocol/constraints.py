"""The constraint identity of all tables at the out-of-domain point (docs/protocol.md, section 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphprover.air.expression import ADD, SUB
from graphprover.field import (
    EXTENSION_DEGREE,
    GENERATOR,
    ONE,
    ZERO,
    Ext,
    array_add,
    array_sub,
    ext,
    ext_inv,
    ext_mul,
    ext_powers,
    ext_scale,
    ext_sub,
    inv,
    root_of_unity,
)
from graphprover.field import P as MODULUS
from graphprover.protocol import arrays
from graphprover.protocol.circuit import Circuit, circuit
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import EXT_BYTES, TableOpenings


@lru_cache(maxsize=64)  # the selectors and the chunks of all tables of a proof need powers of one point
def _power(point: Ext, log_exponent: int) -> Ext:
    """Return point^(2^log_exponent)."""
    if not log_exponent:
        return point
    root = _power(point, log_exponent - 1)
    return ext_mul(root, root)


@dataclass(frozen=True)
class Selectors:
    """Plonky3's unnormalised selectors of a trace domain at a point x (p3-commit ``selectors_at_point``)."""

    first: Ext  # Z(x) / (x - 1)
    last: Ext  # Z(x) / (x - 1/g)
    transition: Ext  # x - 1/g
    vanishing: Ext  # Z(x) = x^n - 1


def selectors_at(log_height: int, point: Ext) -> Selectors:
    """Return the selectors of the domain of 2^log_height rows. Raises VerificationError for a point of the domain."""
    vanishing = ext_sub(_power(point, log_height), ONE)
    if vanishing == ZERO:
        raise VerificationError("constraints.domain", "the out-of-domain point lies in a trace domain")
    transition = ext_sub(point, ext(inv(root_of_unity(log_height))))
    return Selectors(
        first=ext_mul(vanishing, ext_inv(ext_sub(point, ONE))),
        last=ext_mul(vanishing, ext_inv(transition)),
        transition=transition,
        vanishing=vanishing,
    )


def selectors_of(layout: Layout, point: Ext) -> list[Selectors]:
    """Return the selectors of each table."""
    by_height = {log_height: selectors_at(log_height, point) for log_height in set(layout.log_heights)}
    return [by_height[log_height] for log_height in layout.log_heights]


def words_to_array(words: Sequence[bytes]) -> np.ndarray:
    """Return extension elements (3, n) from their encodings, 24 bytes each."""
    return np.frombuffer(b"".join(words), dtype="<u8").reshape(-1, EXTENSION_DEGREE).T


def join_coordinates(coordinates: np.ndarray) -> np.ndarray:
    """Return the values of extension columns, (3, n), from the values of their coordinate columns, (3, 3 n).

    The value is a + b·x + c·x^2, with a, b, c the (extension) values of three consecutive coordinate columns.
    """
    a, b, c = coordinates[:, 0::3], coordinates[:, 1::3], coordinates[:, 2::3]
    return array_add(a, _times_x(array_add(b, _times_x(c))))


def _times_x(a: np.ndarray) -> np.ndarray:
    a0, a1, a2 = a
    return np.stack([a2, array_add(a0, a2), a1])


def fold_constraints(
    layout: Layout,
    openings: Sequence[TableOpenings],
    public_values: Sequence[Sequence[int]],
    terminals: Sequence[Ext | None],
    selectors: Sequence[Selectors],
    prefixes: Sequence[Sequence[Ext]],
    tau: Ext,
    alpha: Ext,
) -> np.ndarray:
    """Return the folded constraints of each table at one point: AIR, fractions, accumulator, by powers of alpha.

    Args:
        layout: shape of the proof.
        openings: opened values of each table.
        public_values: public values of each table.
        terminals: LogUp sum of each table, None without lookups.
        selectors: selectors of each table at the point.
        prefixes: [table][lookup], constant terms of the denominators (`graphprover.protocol.lookup.lookup_prefixes`).
        tau: challenge that combines the fields of a tuple.
        alpha: challenge that folds the constraints.

    Returns:
        uint64 array (3, tables).
    """
    # Shapes: T tables, of which U have lookups; L lookups; C constraints, as in `Circuit`.
    plan = circuit(layout.tables)
    at_selectors = arrays.exts([value for of in selectors for value in (of.first, of.last, of.transition)])  # (3, 3 T)
    values = _evaluate(plan, _inputs(layout, plan, openings, public_values, at_selectors))  # (3, plan.size)
    constraints = [values]
    if layout.lookup_tables:
        permutation = join_coordinates(words_to_array([table.permutation for table in openings]))  # (3, L + U)
        following = join_coordinates(words_to_array([table.permutation_next for table in openings]))  # (3, L + U)
        fractions = permutation[:, plan.fractions]  # (3, L)
        prefix = arrays.exts([prefix for of_table in prefixes for prefix in of_table])  # (3, L)
        denominators, numerators = _lookup_sums(plan, values, prefix, tau)  # (3, L) each
        constraints.append(array_sub(arrays.ext_multiply(denominators, fractions), numerators))
        accumulator, total = permutation[:, plan.accumulators], arrays.sums(fractions, plan.first_lookups)  # (3, U)
        terminal = arrays.exts([terminal for terminal in terminals if terminal is not None])  # (3, U)
        after = array_add(accumulator, total)
        ends = [accumulator, array_sub(terminal, after), array_sub(following[:, plan.accumulators], after)]
        # Selectors and `ends` are in the order first, last, transition; constraints in the order of the last line.
        of_tables = at_selectors.reshape(EXTENSION_DEGREE, -1, len(ends))[:, list(layout.lookup_tables)]  # (3, U, 3)
        first, last, transition = np.moveaxis(arrays.ext_multiply(of_tables, np.stack(ends, axis=-1)), -1, 0)
        constraints += [first, transition, last]  # (3, U) each
    folded = np.concatenate(constraints, axis=1)[:, plan.constraints]  # (3, C)
    alphas = arrays.ext_powers_of(alpha, int(plan.alphas.max()) + 1)[:, plan.alphas]  # (3, C)
    return arrays.sums(arrays.ext_multiply(folded, alphas), plan.first_constraints)  # (3, T)


def _inputs(
    layout: Layout,
    plan: Circuit,
    openings: Sequence[TableOpenings],
    public_values: Sequence[Sequence[int]],
    selectors: np.ndarray,
) -> np.ndarray:
    """Return the inputs of the circuit, (3, n); columns that are not opened at a point are not read, and zero."""
    opened = []
    for air, table in zip(layout.tables, openings, strict=True):
        main, preprocessed = bytes(EXT_BYTES * air.main_width), bytes(EXT_BYTES * air.preprocessed_width)
        opened += [table.main, table.main_next or main]
        opened += [table.preprocessed or preprocessed, table.preprocessed_next or preprocessed]
    words = np.array([value for of_table in public_values for value in of_table], dtype=np.uint64)
    return np.concatenate([words_to_array(opened), _base(words), selectors, _base(plan.literals)], axis=1)


def _base(words: np.ndarray) -> np.ndarray:
    """Return base elements (n,) as extension elements (3, n)."""
    return np.stack([words, np.zeros_like(words), np.zeros_like(words)])


def _evaluate(plan: Circuit, inputs: np.ndarray) -> np.ndarray:
    """Return all values of the circuit, (3, plan.size)."""
    values = np.empty((EXTENSION_DEGREE, plan.size), dtype=np.uint64)
    size = len(plan.leaves)
    values[:, :size] = inputs[:, plan.leaves]
    if products := arrays.kernels():
        products.evaluate(*plan.operations, values, size)
        return values
    for step in plan.steps:
        operation = {ADD: array_add, SUB: array_sub}.get(step.op, arrays.ext_multiply)
        values[:, size : size + len(step.a)] = operation(values[:, step.a], values[:, step.b])
        size += len(step.a)
    return values


def _lookup_sums(plan: Circuit, values: np.ndarray, prefix: np.ndarray, tau: Ext) -> tuple[np.ndarray, np.ndarray]:
    """Return the denominators and numerators, (3, L) each, of the lookups' sums of multiplicity / (prefix - tuple)."""
    count, width = plan.fields.shape  # M tuples of at most `width` fields
    taus = arrays.exts(ext_powers(tau, width)[::-1]).T  # (width, 3), highest power first
    # (3, M, width) to (3 M, width), times taus: (3, M, 3), products of the coordinates of a field and of a power
    products = arrays.dot(values[:, plan.fields].reshape(-1, width), taus).reshape(EXTENSION_DEGREE, count, -1)
    combined = arrays.reduced(np.moveaxis(products, 2, 1))  # (3, M)
    # (3, M + 1): the last term is the fraction 0 / 1, which pads lookups with fewer tuples.
    terms = np.append(array_sub(prefix[:, plan.lookup_of_tuple], combined), arrays.exts([ONE]), axis=1)
    multiplicities = np.append(values[:, plan.multiplicities], arrays.exts([ZERO]), axis=1)
    first, *others = plan.tuples.T  # (L,) each: the first tuple of each lookup, the second, ...
    denominators, numerators = terms[:, first], multiplicities[:, first]  # (3, L)
    for entry in others:
        term = terms[:, entry]
        # V/U + m/d = (V·d + m·U) / (U·d)
        numerators = array_add(
            arrays.ext_multiply(numerators, term), arrays.ext_multiply(multiplicities[:, entry], denominators)
        )
        denominators = arrays.ext_multiply(denominators, term)
    return denominators, numerators


def join_quotients(layout: Layout, openings: Sequence[TableOpenings], point: Ext) -> np.ndarray:
    """Return the quotient of each table at a point, (3, tables), from the opened values of its chunks."""
    shapes = list(zip(layout.log_heights, layout.log_chunks, strict=True))
    weights = {shape: chunk_weights(*shape, point) for shape in set(shapes)}
    chunks = join_coordinates(words_to_array([chunk for table in openings for chunk in table.quotient]))
    weighted = arrays.ext_multiply(chunks, arrays.exts([weight for shape in shapes for weight in weights[shape]]))
    counts = [1 << log_chunks for log_chunks in layout.log_chunks]
    return arrays.sums(weighted, np.cumsum([0, *counts[:-1]]))


def chunk_weights(log_height: int, log_chunks: int, point: Ext) -> list[Ext]:
    """Return the weight of each chunk in the quotient at a point; chunk i has domain 7·h^i·H (``split_domains``)."""
    power, weights = _power(point, log_height), []
    for factors in _chunk_factors(log_height, log_chunks):
        weight = ONE
        for inverse, scale in factors:
            weight = ext_scale(ext_mul(weight, ext_sub(ext_scale(power, inverse), ONE)), scale)
        weights.append(weight)
    return weights


@lru_cache(maxsize=256)
def _chunk_factors(log_height: int, log_chunks: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return [chunk i][other chunk j]: 1 / s_j^n and 1 / Z_j(s_i), with Z_j(x) = (x / s_j)^n - 1.

    Only the n-th powers of the shifts s_j = 7·h^j matter.
    """
    generator, order = root_of_unity(log_height + log_chunks), 1 << log_height
    shifts = [pow(GENERATOR * pow(generator, j, MODULUS), order, MODULUS) for j in range(1 << log_chunks)]
    inverses = [inv(shift) for shift in shifts]
    return tuple(
        tuple((inverse, inv(shift * inverse - 1)) for j, inverse in enumerate(inverses) if j != i)
        for i, shift in enumerate(shifts)
    )
