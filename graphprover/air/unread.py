"""What a table leaves to the prover: columns and public values that nothing reads, rows that nothing constrains."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graphprover.air.air import Air
from graphprover.air.expression import MAIN, PREPROCESSED, PUBLIC

_SHOWN = 5  # names


@dataclass(frozen=True)
class Unread:
    """A part of a table that a proof says nothing about: no error, but perhaps not what was meant."""

    table: str
    reason: str

    def __str__(self) -> str:
        return f"table {self.table}: {self.reason}"


def unread(airs: Iterable[Air]) -> list[Unread]:
    """The columns and public values of these tables that no constraint or message reads, and the tables without a
    constraint, unless their rows are preprocessed.

    What a table declares in its attribute ``unread`` is left out, and of tables that are alike all but one.
    """
    return list(dict.fromkeys(Unread(air.name, reason) for air in airs for reason in _reasons(air)))


def _reasons(air: Air) -> Iterator[str]:
    description = air.describe()
    kinds = (
        ("column", MAIN, description.main_names),
        ("preprocessed column", PREPROCESSED, description.preprocessed_names),
        ("public value", PUBLIC, description.public_names),
    )
    for kind, op, names in kinds:
        missed = [
            name
            for index, name in enumerate(names)
            if (op, index) not in description.read and name.partition("[")[0] not in air.unread
        ]
        if missed:
            shown = ", ".join(missed[:_SHOWN]) + (f" and {len(missed) - _SHOWN} more" if len(missed) > _SHOWN else "")
            yield f"no constraint and no message reads {kind}{'s' * (len(missed) > 1)} {shown}"
    if not description.constraints and not any(op == PREPROCESSED for op, _ in description.read):
        yield "it has no constraint"
