"""Jobs with a timeout: each step ends them, here and on a cluster, and the error names them."""

import struct
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphprover import Prover, prove_many
from graphprover.admission import ledger
from graphprover.cluster import dispatcher
from graphprover.prover import local
from graphprover.runtime import deadline
from graphprover.runtime.deadline import JobTimeout, check_deadline, has_deadline, within
from graphprover.vm.executor.execute import MOST_SLICES, SLICE, ran
from tests.cluster.processes import workers
from tests.jobs.test_jobs import SQUARES

GUEST = Path(__file__).parents[2] / "examples" / "guests" / "fib_iterative.elf"
TURNS = struct.pack("<Q", 300)
SLOW = """
_prove_inputs = prove_inputs

def prove_inputs(data):
    import time
    time.sleep(float(data))
    return _prove_inputs(None)
"""


@pytest.fixture
def slow(tmp_path: Path) -> Prover:
    """Return a prover whose trace takes as many seconds as its input says."""
    path = tmp_path / "slow.py"
    path.write_text(SQUARES + SLOW)
    return Prover(path, security=20)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Yield the time of deadlines."""
    now = [0.0]

    class Time:
        monotonic = staticmethod(lambda: now[0])

    monkeypatch.setattr(deadline, "time", Time)
    yield now
    assert not has_deadline()


def error_of(job: Any, executor: Any = "sync") -> Exception | None:
    (result,) = prove_many([job], executor, "cpu")
    return result.error


def test_deadlines_nest_and_end(clock: list[float]) -> None:
    check_deadline()
    with within(2.0, "outer", spent=0.5):
        clock[0] = 1.4
        with within(None, "inner"):
            clock[0] = 1.6
            check_deadline()
        with pytest.raises(JobTimeout, match=r"^outer: not proven within its timeout of 2 s$"):
            check_deadline()


def test_a_run_that_takes_too_long_is_not_proved(slow: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphprover.jobs.job.make", lambda *_, **__: pytest.fail("proved"))
    error = error_of(slow.job(b"0.2", "late", timeout=0.1))
    assert isinstance(error, JobTimeout) and str(error) == "late: not proven within its timeout of 0.1 s"


def test_a_run_ends_soon_after_its_timeout_or_its_interruption() -> None:
    """It would take 2^32 cycles."""
    guest, ever, asked = Prover(GUEST, security=20), struct.pack("<Q", 1 << 40), list[None]()

    class Interrupted(Exception):
        pass

    def interrupt() -> None:
        asked.append(None)
        if len(asked) == 3:
            raise Interrupted

    late = replace(guest.job(ever, timeout=1e-6), limits={"max_cycles": (1 << 32) - 1})
    ended = replace(late, timeout=None, interrupt=interrupt)
    for job, error, slices in ((late, JobTimeout, 1), (ended, Interrupted, 3)):
        asked.clear()
        before = Counter(ran)
        assert isinstance(error_of(job), error)
        asked.clear()
        with pytest.raises(error):
            job.rehearse()
        assert all(ran[kind] - before[kind] <= slices * MOST_SLICES * SLICE for kind in ran)


@pytest.mark.parametrize("executor", ["sync", "threads"])
def test_a_proof_ends_between_its_tasks_and_other_jobs_go_on(
    executor: str, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    guest, told = Prover(GUEST, security=20), list[str]()
    tell = local._tell_deadline

    def telling(ended: int, total: int, task: str) -> None:
        clock[0] += 1
        told.append(task)
        tell(ended, total, task)

    monkeypatch.setattr(local, "_tell_deadline", telling)
    jobs = [guest.job(TURNS, "late", timeout=5.5), guest.job(TURNS, "none"), guest.job(TURNS, "long", timeout=1e6)]
    late, none, long = prove_many(jobs, executor, "cpu")
    assert isinstance(late.error, JobTimeout) and late.proof is None
    assert len(told) > 6 and none.proof == long.proof == guest.prove(TURNS)


def test_a_proof_that_waits_for_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger.Ledger, "_is_grantable", lambda *_: False)
    error = error_of(Prover(GUEST, security=20).job(TURNS, "waits", timeout=0.2))
    assert isinstance(error, JobTimeout)


def test_a_verification_is_not_limited(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    guest, check = Prover(GUEST, security=20), Prover.verify_made

    def late(*arguments: Any) -> Any:
        clock[0] += 100
        return check(*arguments)

    monkeypatch.setattr(Prover, "verify_made", late)
    assert error_of(guest.job(TURNS, timeout=50.0)) is None


def test_a_worker_ends_a_proof_which_is_not_retried(slow: Prover) -> None:
    with workers(1) as client:
        late, good = prove_many([slow.job(b"0.3", "late", timeout=0.1), slow.job(b"0", "good", timeout=600)], client)
        assert isinstance(late.error, JobTimeout) and late.attempts == 1 and good.proof


def test_a_worker_that_goes_on_is_not_waited_for(slow: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "OVERDUE_SECONDS", 0.2)
    with workers(1) as client:
        assert error_of(slow.job(b"0"), client) is None  # the worker has imported and compiled
        began = time.monotonic()
        error = error_of(slow.job(b"1200", "hangs", timeout=0.5), client)
        assert isinstance(error, JobTimeout) and "hangs: not proven within its timeout of 0.5 s" in str(error)
        assert time.monotonic() - began < 900


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"timeout": 0}, "timeout 0: expected a positive number of seconds"),
        ({"timeout": float("inf")}, "timeout inf: expected"),
        ({"priority": 1001}, "priority 1001: expected a number from -1000 to 1000"),
    ],
)
def test_values_that_mean_nothing_are_refused(options: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        Prover(GUEST, security=20).job(TURNS, **options)


def test_a_proof_without_a_timeout_is_not_slowed_down() -> None:
    with local.told(False) as tell:
        assert tell is None
    with within(1.0, "job"), local.told(False) as tell:
        assert tell is not None
