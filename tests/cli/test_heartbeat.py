"""Long work outside a terminal prints lines."""

import threading
from collections.abc import Iterator

import dask
import pytest

from graphprover.cli import heartbeat
from graphprover.runtime.errors import DEBUG
from graphprover.runtime.settings import PROGRESS

LONG = 60.0  # seconds that a slow host may take


@pytest.fixture
def often() -> Iterator[None]:
    with dask.config.set({PROGRESS: 0.01}):
        yield


@pytest.mark.usefixtures("often")
def test_lines_while_the_work_lasts(capsys: pytest.CaptureFixture[str]) -> None:
    asked = threading.Semaphore(0)
    states = iter(["the run", "", "32 of 209 tasks left: quotient of main"])

    def words() -> str:
        asked.release()
        return next(states, "verifying")

    with heartbeat.beating(words):
        for _ in range(4):
            assert asked.acquire(timeout=LONG)
    first, second, third, *_ = capsys.readouterr().err.splitlines()
    assert first == "graphprover: 0 s: the run" and second == "graphprover: 0 s: 32 of 209 tasks left: quotient of main"
    assert third.endswith(": verifying")


@pytest.mark.usefixtures("often")
def test_the_tasks_that_are_left(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = []

    def beating(given):  # type: ignore[no-untyped-def]
        words.append(given)
        return threading.Lock()  # any context

    monkeypatch.setattr(heartbeat, "beating", beating)
    with heartbeat.progress("the run") as tell:
        (now,) = words
        assert callable(tell) and now() == "the run"
        tell(1200, 3400, "quotient of main")
        assert now() == "2,200 of 3,400 tasks left: quotient of main"
        tell(3400, 3400, "")
        assert now() == "verifying"


@pytest.mark.usefixtures("often")
def test_no_lines_beside_a_bar_or_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = threading.active_count()
    with monkeypatch.context() as patch:
        patch.setattr(heartbeat, "drawn", lambda: True)
        with heartbeat.progress("the run") as tell, heartbeat.beating(str):
            assert tell is True and threading.active_count() == threads
    monkeypatch.setenv(DEBUG, "1")
    with heartbeat.beating(str):
        assert threading.active_count() == threads
