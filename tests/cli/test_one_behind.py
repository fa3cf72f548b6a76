"""Calls in a thread: in order, one at a time, and no error of one is lost."""

import threading
from functools import partial

import pytest

from graphprover.cli.batch import OneBehind


def test_calls_run_in_order_beside_this_thread() -> None:
    made: list[int] = []
    with OneBehind() as calls:
        for number in range(3):
            calls.begin(partial(made.append, number))
            assert len(made) >= number  # the one before has ended
    assert made == [0, 1, 2]
    threads: list[threading.Thread] = []
    with OneBehind() as calls:
        calls.begin(lambda: threads.append(threading.current_thread()))
    assert threads[0] is not threading.current_thread() and not threads[0].is_alive()


def fail() -> None:
    raise OSError("full")


def test_an_error_is_raised_by_the_next_call_or_at_the_end() -> None:
    with pytest.raises(OSError, match="full"), OneBehind() as calls:
        calls.begin(fail)
    after: list[int] = []
    with pytest.raises(OSError, match="full"), OneBehind() as calls:
        calls.begin(fail)
        calls.begin(partial(after.append, 1))
    assert not after


def test_an_error_of_the_block_precedes_and_the_last_call_ends() -> None:
    made: list[int] = []
    with pytest.raises(ValueError, match="block"), OneBehind() as calls:
        calls.begin(partial(made.append, 1))
        raise ValueError("block")
    assert made == [1]
