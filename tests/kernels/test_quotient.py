"""A table's quotient on a CPU does not depend on the previous extension of its columns."""

from functools import partial

import numpy as np
import pytest

from graphprover.air import Air, TableBuilder
from graphprover.device.threads import Threads
from graphprover.kernels.cpu import ntt
from graphprover.kernels.cpu.quotient import quotient
from graphprover.kernels.operands import Operands
from tests.kernels.words import random_words


class Power(Air):
    """A constraint of a chosen degree on cells, a preprocessed column and the next row."""

    preprocessed = ("c",)
    columns = ("x", "y")

    def __init__(self, degree: int) -> None:
        self.degree = degree

    def preprocessed_trace(self) -> np.ndarray:
        return np.arange(64, dtype=np.uint64)[None]

    def define(self, t: TableBuilder) -> None:
        power = t.y * t.c
        for _ in range(self.degree - 2):
            power = power * t.x
        t.every_row(power - t.next.y)


@pytest.mark.parametrize("log_rows", [3, 8, 11])
@pytest.mark.parametrize(("degree", "log_chunks"), [(3, 1), (5, 2), (9, 3)])
def test_at_every_rate(degree: int, log_chunks: int, log_rows: int) -> None:
    air, threads = Power(degree).describe(), Threads(2)
    assert air.log_quotient_chunks == log_chunks
    extend = partial(ntt.coset_ldes, threads, log_chunks=[0], shift=7, bit_reversed_source=False)
    traces = random_words(1, 2, 1 << log_rows), random_words(2, 1, 1 << log_rows)
    found = []
    for log_blowup in (1, 2, 3, 4):
        main, fixed = (extend([trace], log_cosets=log_blowup)[0] for trace in traces)
        (made,) = quotient(threads, [Operands(air, main, fixed, [], [])], (1, 2, 3), (4, 5, 6), log_blowup)
        found.append(made)
    assert found[-1].shape == (3, 1 << log_rows + log_chunks)
    for other in found:
        np.testing.assert_array_equal(other, found[-1])
