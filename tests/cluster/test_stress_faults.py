"""A few random faults; `python -m tests.cluster.stress_faults` has more."""

import pytest

from tests.cluster.stress_faults import SAME, run


@pytest.mark.slow
def test_a_fault_changes_no_byte_or_is_named() -> None:
    summary = run(10, seed=3, number=3)
    assert not summary.wrong and summary.results.total() == 10 and summary.results[SAME] >= 5
