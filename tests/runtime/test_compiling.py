"""The seconds in which a process waits for kernels count once, however many threads wait."""

import pytest

from graphprover.runtime import compiling
from graphprover.runtime.compiling import add_wait, compile_seconds, waiting


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_spans", [])


@pytest.mark.parametrize(
    ("waits", "seconds"),
    [
        ([], 0),
        ([(1, 3), (4, 5)], 3),
        ([(1, 3), (2, 5)], 4),  # of two threads
        ([(2, 3), (4, 5), (1, 6)], 5),  # a wait that began first and ended last
        ([(1, 6), (2, 3)], 5),
        ([(1, 2), (2, 3), (4, 8), (7, 9)], 7),
    ],
)
def test_waits_of_threads_at_the_same_time_count_once(waits: list[tuple[float, float]], seconds: float) -> None:
    for start, end in waits:
        add_wait(start, end)
    assert compile_seconds() == seconds


def test_a_wait_that_fails_counts() -> None:
    with pytest.raises(ValueError, match="no compiler"), waiting():
        raise ValueError("no compiler")
    assert compile_seconds() > 0
