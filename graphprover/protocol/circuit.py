"""The expressions and lookups of all tables of a proof as index arrays, so that NumPy evaluates many nodes per call.

A circuit depends only on the descriptions and is cached. Its *inputs* are, in order: for each table its main columns at
zeta and at the next row's point, then its preprocessed columns likewise; the public values of all tables; the selectors
FIRST, LAST and TRANSITION of each table; literals.

Its *values* are, in order: the leaves (inputs that are read), then the results of each step. A *place* is the index of
a value. Place 0 holds zero, which pads tuples and gives a table without constraints one term.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.air.expression import ADD, CONST, FIRST, MAIN, MUL, NEG, PREPROCESSED, PUBLIC, SUB
from graphprover.field import P

SELECTORS = 3  # selectors of a table
ENDS = 3  # constraints on the accumulator of a table with lookups: first row, transition, last row


@dataclass(frozen=True, eq=False)
class Step:
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
    steps: tuple[Step, ...]
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

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.leaves) + sum(len(step.a) for step in self.steps)


@lru_cache(maxsize=16)  # a circuit is much smaller than a proof
def circuit(tables: tuple[AirDescription, ...]) -> Circuit:
    """Return the circuit of these tables."""
    leaves, literals, steps, place_of = _values(tables)
    size = len(leaves) + sum(len(step.a) for step in steps)

    lookups = [(table, lookup) for table, air in enumerate(tables) for lookup in air.lookups]  # L
    tuples = [(table, i, entry) for i, (table, lookup) in enumerate(lookups) for entry in lookup.tuples]  # M
    most_fields = max((len(entry.fields) for _, _, entry in tuples), default=0)
    fields = [  # (M, most_fields)
        [0] * (most_fields - len(entry.fields)) + [place_of[table, field] for field in entry.fields]
        for table, _, entry in tuples
    ]

    lookup_tables = [table for table, air in enumerate(tables) if air.lookups]  # U
    *first_lookups, _ = accumulate((len(tables[table].lookups) for table in lookup_tables), initial=0)
    # The permutation columns of a table are its accumulator, then its fractions.
    accumulators = [first + i for i, first in enumerate(first_lookups)]

    constraints: list[list[int]] = []  # for each table
    first_end = size + len(lookups)
    for table, air in enumerate(tables):
        of_table = [0, *(place_of[table, node] for node in air.constraints)]
        if air.lookups:
            number = lookup_tables.index(table)
            first_lookup = size + first_lookups[number]
            of_table += range(first_lookup, first_lookup + len(air.lookups))
            of_table += [first_end + end * len(lookup_tables) + number for end in range(ENDS)]
        constraints.append(of_table)
    return Circuit(
        leaves=_indices(leaves),
        literals=np.array(literals, dtype=np.uint64),
        steps=tuple(steps),
        fields=_indices(fields).reshape(len(tuples), most_fields),
        multiplicities=_indices([place_of[table, entry.multiplicity] for table, _, entry in tuples]),
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


def _values(
    tables: Sequence[AirDescription],
) -> tuple[list[int], list[int], list[Step], dict[tuple[int, int], int]]:
    """Return the leaves, the literals, the steps, and the place of each (table, node)."""
    *opened, first_public = accumulate((2 * (air.main_width + air.preprocessed_width) for air in tables), initial=0)
    *public, first_selector = accumulate((air.num_public_values for air in tables), initial=first_public)
    first_literal = first_selector + SELECTORS * len(tables)
    literals = {0: first_literal}
    leaves, places = [first_literal], dict[tuple[int, int], int]()
    inner: dict[tuple[int, int], list[tuple[int, int]]] = {}  # (depth, operation) to (table, node) pairs
    for table, air in enumerate(tables):
        depths = list[int]()
        for node, (op, a, b) in enumerate(air.nodes):
            if op in (ADD, SUB, MUL, NEG):
                depths.append(1 + max(depths[a], 0 if op == NEG else depths[b]))
                inner.setdefault((depths[-1], SUB if op == NEG else op), []).append((table, node))
                continue
            if op == MAIN:
                source = opened[table] + b * air.main_width + a
            elif op == PREPROCESSED:
                source = opened[table] + 2 * air.main_width + b * air.preprocessed_width + a
            elif op == PUBLIC:
                source = public[table] + a
            elif op == CONST:
                source = literals.setdefault(a % P, first_literal + len(literals))
            else:
                source = first_selector + SELECTORS * table + op - FIRST
            depths.append(0)
            places[table, node] = len(leaves)
            leaves.append(source)
    steps, size = [], len(leaves)
    for (_, op), members in sorted(inner.items()):
        operands = []
        for table, node in members:
            own, a, b = tables[table].nodes[node]
            operands.append((0, places[table, a]) if own == NEG else (places[table, a], places[table, b]))
        places.update((member, size + i) for i, member in enumerate(members))
        size += len(members)
        first, second = zip(*operands, strict=True)
        steps.append(Step(op, _indices(first), _indices(second)))
    return leaves, list(literals), steps, places


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
