"""A few random faults; `python -m tests.cluster.stress_faults` has more."""

import pytest

from tests.cluster.stress_faults import SAME, run


@pytest.mark.parametrize("count", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_a_fault_changes_no_byte_or_is_named(count: int) -> None:
    told = run(count, seed=3, number=3)
    assert not told.wrong and told.came.total() == count and told.came[SAME] >= count // 2
