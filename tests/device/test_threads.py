"""The thread budget: never exceeded, every part done once, errors passed on."""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from graphprover.device.threads import WORTH_HELP, Threads, _Split
from graphprover.kernels.cpu.parallel import split_columns


class Counter:
    """The number of running parts, and its maximum."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = 0

    def __enter__(self) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.now -= 1


@pytest.mark.parametrize("count", [1, 2, 4])
def test_tasks_and_pieces_together_keep_to_the_budget(count: int) -> None:
    threads, running = Threads(count), Counter()
    done: list[int] = []

    def piece(first: int, last: int) -> None:
        with running:
            time.sleep(0.001)
        done.extend(range(first, last))

    def task() -> None:
        with threads.task():
            threads.split(piece, 20, 3)

    with ThreadPoolExecutor(8) as pool:  # a scheduler with more threads than the device
        for future in [pool.submit(task) for _ in range(8)]:
            future.result()
    assert running.most <= count
    assert sorted(done) == sorted(list(range(20)) * 8)


def test_free_threads_help() -> None:
    threads, running = Threads(2), Counter()
    both = threading.Barrier(2, timeout=300)

    def piece(first: int, last: int) -> None:
        with running:
            both.wait()  # passes only if two parts run at the same time

    with threads.task():
        threads.split(piece, 2, 1)
    assert running.most == 2


def test_a_thread_that_gets_free_later_helps() -> None:
    threads = Threads(2)
    held, ending, ended = threading.Event(), threading.Event(), threading.Event()
    both = threading.Barrier(2, timeout=300)

    def small_task() -> None:
        with threads.task():
            held.set()
            ending.wait(300)
        ended.set()

    def piece(first: int, last: int) -> None:
        if first == 0:
            ending.set()
            assert ended.wait(300)
            time.sleep(2 * WORTH_HELP)
        else:
            both.wait()  # passes only if two parts run at the same time

    with ThreadPoolExecutor(1) as other:
        running = other.submit(small_task)
        assert held.wait(300)
        with threads.task():
            threads.split(piece, 3, 1)
        running.result()


@pytest.mark.parametrize(("rest", "helpers"), [(0.9, 0), (1.5, 1), (2.5, 2), (7.5, 7)])
def test_help_is_asked_for_as_long_as_each_thread_has_enough_work(rest: float, helpers: int) -> None:
    """``rest``: seconds of the pieces that are left, in units of `WORTH_HELP`."""
    threads, split = Threads(16), _Split(lambda first, last: None, deque([(0, 50), (50, 100)]))
    threads._rates["code"] = rest * WORTH_HELP / 100
    while threads._is_worth_help(split, "code"):
        split.helpers.append(Future())
    assert len(split.helpers) == helpers


def test_a_loop_is_not_expected_to_take_as_long_as_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are called as partials, which have no code of their own."""
    threads, asked = Threads(2), list[int]()

    def fast(operand: int, first: int, last: int) -> None:
        pass

    def slow(operand: int, first: int, last: int) -> None:
        time.sleep(2 * WORTH_HELP)

    def counted(function: Callable[..., Any], *arguments: Any, submit: Any = ThreadPoolExecutor.submit) -> Any:
        asked.append(1)
        return submit(threads._pool, function, *arguments)

    threads.split(partial(fast, 1), 10, 1)
    monkeypatch.setattr(threads._pool, "submit", counted)
    threads.split(partial(slow, 1), 10, 1)
    assert asked
    asked.clear()
    threads.split(partial(fast, 2), 10, 1)
    assert not asked


def test_an_error_in_a_piece_reaches_the_caller_and_frees_the_threads() -> None:
    threads = Threads(2)

    def fails(first: int, last: int) -> None:
        raise MemoryError(f"piece {first}")

    for _ in range(5):
        with pytest.raises(MemoryError), threads.task():
            threads.split(fails, 10, 1)
    done: list[int] = []
    threads.split(lambda first, last: done.extend(range(first, last)), 10, 3)
    assert sorted(done) == list(range(10))


def test_no_threads_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one thread"):
        Threads(0)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(("columns", "rows"), [(1, 64), (103, 1 << 12), (103, 1 << 16), (0, 64), (5, 1 << 20)])
def test_columns_are_split_into_all_of_them(columns: int, rows: int, count: int) -> None:
    """Each column once; one thread gets them all at once, several threads get small enough parts to end together."""
    pieces: list[tuple[int, int]] = []
    split_columns(Threads(count), lambda first, last: pieces.append((first, last)), columns, rows)
    assert sorted(column for first, last in pieces for column in range(first, last)) == list(range(columns))
    if columns == 103:
        assert (len(pieces) == 1) == (count == 1) and (count == 1 or len(pieces) >= 8 * count)
