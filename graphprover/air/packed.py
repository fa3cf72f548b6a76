"""Descriptions as plain tuples, which ``marshal`` reads 10 times faster than the definition of a table runs."""

from itertools import chain
from typing import Any

from graphprover.air.description import AirDescription
from graphprover.air.lookups import Interaction, Lookup, Message

# Attributes that a description computes on demand, and that are packed with it.
_COMPUTED = ("degrees", "depths", "log_quotient_chunks")
_PLAIN = (
    "name", "main_width", "preprocessed_width", "num_public_values", "main_names", "preprocessed_names",
    "public_names", "nodes", "constraints", "constraint_labels",
)  # fmt: skip


def pack(air: AirDescription) -> tuple[Any, ...]:
    """Return a description, its degrees and its fraction columns as tuples, strings, integers and None."""
    messages = {id(t): number for number, t in enumerate(_messages(air.locals, air.globals))}
    return (
        tuple(getattr(air, name) for name in (*_PLAIN, *_COMPUTED)),
        tuple(tuple(map(_interaction, interactions)) for interactions in (air.locals, air.globals)),
        tuple((lookup.bus, tuple(messages[id(t)] for t in lookup.tuples)) for lookup in air.lookups),
    )


def unpack(packed: tuple[Any, ...]) -> AirDescription:
    """Return the description that `pack` was called with."""
    plain, interactions, columns = packed
    both = [tuple(Interaction(bus, tuple(Message(*t) for t in tuples), label) for bus, tuples, label in own)
            for own in interactions]  # fmt: skip
    air = AirDescription(**dict(zip(_PLAIN, plain, strict=False)), locals=both[0], globals=both[1])
    messages = list(_messages(*both))
    computed = dict(zip(_COMPUTED, plain[len(_PLAIN) :], strict=True))
    computed["lookups"] = tuple(Lookup(bus, tuple(messages[number] for number in of)) for bus, of in columns)
    air.__dict__.update(computed)
    return air


def _interaction(interaction: Interaction) -> tuple[Any, ...]:
    tuples = tuple((t.fields, t.multiplicity, t.weight) for t in interaction.tuples)
    return interaction.bus, tuples, interaction.label


def _messages(*interactions: tuple[Interaction, ...]) -> chain[Message]:
    return chain.from_iterable(interaction.tuples for interaction in chain(*interactions))
