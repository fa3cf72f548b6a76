"""The debugger's evaluation against row-by-row evaluation in Python integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.air import evaluate as evaluation
from graphprover.air.description import AirDescription
from graphprover.air.evaluate import evaluate
from tests import naive
from tests.air.strategies import descriptions
from tests.kernels.words import random_words


@pytest.fixture(autouse=True, scope="module")
def short_blocks():  # type: ignore[no-untyped-def]
    """Set blocks to four rows, so that small traces have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "_BLOCK", 4)
        yield


@settings(deadline=None)
@given(descriptions, st.integers(0, 4), st.integers(0, 2**32))
def test_every_node_on_every_row(description: AirDescription, log_rows: int, seed: int) -> None:
    rows = 1 << log_rows
    main = random_words(seed, description.main_width, rows)
    preprocessed = random_words(seed + 1, description.preprocessed_width, rows)
    public = random_words(seed + 2, description.num_public_values).tolist()
    roots = range(len(description.nodes))
    found = np.empty((len(roots), rows), dtype=np.uint64)
    for first, values in evaluate(description, main, preprocessed, public, roots):
        for root, value in zip(roots, values, strict=True):
            found[root, first : first + len(value)] = value
    for row in range(rows):
        here, there = row, (row + 1) % rows
        view = naive.Row(
            main=(main[:, here].tolist(), main[:, there].tolist()),
            preprocessed=(preprocessed[:, here].tolist(), preprocessed[:, there].tolist()),
            public=public,
            selectors=(int(row == 0), int(row == rows - 1), int(row != rows - 1), 0),
        )
        assert found[:, row].tolist() == naive.node_values(description, view)
