"""Random tables for hypothesis."""

import random
from typing import Any

from hypothesis import strategies as st

from graphprover.air import Air, Bus, provided, sent
from graphprover.air.air import TableBuilder
from graphprover.air.description import AirDescription
from graphprover.air.expression import FIRST
from graphprover.field import P

EDGES = [0, 1, 2, P - 1, P - 2, 2**32 - 1, 2**32, 2**63]
words = st.sampled_from(EDGES) | st.integers(0, P - 1)
extensions = st.tuples(words, words, words)


class _Random(Air):
    """Expressions, constraints and interactions chosen by a seed; hypothesis would take seconds for each table."""

    name = "random"

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.columns = [f"main{i}" for i in range(self.random.randint(1, 6))]
        self.preprocessed = [f"fixed{i}" for i in range(self.random.randint(0, 2))]
        self.public_values = [f"public{i}" for i in range(self.random.randint(0, 2))]

    def define(self, t: TableBuilder) -> None:
        choose, count = self.random.choice, self.random.randint
        cells = [row[name] for row in (t, t.next) for name in (*self.columns, *self.preprocessed)]
        pool: list[Any] = [*cells, *(t.public[name] for name in self.public_values), t._dag.constant(self.word())]
        for _ in range(count(0, 25)):
            x, y = choose(pool), choose(pool)
            weighted = sum(self.word() * choose(pool) for _ in range(count(2, 20)))
            pool.append(choose([x + y, x - y, x * y, x * self.word(), weighted, -x, x * x]))
        factors = [t._dag.node(FIRST), *cells[:4]]  # few, so that constraints share them
        for _ in range(count(0, 12)):
            zero = choose(pool) - choose(pool)
            zero = choose([zero, choose(factors) * zero])
            choose([t.every_row, t.first_row, t.last_row, t.transition])(zero)

        varying = [x for x in pool if x.value is None]
        bus, width = Bus("bus"), count(1, 5)
        for _ in range(count(0, 5)):
            fields = [choose([choose(pool), self.word()]) for _ in range(width)]
            match count(0, 3):
                case 0:
                    t.send(bus, fields, choose(varying), weight=1)
                case 1:
                    t.receive(bus, fields, choose(varying), weight=2)
                case 2:
                    t.send(bus, fields)
                case 3:
                    t.provide(bus, fields, choose(varying))
        if count(0, 1):
            t.local_lookup(sent([choose(pool)]), provided([choose(pool)], choose(varying)))

    def word(self) -> int:
        return self.random.choice([self.random.choice(EDGES), self.random.randrange(P)])


descriptions: st.SearchStrategy[AirDescription] = st.integers(0, 2**32).map(lambda seed: _Random(seed).describe())
