"""Description of a table for all other modules: its traced expressions and the quantities derived from them.

Degrees, fraction columns and the number of quotient chunks follow p3-batch-stark (``ProverData::from_airs_and_degrees``
in common.rs, ``get_log_num_quotient_chunks`` in symbolic.rs) on a two-adic domain, without zero-knowledge, so that its
verifier derives the same layout.
"""

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphprover.air.expression import (
    ADD,
    CONST,
    FIRST,
    LAST,
    MAIN,
    MUL,
    NEG,
    PREPROCESSED,
    PUBLIC,
    SUB,
    TRANSITION,
    Node,
)
from graphprover.air.lookups import Interaction, Lookup, Message, pack_same_bus, pin_degree, unpacked
from graphprover.field import EXTENSION_DEGREE, P
from graphprover.runtime.display.notebook import MOST_ROWS, html, quoted

__all__ = ["AirDescription", "Interaction", "Lookup", "Message", "check_bus_widths", "check_multiplicity_bound"]

CANONICAL_MAGIC = b"graphprover air 1"
_LEAF_DEGREE = {CONST: 0, MAIN: 1, PREPROCESSED: 1, PUBLIC: 0, FIRST: 1, LAST: 1, TRANSITION: 0}


def node_degrees(nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the degree of every node in units of the trace length, as Plonky3's ``degree_multiple`` counts it."""
    degrees: list[int] = []
    for op, a, b in nodes:
        if op in (ADD, SUB):
            degrees.append(max(degrees[a], degrees[b]))
        elif op == MUL:
            degrees.append(degrees[a] + degrees[b])
        else:
            degrees.append(degrees[a] if op == NEG else _LEAF_DEGREE[op])
    return tuple(degrees)


def reachable(nodes: Sequence[Node], roots: Iterable[int]) -> list[int]:
    """Return the nodes that ``roots`` depend on, each once, in depth-first post-order: children before parents."""
    order: list[int] = []
    done: set[int] = set()
    for root in roots:
        stack = [root]
        while stack:
            node = stack.pop()
            if node < 0:  # ~node: its children are in `order`
                order.append(~node)
            elif node not in done:
                done.add(node)
                op, a, b = nodes[node]
                if op < ADD:
                    order.append(node)
                else:
                    stack += (~node, a) if op == NEG else (~node, b, a)
    return order


def _listed(names: Sequence[str]) -> str:
    """Return names as text, of many the first ones."""
    more = [f"and {len(names) - MOST_ROWS:,} more"] if len(names) > MOST_ROWS else []
    return ", ".join([*names[:MOST_ROWS], *more])


@dataclass(frozen=True, repr=False)
class AirDescription:
    """One table: its shape, constraints and interactions over one list of nodes (see `graphprover.air.expression`)."""

    name: str  # display name
    main_width: int  # columns of the main trace
    preprocessed_width: int  # columns of the preprocessed trace; 0 without one
    num_public_values: int
    main_names: tuple[str, ...]  # display names, like the next two
    preprocessed_names: tuple[str, ...]
    public_names: tuple[str, ...]
    nodes: tuple[Node, ...]  # distinct nodes used by the fields below, children before parents
    constraints: tuple[int, ...]  # nodes that are zero on every row, in emission order, selectors multiplied in
    constraint_labels: tuple[str, ...]  # one display label for each constraint
    locals: tuple[Interaction, ...]  # local lookups in emission order
    globals: tuple[Interaction, ...]  # interactions with buses in emission order
    packed_for: int = 0  # log2 of the quotient chunks that fraction columns may need (`graphprover.air.degree`)

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        names = {"columns": self.main_names, "preprocessed": self.preprocessed_names}
        names["public values"] = self.public_names
        facts = {kind: _listed(of_kind) for kind, of_kind in names.items() if of_kind}
        degrees = [self.degrees[node] for node in self.constraints]
        rows = zip(self.constraint_labels, degrees, strict=True)
        return html(self._title, facts, [("constraint", "degree"), *rows])

    @property
    def _title(self) -> str:
        degree = max((self.degrees[node] for node in self.constraints), default=0)
        messages = sum(len(interaction.tuples) for interaction in (*self.locals, *self.globals))
        constraints = f"{len(self.constraints)} constraints of degree {degree}"
        return f"Description of {quoted(self.name)}: {self.main_width} columns, {constraints}, {messages} messages"

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Hash of integers only: string hashes differ between processes, and a pickle has this property.

        The name distinguishes tables of one shape, of which a statement may have many.
        """
        name = zlib.crc32(self.name.encode())
        return hash((name, self.main_width, self.preprocessed_width, self.nodes, self.constraints))

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """Degree of every node."""
        return node_degrees(self.nodes)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Most operations between every node and a leaf."""
        depths: list[int] = []
        for op, a, b in self.nodes:
            depths.append(0 if op < ADD else 1 + (depths[a] if op == NEG else max(depths[a], depths[b])))
        return tuple(depths)

    @cached_property
    def main_next(self) -> bool:
        """Whether anything reads the next row of the main trace."""
        return any(op == MAIN and offset for op, _, offset in self.nodes)

    @cached_property
    def preprocessed_next(self) -> bool:
        """Whether anything reads the next row of the preprocessed trace."""
        return any(op == PREPROCESSED and offset for op, _, offset in self.nodes)

    @cached_property
    def read(self) -> frozenset[tuple[int, int]]:
        """Columns and public values that are read, as pairs of MAIN, PREPROCESSED or PUBLIC and an index."""
        return frozenset((op, index) for op, index, _ in self.nodes if op in (MAIN, PREPROCESSED, PUBLIC))

    @cached_property
    def log_quotient_chunks(self) -> int:
        """log2 of the number of chunks of the quotient: as many as constraints and single messages need, or more."""
        alone = unpacked(self.locals, self.globals)
        degree = max((self.degrees[node] for node in self.constraints), default=0)
        degree = max([degree, *(pin_degree(lookup.tuples, self.degrees) for lookup in alone)])
        # The accumulator's constraints have degree 2, which is also Plonky3's minimum for a quotient.
        return max((max(degree, 2) - 2).bit_length(), self.packed_for)

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        """The fraction columns, in order."""
        return pack_same_bus(unpacked(self.locals, self.globals), self.degrees, self.pin_budget)

    @cached_property
    def pin_budget(self) -> int:
        """The largest degree of a fraction column's constraint for which the chunks of the quotient suffice."""
        return (1 << self.log_quotient_chunks) + 1

    @cached_property
    def permutation_width(self) -> int:
        """Base columns of the lookup argument: the accumulator and the fraction columns; 0 without lookups."""
        return EXTENSION_DEGREE * (len(self.lookups) + 1) if self.lookups else 0

    @cached_property
    def total_weight(self) -> int:
        """Bound on the number of messages of one row, over all buses."""
        return sum(t.weight for interaction in (*self.locals, *self.globals) for t in interaction.tuples)

    @cached_property
    def canonical_bytes(self) -> bytes:
        """Canonical encoding of the table's statement, without names and labels except the names of buses.

        64-bit little-endian words after a magic string: the three widths; each list with its length before it: nodes
        (three words each), constraints, then local and global interactions. An interaction is the length and UTF-8
        bytes of its bus (length 0 for a local one), then its tuples: fields, multiplicity, weight.
        """
        parts = [CANONICAL_MAGIC]

        def words(*values: int) -> None:
            parts.append(struct.pack(f"<{len(values)}Q", *values))

        words(self.main_width, self.preprocessed_width, self.num_public_values, len(self.nodes))
        parts.append(np.array(self.nodes, dtype="<u8").tobytes())
        words(len(self.constraints), *self.constraints)
        for interactions in (self.locals, self.globals):
            words(len(interactions))
            for interaction in interactions:
                bus = (interaction.bus or "").encode()
                words(len(bus))
                parts.append(bus)
                words(len(interaction.tuples))
                for t in interaction.tuples:
                    words(len(t.fields), *t.fields, t.multiplicity, t.weight)
        return b"".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON for the Rust interoperability program; node values are integers below 2^64."""

        def tuple_json(t: Message) -> dict[str, Any]:
            return {"fields": list(t.fields), "multiplicity": t.multiplicity, "weight": t.weight}

        return {
            "name": self.name,
            "main_width": self.main_width,
            "preprocessed_width": self.preprocessed_width,
            "num_public_values": self.num_public_values,
            "nodes": [list(node) for node in self.nodes],
            "constraints": list(self.constraints),
            "locals": [{"tuples": [tuple_json(t) for t in i.tuples]} for i in self.locals],
            "globals": [{"bus": i.bus, **tuple_json(i.tuples[0])} for i in self.globals],
        }


def check_bus_widths(descriptions: Iterable[AirDescription]) -> None:
    """Check that all tuples on one bus have one width, over all tables.

    A tuple is fingerprinted by Horner's rule, so a short tuple collides with the same tuple after leading zeros.
    Source: ``check_bus_widths`` of p3-lookup/src/types.rs.

    Raises:
        ValueError: two widths on one bus; the message names the bus and both tables.
    """
    seen: dict[str, tuple[int, str]] = {}
    for description in descriptions:
        for interaction in description.globals:
            assert interaction.bus is not None
            width = len(interaction.tuples[0].fields)
            first_width, first_table = seen.setdefault(interaction.bus, (width, description.name))
            if width != first_width:
                raise ValueError(
                    f"bus {interaction.bus!r} carries tuples of {first_width} elements (table {first_table!r}) and of "
                    f"{width} (table {description.name!r}, {interaction.label}): [x] and [0, x] would be one message"
                )


def check_multiplicity_bound(descriptions: Sequence[AirDescription], heights: Sequence[int]) -> None:
    """Check that the sum of weight times height over all tables is below p, so that no count wraps around.

    Source: ``check_multiplicity_height_bound`` of p3-lookup/src/types.rs.

    Args:
        descriptions: the tables.
        heights: number of rows of each table.

    Raises:
        ValueError: the sum is p or more.
    """
    total = sum(d.total_weight * height for d, height in zip(descriptions, heights, strict=True))
    if total >= P:
        raise ValueError(f"up to {total} messages may be looked up, at least the number of field elements")
