"""The expressions and lookups of all tables of a proof as index arrays, so that NumPy evaluates many nodes per call.

A circuit depends only on the descriptions and is cached. Its *inputs* are, in order: for each table its main columns at
zeta and at the next row's point, then its preprocessed columns likewise; the public values of all tables; the selectors
FIRST, LAST and TRANSITION of each table; literals.

Its *values* are, in order: the leaves (inputs that are read), then the results of each step. A *place* is the index of
a value. Place 0 holds zero, which pads tuples and gives a table without constraints one term.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.air.expression import ADD, CONST, FIRST, MAIN, NEG, PREPROCESSED, PUBLIC, SUB

SELECTORS = 3  # selectors of a table
ENDS = 3  # constraints on the accumulator of a table with lookups: first row, transition, last row


@dataclass(frozen=True, eq=False)
class CircuitStep:
    """A batch of values computed by one operation from earlier values."""

    op: int  # ADD, SUB or MUL
    a: np.ndarray  # places of the first operands, (values of the step,)
    b: np.ndarray  # places of the second operands, (values of the step,)


@dataclass(frozen=True, eq=False)
class Circuit:
    """Index arrays for the constraints of all tables; see the module's docstring for inputs, values and places.

    T tables, of which U have lookups; L lookups (fraction columns), M tuples, C constraints including one zero for each
    table.
    """

    leaves: np.ndarray  # input of each leaf
    literals: np.ndarray  # the last inputs, uint64
    steps: tuple[CircuitStep, ...]
    fields: np.ndarray  # (M, most fields): places of the fields of each tuple, padded by place 0 on the left
    multiplicities: np.ndarray  # (M,): place of the multiplicity of each tuple
    lookup_of_tuple: np.ndarray  # (M,): index of the lookup of each tuple
    tuples: np.ndarray  # (L, most tuples): indices of the tuples of each lookup, padded by M on the right
    accumulators: np.ndarray  # (U,): index of each accumulator among all permutation columns
    fractions: np.ndarray  # (L,): index of each fraction column among all permutation columns
    first_lookups: np.ndarray  # (U,): index of the first lookup of each table with lookups
    constraints: np.ndarray  # (C,): index of each constraint in values ‖ L lookup constraints ‖ ENDS U end constraints
    alphas: np.ndarray  # (C,): power of alpha of each constraint
    first_constraints: np.ndarray  # (T,): index in `constraints` of the first one of each table

    @cached_property
    def size(self) -> int:
        """Number of values."""
        return len(self.leaves) + sum(len(step.a) for step in self.steps)

    @cached_property
    def operations(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The results of all steps in order: the operation of each, the places of its first and its second operands."""
        ops = [np.full(len(step.a), step.op) for step in self.steps]
        none = _indices([])  # a circuit may have no steps
        return (
            np.concatenate([none, *ops]),
            np.concatenate([none, *(step.a for step in self.steps)]),
            np.concatenate([none, *(step.b for step in self.steps)]),
        )


@lru_cache(maxsize=16)  # a circuit is much smaller than a proof
def circuit(tables: tuple[AirDescription, ...]) -> Circuit:
    """Return the circuit of these tables."""
    leaves, literals, steps, places = _values(tables)
    size = len(leaves) + sum(len(step.a) for step in steps)
    *first_nodes, _ = accumulate((len(air.nodes) for air in tables), initial=0)

    lookups = [(table, lookup) for table, air in enumerate(tables) for lookup in air.lookups]  # L
    tuples = [(table, i, entry) for i, (table, lookup) in enumerate(lookups) for entry in lookup.tuples]  # M
    most_fields = max((len(entry.fields) for _, _, entry in tuples), default=0)
    fields = [  # (M, most_fields): nodes, padded by a number behind all nodes
        [len(places)] * (most_fields - len(entry.fields)) + [first_nodes[table] + field for field in entry.fields]
        for table, _, entry in tuples
    ]

    lookup_tables = [table for table, air in enumerate(tables) if air.lookups]  # U
    *first_lookups, _ = accumulate((len(tables[table].lookups) for table in lookup_tables), initial=0)
    # The permutation columns of a table are its accumulator, then its fractions.
    accumulators = [first + i for i, first in enumerate(first_lookups)]

    constraints: list[list[int]] = []  # for each table
    first_end = size + len(lookups)
    for table, air in enumerate(tables):
        of_table = [0, *places[first_nodes[table] + _indices(air.constraints)].tolist()]
        if air.lookups:
            number = lookup_tables.index(table)
            first_lookup = size + first_lookups[number]
            of_table += range(first_lookup, first_lookup + len(air.lookups))
            of_table += [first_end + end * len(lookup_tables) + number for end in range(ENDS)]
        constraints.append(of_table)
    return Circuit(
        leaves=leaves,
        literals=literals,
        steps=tuple(steps),
        fields=np.append(places, 0)[_indices(fields).reshape(len(tuples), most_fields)],
        multiplicities=places[_indices([first_nodes[table] + entry.multiplicity for table, _, entry in tuples])],
        lookup_of_tuple=_indices([i for _, i, _ in tuples]),
        tuples=_padded([len(lookup.tuples) for _, lookup in lookups]),
        accumulators=_indices(accumulators),
        fractions=np.delete(np.arange(len(lookups) + len(lookup_tables)), accumulators),
        first_lookups=_indices(first_lookups),
        constraints=_indices([index for of_table in constraints for index in of_table]),
        # Horner's rule: the first constraint of a table has the highest power, the last one power 0.
        alphas=_indices([power for of_table in constraints for power in range(len(of_table) - 1, -1, -1)]),
        first_constraints=_indices([0, *accumulate(map(len, constraints[:-1]))]),
    )


