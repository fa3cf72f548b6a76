"""The register machine and the domain's tables against row-by-row evaluation in Python integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.air import Air
from graphprover.air.air import TableBuilder
from graphprover.air.bytecode import lookup_bytecode, quotient_bytecode
from graphprover.field import P, inv, reverse_bits, root_of_unity
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cpu import domain
from graphprover.kernels.cpu.bytecode import BLOCK, evaluate
from tests import naive
from tests.air.strategies import descriptions, extensions
from tests.kernels.words import random_words


def column(matrix: np.ndarray, row: int) -> list[int]:
    return matrix[:, row].tolist()


def ext_column(matrix: np.ndarray, row: int) -> list[tuple[int, ...]]:
    words = matrix[:, row].tolist()
    return [tuple(words[i : i + 3]) for i in range(0, len(words), 3)]


@settings(max_examples=40, deadline=None)
@given(
    descriptions,
    st.integers(0, 10),
    st.integers(0, 1),
    st.integers(0, 2**32),
    st.tuples(extensions, extensions, extensions),
    st.data(),
)
def test_quotient(description, log_rows, log_chunks, seed, challenges, data):
    size = 1 << (log_rows + log_chunks)
    main = random_words(seed, description.main_width, 2 * size)  # the extension is larger than the quotient domain
    preprocessed = random_words(seed + 1, description.preprocessed_width, size)
    permutation = random_words(seed + 2, 3 * (len(description.lookups) + 1), size)
    selectors = domain.selectors(log_rows, log_chunks)
    public = random_words(seed + 3, description.num_public_values).tolist()
    prefixes = [tuple(words) for words in random_words(seed + 4, len(description.lookups), 3).tolist()]
    tau, alpha, terminal = challenges
    bytecode = quotient_bytecode(description)
    filled = constants(bytecode, public, prefixes, tau, alpha, terminal)
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size))
    target = np.full((3, size), 77, dtype=np.uint64)
    matrices = (main, preprocessed, permutation, selectors)
    evaluate(bytecode, filled, matrices, (target,), log_rows, True, first, last)
    assert (target[:, :first] == 77).all() and (target[:, last:] == 77).all()
    for row in {first, last - 1, *np.linspace(first, last - 1, 12).astype(int).tolist()} if last > first else ():
        after = naive.next_row(row, log_rows, log_chunks)
        view = naive.Row(
            main=(column(main, row), column(main, after)),
            preprocessed=(column(preprocessed, row), column(preprocessed, after)),
            public=public,
            selectors=tuple(column(selectors, row)),
            permutation=(ext_column(permutation, row), ext_column(permutation, after)),
        )
        expected = naive.quotient(description, view, prefixes, tau, alpha, terminal)
        assert tuple(column(target, row)) == expected


@settings(max_examples=40, deadline=None)
@given(descriptions, st.integers(0, 10), st.integers(0, 2**32), extensions, st.data())
def test_lookups(description, log_rows, seed, tau, data):
    size = 1 << log_rows
    main = random_words(seed, description.main_width, size)
    preprocessed = random_words(seed + 1, description.preprocessed_width, size)
    public = random_words(seed + 3, description.num_public_values).tolist()
    prefixes = [tuple(words) for words in random_words(seed + 4, len(description.lookups), 3).tolist()]
    tuples = [(prefixes[i], entry) for i, lookup in enumerate(description.lookups) for entry in lookup.tuples]
    bytecode = lookup_bytecode(description)
    filled = constants(bytecode, public, prefixes, tau)
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size))
    denominators = np.empty((3 * len(tuples), last - first), dtype=np.uint64)
    multiplicities = np.empty((len(tuples), last - first), dtype=np.uint64)
    matrices = (main, preprocessed, None, domain.indicators(size))
    evaluate(bytecode, filled, matrices, (denominators, multiplicities), log_rows, False, first, last, first)
    for row in {first, last - 1, *np.linspace(first, last - 1, 12).astype(int).tolist()} if last > first else ():
        after = (row + 1) % size
        view = naive.Row(
            main=(column(main, row), column(main, after)),
            preprocessed=(column(preprocessed, row), column(preprocessed, after)),
            public=public,
            selectors=(int(row == 0), int(row == size - 1), int(row != size - 1)),
        )
        nodes = naive.node_values(description, view)
        expected = [naive.denominator([nodes[f] for f in entry.fields], prefix, tau) for prefix, entry in tuples]
        assert ext_column(denominators, row - first) == expected
        assert column(multiplicities, row - first) == [nodes[entry.multiplicity] for _, entry in tuples]


class Next(Air):
    """A table whose constraint is the difference to the next row."""

    columns = ("x",)

    def define(self, t: TableBuilder) -> None:
        t.every_row(t.next.x - t.x)


@pytest.mark.parametrize("log_rows", range(BLOCK.bit_length() + 3))
@pytest.mark.parametrize("log_chunks", [0, 1, 2])
def test_every_next_row_of_the_quotient_domain(log_rows, log_chunks):
    size = 1 << (log_rows + log_chunks)
    main = np.arange(size, dtype=np.uint64)[None]
    selectors = np.ones((4, size), dtype=np.uint64)
    bytecode = quotient_bytecode(Next().describe())
    target = np.empty((3, size), dtype=np.uint64)
    evaluate(bytecode, constants(bytecode, []), (main, None, None, selectors), (target,), log_rows, True, 0, size)
    expected = [(naive.next_row(row, log_rows, log_chunks) - row) % P for row in range(size)]
    assert target[0].tolist() == expected


def test_refuses_arrays_that_do_not_fit():
    bytecode = quotient_bytecode(Next().describe())
    filled = constants(bytecode, [])
    main, selectors = np.zeros((1, 16), dtype=np.uint64), np.zeros((4, 16), dtype=np.uint64)
    target = np.zeros((3, 16), dtype=np.uint64)
    frozen = target.copy()
    frozen.flags.writeable = False
    good = (filled, (main, None, None, selectors), (target,), 4, True, 0, 16)
    evaluate(bytecode, *good)
    bad = [
        {0: filled[:-1]},
        {1: (main[:, :8], None, None, selectors)},
        {1: (None, None, None, selectors)},
        {1: (main.astype(np.int64), None, None, selectors)},
        {1: (np.zeros((1, 32), dtype=np.uint64)[:, ::2], None, None, selectors)},
        {2: (target[:2],)},
        {2: (target[:, :8].copy(),)},
        {2: (frozen,)},
        {6: 17},
        {3: 3, 4: False},
    ]
    for change in bad:
        with pytest.raises(ValueError):
            evaluate(bytecode, *(change.get(i, argument) for i, argument in enumerate(good)))


@pytest.mark.parametrize("log_rows", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("log_chunks", [0, 1, 3])
def test_domain_tables(log_rows, log_chunks):
    log_size = log_rows + log_chunks
    assert domain.points(log_size).tolist() == [naive.domain_point(i, log_size) for i in range(1 << log_size)]
    expected = naive.selectors(log_rows, log_chunks)
    assert [tuple(column) for column in domain.selectors(log_rows, log_chunks).T.tolist()] == expected
    if log_size:
        root, bits = root_of_unity(log_size), log_size - 1
        factors = [inv(2 * pow(root, reverse_bits(i, bits), P)) for i in range(1 << bits)]
        assert domain.fold_factors(log_size).tolist() == factors


def test_one_element_has_no_fold_factors():
    with pytest.raises(ValueError):
        domain.fold_factors(0)
