"""The supervisor: prover processes are replaced, and a refusal of options ends the service only at its start."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.service import supervisor as module
from graphprover.service.database import connect
from graphprover.service.metrics import ServiceMetrics
from graphprover.service.queue import Queue
from graphprover.service.supervisor import Supervisor
from tests.service.quiet import config_in


def ended(
    folder: Path, codes: list[tuple[bool, int]], monkeypatch: pytest.MonkeyPatch
) -> tuple[Supervisor, list[str], list[float]]:
    """Run a supervisor whose prover processes end, and return it, whether it has given up, and its waits.

    Args:
        folder: The folder of the service.
        codes: For each prover process whether it was ready, and its exit code; the last one ends the test.
        monkeypatch: The fixture.
    """
    said, waits, left = list[str](), list[float](), list(codes)
    with (folder / "lock").open("w") as lock:
        config = config_in(folder)
        found = Supervisor(config, Queue(connect(config.database)), lock, lambda: said.append("gave up"))

        async def run_one() -> int:
            if not left:
                raise asyncio.CancelledError
            is_ready, code = left.pop(0)
            found._was_ready |= is_ready
            return code

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        monkeypatch.setattr(found, "_run_one", run_one)
        monkeypatch.setattr(module.asyncio, "sleep", sleep)
        try:
            asyncio.run(found.run())
        except asyncio.CancelledError:
            said.append("cancelled")
    return found, said, waits


def test_waits_grow_and_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, said, waits = ended(tmp_path, [(True, FAILED)] * 9, monkeypatch)
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30, 30] and found.restarts == 9 and said == ["cancelled"]


def test_another_executor_needs_no_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, waits = ended(tmp_path, [(True, OK)] * 3, monkeypatch)
    assert not waits and found.restarts == 0


def test_only_the_first_refusal_ends_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, said, _ = ended(tmp_path, [(False, FAILED), (False, USAGE), (True, OK)], monkeypatch)
    assert said == ["gave up"]
    found, said, _ = ended(tmp_path, [(True, FAILED), (False, USAGE)], monkeypatch)
    assert said == ["cancelled"] and found.restarts == 2


def test_a_database_that_is_away_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release, left = Queue.release, [2]

    def fail(self: Queue, *arguments: Any, **options: Any) -> int:
        left[0] -= 1
        if left[0] >= 0:
            raise OperationalError("update", {}, Exception("away"))
        return release(self, *arguments, **options)

    monkeypatch.setattr(Queue, "release", fail)
    _, said, waits = ended(tmp_path, [(True, FAILED)], monkeypatch)
    assert waits == [module.MOST_WAIT, module.MOST_WAIT, 1] and said == ["cancelled"]


def test_counts_of_the_prover_process_are_metrics(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    queue = Queue(connect(config.database))

    async def counted() -> Supervisor:
        found = Supervisor(config, queue, io.StringIO(), lambda: None)
        output = asyncio.StreamReader()
        output.feed_data(b"worker_retries 2\nalive\nproved_cycles 5000000000\nworker_retries 1\n")
        output.feed_eof()
        await found._listen(output)
        return found

    text = ServiceMetrics(queue, asyncio.run(counted())).text()
    assert b"graphprover_worker_retries_total 3.0" in text and b"graphprover_proved_cycles_total 5e+09" in text
    assert b"graphprover_proved_bytes_total 0.0" in text


def test_a_prover_process_that_is_silent_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_in(tmp_path)
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    found = Supervisor(config, Queue(connect(config.database)), io.StringIO(), lambda: None)
    assert found.problem == "the prover process is starting"
    found._is_ready, found._heard = True, now[0]
    assert not found.problem
    now[0] += module.SILENT_SECONDS + 1
    assert found.problem == "the prover process has given no sign of life for 11 s"

    async def listen() -> None:
        output = asyncio.StreamReader()
        output.feed_data(module.ALIVE)
        output.feed_eof()
        await found._listen(output)

    monkeypatch.undo()
    asyncio.run(listen())
    assert not found.problem