def _values(tables: Sequence[AirDescription]) -> tuple[np.ndarray, np.ndarray, list[CircuitStep], np.ndarray]:
    """Return the leaves, the literals, the steps, and the place of each node of all tables, in order."""
    counts = [len(air.nodes) for air in tables]
    nodes = np.array([node for air in tables for node in air.nodes], dtype=np.uint64).reshape(-1, 3)
    table = np.repeat(np.arange(len(tables)), counts)
    op = nodes[:, 0].astype(np.intp)
    leaves, literals = _leaves(tables, nodes[op < ADD], table[op < ADD])

    inner = np.flatnonzero(op >= ADD)
    kind = np.where(op == NEG, SUB, op)  # a negation subtracts from 0
    depth = _indices([depth for air in tables for depth in air.depths])
    inner = inner[np.lexsort((kind[inner], depth[inner]))]
    places = np.empty(len(nodes), dtype=np.intp)
    places[op < ADD] = np.arange(1, len(leaves))
    places[inner] = np.arange(len(leaves), 1 + len(nodes))

    first_node = np.cumsum([0, *counts])[table[inner]]
    of_a, of_b = (places[first_node + nodes[inner, operand].astype(np.intp)] for operand in (1, 2))
    negated = op[inner] == NEG
    of_a, of_b = np.where(negated, 0, of_a), np.where(negated, of_a, of_b)
    changes = 1 + np.flatnonzero(np.diff(kind[inner]) | np.diff(depth[inner]))
    bounds = pairwise([0, *changes.tolist(), len(inner)] if len(inner) else [])
    steps = [CircuitStep(int(kind[inner[first]]), of_a[first:end], of_b[first:end]) for first, end in bounds]
    return leaves, literals, steps, places


def _leaves(tables: Sequence[AirDescription], nodes: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the leaves and the literals, for these nodes of these tables; the literal 0 is read first."""
    op, a, b = nodes.T
    literals = np.array(sorted({0, *a[op == CONST].tolist()}), dtype=np.uint64)  # np.unique imports masked arrays
    main, preprocessed, public = (
        _indices([getattr(air, name) for air in tables])
        for name in ("main_width", "preprocessed_width", "num_public_values")
    )
    opened = np.cumsum([0, *2 * (main + preprocessed)])
    publics = opened[-1] + np.cumsum([0, *public])
    first_selector = int(publics[-1])
    first_literal = first_selector + SELECTORS * len(tables)
    index, following = np.where(op == CONST, 0, a).astype(np.intp), b.astype(np.intp)
    sources = np.select(
        [op == MAIN, op == PREPROCESSED, op == PUBLIC, op == CONST],
        [
            opened[table] + following * main[table] + index,
            opened[table] + 2 * main[table] + following * preprocessed[table] + index,
            publics[table] + index,
            first_literal + np.searchsorted(literals, a),
        ],
        first_selector + SELECTORS * table + op.astype(np.intp) - FIRST,
    )
    return np.append(first_literal, sources), literals


def _indices(values: Sequence[int] | Sequence[Sequence[int]]) -> np.ndarray:
    return np.array(values, dtype=np.intp)


def _padded(counts: Sequence[int]) -> np.ndarray:
    """Return consecutive numbers in rows of these lengths, padded by their total: (counts, largest count).

    For example, [2, 1] gives [[0, 1], [2, 3]].
    """
    rows = np.full((len(counts), max(counts, default=0)), sum(counts), dtype=np.intp)
    used = np.arange(rows.shape[1]) < _indices(counts)[:, None]  # (counts, largest count)
    rows[used] = np.arange(sum(counts))
    return rows
