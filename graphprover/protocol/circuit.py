"""The expressions and lookups of all tables of a proof as arrays of indices, so that NumPy takes many nodes at a time.

It follows from the descriptions alone and is made once in a process. What it indexes are the *inputs*: of each table
its main columns, the same at the next row's point, and its preprocessed columns likewise; then the public values of
all tables; then the selectors of each, FIRST, LAST and TRANSITION; then literals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.air.expression import ADD, CONST, FIRST, MAIN, MUL, NEG, PREPROCESSED, PUBLIC, SUB
from graphprover.field import P

SELECTORS = 3  # inputs of a table
ENDS = 3  # constraints of a table with lookups, on its accumulator


@dataclass(frozen=True, eq=False)
class Step:
    """Values that need only values before them, made by one operation."""

    op: int  # ADD, SUB or MUL
    a: np.ndarray  # the places of the operands
    b: np.ndarray


@dataclass(frozen=True, eq=False)
class Circuit:
    """Values stand in this order: the leaves, then those of one step after the other. The first of them is zero."""

    leaves: np.ndarray  # the inputs that they are
    literals: np.ndarray  # the last of the inputs, uint64
    steps: tuple[Step, ...]
    fields: (
        np.ndarray
    )  # places of the fields of each tuple, after as many zeros as it is shorter: (tuples, most fields)
    multiplicities: np.ndarray  # of each tuple
    lookup_of_tuple: np.ndarray
    tuples: np.ndarray  # of each lookup, then one more than there are: (lookups, most tuples)
    accumulators: np.ndarray  # of each table with lookups, its place among all permutation columns
    fractions: np.ndarray  # of each lookup, likewise
    first_lookups: np.ndarray  # of each table with lookups
    constraints: np.ndarray  # places of a zero and the constraints of each table; values, then lookups, then ends
    alphas: np.ndarray  # by which power of alpha each of them is multiplied
    first_constraints: np.ndarray  # of each table

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.leaves) + sum(len(step.a) for step in self.steps)


@lru_cache(maxsize=16)  # of what is much smaller than the proofs
def circuit(tables: tuple[AirDescription, ...]) -> Circuit:
    """The circuit of these tables."""
    leaves, literals, steps, places = _values(tables)
    nodes = [[places[table, node] for node in range(len(air.nodes))] for table, air in enumerate(tables)]
    values = len(leaves) + sum(len(step.a) for step in steps)
    lookups = [(table, lookup) for table, air in enumerate(tables) for lookup in air.lookups]
    tuples = [(table, i, entry) for i, (table, lookup) in enumerate(lookups) for entry in lookup.tuples]
    width = max((len(entry.fields) for _, _, entry in tuples), default=0)
    fields = [
        [0] * (width - len(entry.fields)) + [nodes[table][field] for field in entry.fields]
        for table, _, entry in tuples
    ]
    with_lookups = [table for table, air in enumerate(tables) if air.lookups]
    counts = [len(tables[table].lookups) for table in with_lookups]
    *first_lookups, _ = accumulate(counts, initial=0)
    accumulators = [first + i for i, first in enumerate(first_lookups)]
    constraints: list[list[int]] = []
    for table, air in enumerate(tables):
        of_table = [0, *(nodes[table][node] for node in air.constraints)]
        if air.lookups:
            number = with_lookups.index(table)
            first = values + first_lookups[number]
            of_table += range(first, first + len(air.lookups))
            of_table += [values + len(lookups) + end * len(with_lookups) + number for end in range(ENDS)]
        constraints.append(of_table)
    return Circuit(
        leaves=_indices(leaves),
        literals=np.array(literals, dtype=np.uint64),
        steps=tuple(steps),
        fields=_indices(fields).reshape(len(tuples), width),
        multiplicities=_indices([nodes[table][entry.multiplicity] for table, _, entry in tuples]),
        lookup_of_tuple=_indices([i for _, i, _ in tuples]),
        tuples=_padded([len(lookup.tuples) for _, lookup in lookups]),
        accumulators=_indices(accumulators),
        fractions=np.delete(np.arange(len(lookups) + len(with_lookups)), accumulators),
        first_lookups=_indices(first_lookups),
        constraints=_indices([place for of_table in constraints for place in of_table]),
        alphas=_indices([power for of_table in constraints for power in range(len(of_table) - 1, -1, -1)]),
        first_constraints=_indices([0, *accumulate(map(len, constraints[:-1]))]),
    )


def _values(
    tables: Sequence[AirDescription],
) -> tuple[list[int], list[int], list[Step], dict[tuple[int, int], int]]:
    """The leaves, the literals, the steps, and for each table and node of it the place of its value."""
    *opened, first_public = accumulate((2 * (air.main_width + air.preprocessed_width) for air in tables), initial=0)
    *public, first_selector = accumulate((air.num_public_values for air in tables), initial=first_public)
    first_literal = first_selector + SELECTORS * len(tables)
    literals = {0: first_literal}
    leaves, places = [first_literal], dict[tuple[int, int], int]()
    inner: dict[tuple[int, int], list[tuple[int, int]]] = {}  # by depth and operation
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
    """A row for each count: as many of the numbers 0, 1, 2 ... as it says, then how many there are in all."""
    rows = np.full((len(counts), max(counts, default=0)), sum(counts), dtype=np.intp)
    rows[np.arange(rows.shape[1]) < _indices(counts)[:, None]] = np.arange(sum(counts))
    return rows
