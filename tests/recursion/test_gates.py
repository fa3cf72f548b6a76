"""Gates on memory: their values, words and places."""

import random

import pytest

from graphprover.air.expression import ADD, MUL, SUB
from graphprover.field import (
    ZERO,
    Ext,
    P,
    ext,
    ext_add,
    ext_inv,
    ext_mul,
    ext_sub,
)
from graphprover.recursion.head import terms
from graphprover.recursion.head.gates import Gates
from graphprover.recursion.head.placed import placed
from tests.recursion.gate_memory import (
    BASE,
    LITERALS,
    check_words,
    failed,
    filled,
)


def some_gates(seed: int, count: int) -> tuple[Gates, list[Ext], dict[int, Ext]]:
    """Return gates with the value of each, in Python's arithmetic, and the memory of the cells that they read."""
    rng = random.Random(seed)
    gates = Gates()
    values: dict[int, Ext] = {gates.zero: ZERO, gates.one: ext(1)}
    memory = {}
    for address in range(1000, 1010):
        memory[address] = values[gates.at(address)] = tuple(rng.randrange(P) for _ in range(3))
    for element in (0, 1, -1, 2, P - 2, P + 3):
        values[gates.literal(element)] = ext(element)
    operations = {
        gates.product: ext_mul,
        gates.sum: ext_add,
        gates.difference: ext_sub,
    }
    while len(values) < count:
        x, y = rng.choices(list(values), k=2)
        for build, operation in operations.items():
            value = build(x, y)
            result = operation(values[x], values[y])
            assert values.setdefault(value, result) == result
        if values[x] != ZERO and not rng.randrange(50):
            inverse = values.setdefault(gates.inverse(x), ext_inv(values[x]))
            product = gates.product(gates.inverse(x), x)
            values.update({product: ext(1), gates.difference(product, gates.one): ZERO})
            assert inverse == ext_inv(values[x])
    return gates, [values[value] for value in range(len(gates.kinds))], memory


@pytest.mark.parametrize(("seed", "count"), [(1, 100), (2, 400), (3, 900)])
def test_values_are_pythons(seed: int, count: int) -> None:
    gates, values, memory = some_gates(seed, count)
    of = placed(gates, BASE, LITERALS, 0)
    memory = filled(of, memory)
    assert [memory[of.address_of(value)] for value in range(len(values))] == values
    check_words(of, memory)
    assert failed(of, memory) == []
    assert gates.checks or count == 100


def test_gates_are_built_once() -> None:
    gates = Gates()
    x, y = gates.at(5), gates.at(9)
    before = len(gates.kinds)
    assert gates.product(x, y) == gates.product(y, x) == before
    assert gates.sum(x, y) == gates.sum(y, x) == before + 1
    assert gates.difference(x, y) != gates.difference(y, x)
    assert gates.at(5) == x
    assert gates.literal(P + 7) == gates.literal(7)


def test_trivial_gates_are_folded() -> None:
    gates = Gates()
    x, two, three = gates.at(5), gates.literal(2), gates.literal(3)
    assert gates.product(x, gates.zero) == gates.product(gates.zero, x) == gates.difference(x, x) == gates.zero
    for same in (
        gates.product(x, gates.one),
        gates.product(gates.one, x),
        gates.sum(x, gates.zero),
        gates.sum(gates.zero, x),
        gates.difference(x, gates.zero),
    ):
        assert same == x
    assert gates.product(two, three) == gates.literal(6)
    assert gates.sum(two, three) == gates.literal(5)
    assert gates.difference(two, three) == gates.literal(P - 1)
    gates.require_zero(gates.zero)
    assert gates.checks == []
    assert not {ADD, SUB, MUL} & set(gates.kinds)


def test_terms_are_signed() -> None:
    gates = Gates()
    x, y = gates.at(5), gates.at(9)
    values = {x: (1, 2, 3), y: (4, P - 5, 6)}

    def signed(term: int) -> Ext:
        value = values[term if term >= 0 else ~term]
        return value if term >= 0 else ext_sub(ZERO, value)

    built_terms = {}
    for a in (x, ~x):
        for b in (y, ~y):
            built_terms[terms.product(gates, a, b)] = ext_mul(signed(a), signed(b))
            built_terms[terms.total(gates, a, b)] = ext_add(signed(a), signed(b))
            built_terms[terms.difference(gates, a, b)] = ext_sub(signed(a), signed(b))
    of = placed(gates, BASE, LITERALS, 0)
    memory = filled(of, {5: values[x], 9: values[y]})
    for term, expected in built_terms.items():
        values[term if term >= 0 else ~term] = memory[of.address_of(term if term >= 0 else ~term)]
        assert signed(term) == expected
    assert terms.literal(gates, P - 3) == ~gates.literal(3)
    assert terms.literal(gates, P // 2) == gates.literal(P // 2)


def test_an_inverse_is_checked() -> None:
    gates = Gates()
    gates.inverse(gates.at(5))
    of = placed(gates, BASE, LITERALS, 0)
    memory = filled(of, {5: (7, 8, 9)})
    free = BASE + 256 * sum(of.chunks)
    assert memory[free] == ext_inv((7, 8, 9))
    assert failed(of, memory) == []
    false = {**memory, free: (1, 0, 0)}  # its product is another one, too
    (product,) = (a for a, kind in zip(of.addresses.tolist()[of.cells + 2 :], of.kinds, strict=True) if kind == MUL)
    false[product] = (7, 8, 9)
    false[of.checks[0]] = (6, 8, 9)
    check_words(of, false)
    assert failed(of, false)
    with pytest.raises(ZeroDivisionError):
        filled(of, {5: ZERO})


@pytest.mark.parametrize(("count", "chunks"), [(0, 0), (1, 1), (127, 1), (128, 2), (254, 2)])
def test_chunks_have_127_gates(count: int, chunks: int) -> None:
    gates = Gates()
    for i in range(count):
        gates.sum(gates.at(2 * i), gates.at(2 * i + 1))
    of = placed(gates, BASE, LITERALS, 0)
    assert of.chunks == (0, chunks, 0)
    expected = [[0, *[LITERALS * (1 + 2**32)] * 127] for _ in range(chunks)]
    for i in range(count):
        expected[i // 127][1 + i % 127] = 2 * i + 2**32 * (2 * i + 1)
    assert of.words.reshape(-1, 128).tolist() == expected


def test_addresses_are_limited() -> None:
    gates = Gates()
    gates.sum(gates.at(5), gates.at(2**31))
    with pytest.raises(ValueError, match=r"addresses below 2\^31"):
        placed(gates, BASE, LITERALS, 0)
