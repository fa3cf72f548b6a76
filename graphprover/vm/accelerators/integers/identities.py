"""Identities of integers, each stated once: a polynomial of degree 2 that is 0, or a multiple of a prime.

Of the same polynomial are made

- the constraints of a table, limb by limb of 32 bits: `limb`, on the cells that hold the integers;
- the sums that the CPU's kernel writes carries and quotients of: `terms`, which `cpu.limb_sums` evaluates;
- the CUDA source of the same sums: `source`;
- the integer itself, by which tests judge the computation: `value`.

Integers are held as halves of 16 bits, or as limbs. A factor of a product is an integer in halves or a difference of
two; its halves may be negative.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from graphprover.vm.accelerators.table import limbs_of, product


class Polynomial:
    """A polynomial of integers."""

    def __add__(self, other: "Polynomial") -> "Polynomial":
        return Total(self, other, 1)

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return Total(self, other, -1)

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        return Times(self, other)

    def __rmul__(self, factor: int) -> "Polynomial":
        return Scaled(factor, self)


@dataclass(frozen=True)
class Integer(Polynomial):
    """An integer of the call, by its name."""

    name: str


@dataclass(frozen=True)
class Coefficient(Polynomial):
    """A small signed constant of the call, by its name: all of it is in the lowest limb."""

    name: str


@dataclass(frozen=True)
class Total(Polynomial):
    """A sum or, with ``sign`` = -1, a difference."""

    left: Polynomial
    right: Polynomial
    sign: int


@dataclass(frozen=True)
class Times(Polynomial):
    """A product."""

    left: Polynomial
    right: Polynomial


@dataclass(frozen=True)
class Scaled(Polynomial):
    """A multiple by a constant."""

    factor: int
    of: Polynomial


@dataclass(frozen=True)
class Lifted(Polynomial):
    """Minus an integer times 2^32 to its number of limbs, if the call has a flag; else 0."""

    flag: str
    of: Integer


@dataclass(frozen=True)
class Either(Polynomial):
    """One of two polynomials, by a flag of the call."""

    flag: str
    if_one: Polynomial
    if_zero: Polynomial


def named(names: Iterable[str]) -> list[Integer]:
    """Return integers of these names."""
    return list(map(Integer, names))


@dataclass(frozen=True)
class IntegerLayout:
    """The places of a call's integers in its rows: by name, a row and the name of its cells there."""

    names: tuple[str, ...]  # of all integers and constants; kernels number them in this order
    halves: Mapping[str, tuple[int, str]]
    limbs: Mapping[str, tuple[int, str]]

    def places(self, columns: Mapping[str, int]) -> "Places":
        """Return the places for `cpu.put_integers`; ``columns``: the first column of each name of cells."""
        halves, limbs = (
            np.array([(self.names.index(name), row, columns[cells]) for name, (row, cells) in of.items()])
            for of in (self.halves, self.limbs)
        )
        return Places(halves, limbs)

    def terms(self, of: Polynomial, flags: Collection[str], count: int) -> "Terms":
        """Return a polynomial as sums; see `terms`."""
        return terms(of, self.names, flags, count)


@dataclass(frozen=True)
class Held:
    """The cells that hold the integers of an identity, in a row and the next one."""

    layout: IntegerLayout
    t: Any  # the cells of the row; ``t.next`` of the next one
    row: int  # its place in a call
    small: Mapping[str, Any] = field(default_factory=dict)  # flags, and constants

    def _cells(self, place: tuple[int, str]) -> Sequence[Any]:
        row, name = place
        cells: Sequence[Any] = (self.t, self.t.next)[row - self.row][name]
        return cells

    def factor(self, x: Polynomial) -> list[Any]:
        """Return the halves of a factor."""
        if isinstance(x, Total) and x.sign == -1:
            return [above - below for above, below in zip(self.factor(x.left), self.factor(x.right), strict=True)]
        assert isinstance(x, Integer)
        return list(self._cells(self.layout.halves[x.name]))

    def number(self, name: str) -> Sequence[Any]:
        """Return the limbs of an integer."""
        if name in self.layout.halves:
            return limbs_of(self._cells(self.layout.halves[name]))
        return self._cells(self.layout.limbs[name])


def limbs(of: Polynomial, held: Held, count: int) -> Callable[[int], Any]:
    """Return a function from i to the i-th limb, before carries, for integers of ``count`` limbs."""
    numbers: dict[str, Sequence[Any]] = {}
    factors: dict[Polynomial, list[Any]] = {}
    for part in _parts(of):
        if isinstance(part, Integer) and part.name not in numbers:
            numbers[part.name] = held.number(part.name)
        if isinstance(part, Times):
            for x in (part.left, part.right):
                if x not in factors:
                    factors[x] = held.factor(x)

    def limb(x: Polynomial, i: int) -> Any:
        if isinstance(x, Integer):
            return numbers[x.name][i] if i < count else 0
        if isinstance(x, Coefficient):
            return held.small[x.name] if i == 0 else 0
        if isinstance(x, Total):
            left, right = limb(x.left, i), limb(x.right, i)
            return left + right if x.sign == 1 else left - right
        if isinstance(x, Times):
            return product(factors[x.left], factors[x.right], i)
        if isinstance(x, Scaled):
            return x.factor * limb(x.of, i)
        if isinstance(x, Lifted):
            return -held.small[x.flag] * numbers[x.of.name][i - count] if i >= count else 0
        assert isinstance(x, Either)
        flag = held.small[x.flag]
        return (1 - flag) * limb(x.if_zero, i) + flag * limb(x.if_one, i)

    return lambda i: limb(of, i)


