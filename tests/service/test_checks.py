"""Checks of readiness answer in time, also if the database or the store does not."""

import asyncio
import threading
import time

import pytest

from graphprover.service import checks
from graphprover.service.checks import ReadinessChecks


def test_errors_have_one_line_and_the_name_of_the_check() -> None:
    def fail() -> None:
        raise ConnectionError("no route\nto host")

    def fail_silently() -> None:
        raise KeyError

    found = ReadinessChecks({"database": lambda: None, "store": fail, "other": fail_silently})
    assert asyncio.run(found()) == {"store": "no route", "other": "KeyError"}


def test_a_check_that_does_not_answer_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(checks, "CHECK_SECONDS", 0.0)
    answers, calls = threading.Event(), list[float]()

    def wait() -> None:
        calls.append(time.monotonic())
        answers.wait(600)

    async def ask() -> None:
        found = ReadinessChecks({"store": wait})
        begun = time.monotonic()
        assert await asyncio.gather(*(found() for _ in range(50))) == [{"store": "no answer for 0 s"}] * 50
        assert await found() == {"store": "no answer for 0 s"}
        assert time.monotonic() - begun < 30 and len(calls) == 1
        answers.set()
        while await found():
            await asyncio.sleep(0.01)
        assert await found() == {} and len(calls) > 1

    asyncio.run(ask())


def test_checks_are_not_made_more_often_than_allowed() -> None:
    calls = list[None]()

    async def ask() -> None:
        found = ReadinessChecks({"store": lambda: calls.append(None)})
        assert [await found() for _ in range(3)] == [{}] * 3

    asyncio.run(ask())
    assert len(calls) == 1
