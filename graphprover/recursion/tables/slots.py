"""The messages of a row of `machine`. Each row sends four messages; the row's kind determines which.

A *slot* has one message of each row. Kinds exclude each other, so the message is the sum over kinds of its flag times
the message of this kind. So all kinds share the slot's fraction.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

from graphprover.air import Expr, TableBuilder
from graphprover.recursion.tables.buses import MACHINE


@dataclass(frozen=True)
class SlotMessage:
    """A message of the rows of one kind."""

    when: Expr  # 1 in rows of the kind, else 0
    count: Any  # how often it is sent, negative if it is received; of a provided message, 1 if it can be looked up
    message: Sequence[Any]


@dataclass(frozen=True)
class Slots:
    """The messages of some kinds of rows by slot."""

    answers: tuple[SlotMessage, ...] = field(default=())  # about the program and the compressions of the row
    asks: tuple[SlotMessage, ...] = field(default=())  # about other rows of the table
    first: tuple[SlotMessage, ...] = field(default=())  # that the row provides, with lookups in `asked[0]`
    second: tuple[SlotMessage, ...] = field(default=())  # with lookups in `asked[1]`


def send(t: TableBuilder, said: Iterable[SlotMessage]) -> None:
    """Send a slot's message from every row, or receive it."""
    said = list(said)
    t.send(MACHINE, _mixed(said), _sum(of.when * of.count for of in said), weight=1)


def provide(t: TableBuilder, said: Iterable[SlotMessage], asked: Expr) -> None:
    """Provide a slot's message in every row that is of one of the kinds."""
    said = list(said)
    t.every_row((1 - _sum(of.when * of.count for of in said)) * asked, "a message that can be looked up")
    t.provide(MACHINE, _mixed(said), asked)


def _mixed(said: Sequence[SlotMessage]) -> list[Any]:
    """Return the sum of messages times their flags; a message with the only flag is that message."""
    if len(said) == 1:
        return list(said[0].message)
    return [
        _element([(of.when, element) for of, element in zip(said, column, strict=True)]) for column in _transposed(said)
    ]


def _transposed(said: Sequence[SlotMessage]) -> Iterable[Sequence[Any]]:
    return zip(*(of.message for of in said), strict=True)


def _element(terms: Iterable[tuple[Expr, Any]]) -> Any:
    """Return a sum of products, with one product for each different element."""
    flags: dict[int, tuple[Any, list[Expr]]] = {}
    constant: list[Expr] = []
    for when, element in terms:
        if isinstance(element, Expr):
            flags.setdefault(element.index, (element, []))[1].append(when)
        elif element:
            constant.append(when * element)
    return _sum([*(_sum(whens) * element for element, whens in flags.values()), *constant])


def _sum(terms: Iterable[Any]) -> Any:
    found = list(terms)
    return reduce(add, found) if found else 0
