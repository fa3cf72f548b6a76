"""Warnings about values that a prover can choose freely: unread columns and public values, unconstrained tables."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graphprover.air.air import Air
from graphprover.air.expression import MAIN, PREPROCESSED, PUBLIC

_SHOWN = 5  # names in a message


@dataclass(frozen=True)
class Unread:
    """A warning about a part of a table that a proof does not constrain, which may be unintended."""

    table: str
    reason: str

    def __str__(self) -> str:
        return f"table {self.table}: {self.reason}"


def unread(airs: Iterable[Air]) -> list[Unread]:
    """Return warnings for unread columns and public values, and for tables without constraints or preprocessed columns.

    Names in the attribute ``unread`` of a table are skipped, and equal warnings are reported once.
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
