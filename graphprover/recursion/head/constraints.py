"""Gates for the constraint identity of all tables at the out-of-domain point, and for the balance of the buses.

They state what `graphprover.protocol.verification` checks after the transcript: each table's folded constraints equal
its quotient times the vanishing polynomial. The terminals of all tables add up to zero, or to the total of a shard.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.air.description import AirDescription
from graphprover.air.expression import ADD, CONST, FIRST, LAST, MAIN, MUL, NEG, PREPROCESSED, PUBLIC, SUB, TRANSITION
from graphprover.air.lookups import Lookup
from graphprover.protocol import layout as rounds
from graphprover.protocol.layout import Layout
from graphprover.protocol.lookup import bus_numbers, max_tuple_width
from graphprover.recursion.head import terms
from graphprover.recursion.head.domains import Domain, chunks_of, domains_of
from graphprover.recursion.head.gates import Gates
from graphprover.recursion.head.inputs import GateInputs, check_shape, element_at


@dataclass(frozen=True)
class _Shared:
    """Values that all tables share."""

    alpha: int
    tau: Sequence[int]  # its powers
    prefixes: Sequence[int]  # by bus number: constant terms of denominators


def add_constraints(gates: Gates, layout: Layout, inputs: GateInputs) -> None:
    """Add the gates and checks of the constraints of all tables, and of the sum of their terminals.

    Args:
        gates: The gates to add to.
        layout: Shape of the proof.
        inputs: Addresses of the proof's values and of its challenges.

    Raises:
        ValueError: The layout has no lookups, or a table of one row.
    """
    check_shape(layout)
    domains = domains_of(gates, layout, gates.at(inputs.zeta))
    shared, numbers, starts = _shared(gates, layout, inputs), bus_numbers(layout.tables), _starts(layout)
    chunk, joined = inputs.joined_quotient, inputs.joined_permutation
    for table, air in enumerate(layout.tables):
        log_height, log_chunks = layout.log_heights[table], layout.log_chunks[table]
        domain = domains[log_height]
        nodes = _nodes(gates, air, domain, (inputs.opened, starts[table]), inputs.public_values[table])
        constraints = [nodes[node] for node in air.constraints]
        if air.lookups:
            columns = [gates.at(joined + i) for i in range(len(air.lookups) + 1)]
            following = gates.at(joined + len(columns))  # the accumulator at the next row's point
            terminal = element_at(gates, inputs.terminals, layout.lookup_tables.index(table))
            for lookup, number, fraction in zip(air.lookups, numbers[table], columns[1:], strict=True):
                constraints.append(_fraction(gates, shared, lookup, nodes, number, fraction))
            constraints += _ends(gates, domain, columns, following, terminal)
            joined += 2 * len(columns)
        folded = gates.zero
        for constraint in constraints:
            folded = terms.total(gates, terms.product(gates, folded, shared.alpha), constraint)
        chunks = chunks_of(gates, domain, log_height, log_chunks)
        quotient = gates.zero
        for i, weight in enumerate(chunks.weights):
            quotient = terms.total(gates, quotient, terms.product(gates, weight, gates.at(chunk + i)))
        chunk += len(chunks.weights)
        expected = terms.product(gates, quotient, chunks.scale)
        terms.require_zero(gates, terms.difference(gates, folded, expected))
    balance = gates.zero
    for i in range(len(layout.lookup_tables)):
        balance = gates.sum(balance, element_at(gates, inputs.terminals, i))
    if layout.shard:
        balance = gates.difference(balance, gates.at(inputs.total))
    gates.require_zero(balance)


def _shared(gates: Gates, layout: Layout, inputs: GateInputs) -> _Shared:
    tau = [gates.one, gates.at(inputs.tau)]
    width = max_tuple_width(layout.tables)
    while len(tau) <= width:
        tau.append(gates.product(tau[-1], tau[1]))
    prefixes = [gates.sum(gates.at(inputs.sigma), tau[width])]
    while len(prefixes) <= max(number for of_table in bus_numbers(layout.tables) for number in of_table):
        prefixes.append(gates.sum(prefixes[-1], tau[width]))
    return _Shared(gates.at(inputs.alpha), tau, prefixes)


def _starts(layout: Layout) -> list[dict[int, int]]:
    """Return for each table the index of its first opened value in the transcript, of main and preprocessed columns."""
    starts: list[dict[int, int]] = [{} for _ in layout.tables]
    kinds, value = {rounds.MAIN: MAIN, rounds.PREPROCESSED: PREPROCESSED}, 0
    for round_ in layout.rounds:
        for matrix in round_.matrices:
            if round_.name in kinds:
                starts[matrix.table][kinds[round_.name]] = value
            value += len(matrix.points) * matrix.width
    return starts


def _nodes(
    gates: Gates, air: AirDescription, domain: Domain, opened: tuple[int, dict[int, int]], public: Sequence[int]
) -> list[int]:
    """Return the terms of all nodes of a table; a description has no node that nothing reads."""
    base, starts = opened
    widths = {MAIN: air.main_width, PREPROCESSED: air.preprocessed_width}
    selectors = {FIRST: domain.first, LAST: domain.last, TRANSITION: domain.transition}
    found: list[int] = []
    for op, a, b in air.nodes:
        if op == MUL:
            term = terms.product(gates, found[a], found[b])
        elif op == ADD:
            term = terms.total(gates, found[a], found[b])
        elif op == SUB:
            term = terms.difference(gates, found[a], found[b])
        elif op == NEG:
            term = ~found[a]
        elif op == CONST:
            term = terms.literal(gates, a)
        elif op == PUBLIC:
            term = gates.at(public[a])
        elif op in selectors:
            term = selectors[op]
        else:
            term = element_at(gates, base, starts[op] + b * widths[op] + a)
        found.append(term)
    return found


def _fraction(gates: Gates, shared: _Shared, lookup: Lookup, nodes: Sequence[int], number: int, fraction: int) -> int:
    """Return a lookup's constraint: its fraction column is the sum of multiplicity / denominator of its tuples."""
    numerator, denominator = gates.zero, gates.one
    for entry in lookup.tuples:
        term = _denominator(gates, shared, [nodes[field] for field in entry.fields], shared.prefixes[number])
        own = terms.product(gates, nodes[entry.multiplicity], denominator)
        numerator = terms.total(gates, terms.product(gates, numerator, term), own)
        denominator = terms.product(gates, denominator, term)
    return terms.difference(gates, terms.product(gates, denominator, fraction), numerator)


def _denominator(gates: Gates, shared: _Shared, fields: Sequence[int], prefix: int) -> int:
    """Return prefix - sum of tau^i times field i, counted from the last one.

    Literals come first, because many tuples have the same ones, so that their gates are shared.
    """
    weighted = [(field, shared.tau[-i - 1]) for i, field in enumerate(fields, -len(fields))]
    denominator = prefix
    for field, power in sorted(weighted, key=lambda pair: not terms.is_literal(gates, pair[0])):
        denominator = terms.difference(gates, denominator, terms.product(gates, field, power))
    return denominator


def _ends(gates: Gates, domain: Domain, columns: Sequence[int], following: int, terminal: int) -> list[int]:
    """Return the constraints of an accumulator on the first row, on transitions and on the last row."""
    after = columns[0]
    for fraction in columns[1:]:
        after = gates.sum(after, fraction)
    return [
        terms.product(gates, domain.first, columns[0]),
        terms.product(gates, domain.transition, gates.difference(following, after)),
        terms.product(gates, domain.last, gates.difference(terminal, after)),
    ]