def value(of: Polynomial, known: Mapping[str, int], count: int) -> int:
    """Return the integer, of known integers, constants and flags."""
    if isinstance(of, Integer | Coefficient):
        return known[of.name]
    if isinstance(of, Total):
        return value(of.left, known, count) + of.sign * value(of.right, known, count)
    if isinstance(of, Times):
        return value(of.left, known, count) * value(of.right, known, count)
    if isinstance(of, Scaled):
        return of.factor * value(of.of, known, count)
    if isinstance(of, Lifted):
        return -known[of.flag] * known[of.of.name] << 32 * count
    assert isinstance(of, Either)
    return value(of.if_one if known[of.flag] else of.if_zero, known, count)


class Places(NamedTuple):
    """The places of a call's integers, for `cpu.put_integers`: int64 (integers, 3), an integer, a row and a column."""

    halves: np.ndarray
    limbs: np.ndarray


class Terms(NamedTuple):
    """A polynomial as sums, for `cpu.limb_sums`. Integers and constants are numbered in the order of their names."""

    factors: np.ndarray  # int64 (factors, 2): an integer, and one that is subtracted or -1
    products: np.ndarray  # int64 (products, 3): a weight and two factors
    others: np.ndarray  # int64 (integers, 3): a weight, an integer, and the limbs by which it is lifted


def terms(of: Polynomial, names: Sequence[str], flags: Collection[str], count: int) -> Terms:
    """Return a polynomial of these integers of ``count`` limbs, with these flags of the call and no others, as sums."""
    factors: dict[Polynomial, int] = {}
    products: list[tuple[int, int, int]] = []
    others: list[tuple[int, int, int]] = []

    def add(x: Polynomial, weight: int) -> None:
        if isinstance(x, Integer | Coefficient):
            others.append((weight, names.index(x.name), 0))
        elif isinstance(x, Total):
            add(x.left, weight)
            add(x.right, weight * x.sign)
        elif isinstance(x, Times):
            first, second = (factors.setdefault(factor, len(factors)) for factor in (x.left, x.right))
            products.append((weight, first, second))
        elif isinstance(x, Scaled):
            add(x.of, weight * x.factor)
        elif isinstance(x, Lifted):
            others.extend([(-weight, names.index(x.of.name), count)] * (x.flag in flags))
        elif isinstance(x, Either):
            add(x.if_one if x.flag in flags else x.if_zero, weight)

    def pair(factor: Polynomial) -> tuple[int, int]:
        if isinstance(factor, Integer):
            return names.index(factor.name), -1
        assert isinstance(factor, Total) and factor.sign == -1
        assert isinstance(factor.left, Integer) and isinstance(factor.right, Integer)
        return names.index(factor.left.name), names.index(factor.right.name)

    add(of, 1)
    return Terms(
        np.array([pair(factor) for factor in factors], dtype=np.int64).reshape(-1, 2),
        np.array(products, dtype=np.int64).reshape(-1, 3),
        np.array(others, dtype=np.int64).reshape(-1, 3),
    )


def sources(prefix: str, *identities: Polynomial) -> dict[str, str]:
    """Return the sources of polynomials by a prefix and their index, as defines; see `source`."""
    return {f"{prefix}_{i}": source(of) for i, of in enumerate(identities)}


def source(of: Polynomial) -> str:
    """Return the i-th limb, before carries, as an expression of C++, for integers of N limbs.

    An integer x has its limbs in the array ``x``, its halves in ``of_x``; a difference x - y of factors has its halves
    in ``of_x_y``. Constants and flags are variables.
    """
    if isinstance(of, Integer):
        return f"(i < N ? (i64){of.name}[i] : 0)"
    if isinstance(of, Coefficient):
        return f"(i == 0 ? {of.name} : 0)"
    if isinstance(of, Total):
        return f"({source(of.left)} {'+' if of.sign == 1 else '-'} {source(of.right)})"
    if isinstance(of, Times):
        return f"product<N>({_halves(of.left)}, {_halves(of.right)}, i)"
    if isinstance(of, Scaled):
        return f"{of.factor} * {source(of.of)}"
    if isinstance(of, Lifted):
        return f"({of.flag} && i >= N ? -(i64){of.of.name}[i - N] : 0)"
    assert isinstance(of, Either)
    return f"({of.flag} ? {source(of.if_one)} : {source(of.if_zero)})"


def _halves(factor: Polynomial) -> str:
    """Return the name of the array of a factor's halves."""
    if isinstance(factor, Integer):
        return f"of_{factor.name}"
    assert isinstance(factor, Total) and isinstance(factor.left, Integer) and isinstance(factor.right, Integer)
    return f"of_{factor.left.name}_{factor.right.name}"


def _parts(of: Polynomial) -> Iterator[Polynomial]:
    """Yield the summands of a polynomial, and the parts that they are made of but for factors."""
    yield of
    for name in ("left", "right", "of", "if_one", "if_zero"):
        part = getattr(of, name, None)
        if part is not None and not isinstance(of, Times):
            yield from _parts(part)
