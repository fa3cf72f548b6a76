"""Table descriptions: expressions, ``Air``, buses, the layout of LogUp columns. `graphprover.check` debugs them."""

from graphprover.air.air import Air, TableBuilder
from graphprover.air.bus import Bus, provided, received, sent
from graphprover.air.description import AirDescription, check_bus_widths, check_multiplicity_bound
from graphprover.air.expression import Expr
from graphprover.air.lookups import Interaction, Lookup, Message

__all__ = [
    "Air",
    "AirDescription",
    "Bus",
    "Expr",
    "Interaction",
    "Lookup",
    "Message",
    "TableBuilder",
    "check_bus_widths",
    "check_multiplicity_bound",
    "provided",
    "received",
    "sent",
]
