"""Batches that start processes once they pay: the rule, the estimate, and batches that change over."""

import os
import signal
import struct
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import dask
import pytest

from graphprover import Job, Prover, prove_many
from graphprover.cluster import ClusterError, local
from graphprover.graphs.executor_names import AUTO, CUDA, GROWING, PROCESSES
from graphprover.jobs.upcoming import Upcoming
from graphprover.proving import executor, growth
from graphprover.proving.executor import Growing, Local, executor_of
from graphprover.proving.growth import CPU_SHARE, GPU_GAIN, START_SECONDS, Growth, Pace, gain_of, kind_for
from graphprover.runtime import background
from graphprover.runtime.settings import WORKERS
from graphprover.telemetry.model import Processor
from tests.cluster.processes import ROOT, until

GUEST = ROOT / "examples/guests/fib_iterative.elf"
TINY = {PROCESSES: 1e-6, CUDA: 1e-6}


def processor(used: float, cores: float, waited: float = 0.0) -> Processor:
    """Return the processor time of ten seconds."""
    return Processor(10.0, used, cores, waited, None, None, always=True)


def test_processes_gain_the_cores_that_one_process_leaves_idle() -> None:
    assert gain_of(PROCESSES, 8, processor(10, cores=16)) == CPU_SHARE * 8  # no more than their number
    assert gain_of(PROCESSES, 8, processor(40, cores=16)) == CPU_SHARE * 4
    assert gain_of(PROCESSES, 8, processor(160, cores=16)) == CPU_SHARE
    assert gain_of(PROCESSES, 8, processor(10, cores=16, waited=30)) == CPU_SHARE * 4  # others have the cores
    assert gain_of(PROCESSES, 8, processor(1, cores=4)) == CPU_SHARE * 4  # without work a job still has one core


def test_processes_fill_each_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "gpus", lambda: 2)
    assert gain_of(CUDA, 16, processor(10, 16)) == 2 * GPU_GAIN
    assert gain_of(CUDA, 2, processor(10, 16)) == 2


@pytest.mark.parametrize(
    ("device", "gpus", "kind"),
    [
        ("auto", 0, PROCESSES),
        ("auto", 1, CUDA),
        ("cpu", 1, PROCESSES),
        ("cuda", 2, CUDA),
        ("cuda:1", 2, None),  # each process sees one GPU
    ],
)
def test_processes_prove_on_the_device_of_the_batch(
    device: str, gpus: int, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "gpus", lambda: gpus)
    assert kind_for(device) == kind


class Clock:
    """A clock of the test, by which jobs take time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(growth.time, "perf_counter", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_the_time_left_is_estimated_by_kind_without_the_first_job(clock: Clock) -> None:
    pace = Pace()
    for kind, seconds in (("a", 100), ("a", 2), ("b", 10), ("a", 4)):
        pace.begin(kind)
        assert clock.now >= 102 or not pace.left([kind])
        clock.now += seconds
    pace.begin("b")
    assert pace.left(["a", "a", "b"]) == 3 + 3 + 10
    assert pace.left(["new"]) == pytest.approx(16 / 3)  # of all jobs


def test_a_wait_for_the_next_job_is_no_time_of_a_job(clock: Clock) -> None:
    pace = Pace()
    pace.begin("a")
    pace.wait()
    clock.now += 1000
    for _ in range(3):
        pace.begin("a")
        clock.now += 1
    assert pace.left(["a"]) == 1


class Slow:
    """Jobs that come one by one, after ten minutes each."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __len__(self) -> int:
        return 0

    def waiting(self) -> list[Any]:
        return []

    def take(self) -> Any:
        self._clock.now += 600
        return batch_of(1)[0]


def test_a_slow_iterator_makes_no_job_slow(clock: Clock) -> None:
    growing = Growth(cast(Upcoming, Slow(clock)), CUDA)
    for _ in range(5):
        growing.begin(growing.take())
        clock.now += 1
    assert growing._pace.left(["p"]) == 0  # no job has ended before another one began


def batch_of(jobs: int) -> list[Any]:
    return [SimpleNamespace(prover="p", existing=None, priority=0, weight=0) for _ in range(jobs)]


@pytest.mark.parametrize(("jobs", "starts"), [(240, False), (280, True)])
def test_processes_start_if_the_time_saved_exceeds_their_start(
    jobs: int, starts: bool, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With a gain of 2.5 it is 0.6 of the time left: 7.2 seconds of 12, and the start of 8 processes takes 7."""
    monkeypatch.setattr(growth, "gpus", lambda: 1)
    monkeypatch.setattr(growth, "options_of", lambda kind, tasks: [{}] * 8)
    started = list[int]()
    monkeypatch.setattr(Growth, "_start", lambda self, tasks: started.append(tasks))
    with Upcoming(batch_of(jobs)) as upcoming, Growth(upcoming, CUDA) as growing:
        while not started and (job := growing.take()):
            growing.begin(job)
            clock.now += 60 if clock.now == 0 else 0.045  # the first loads kernels
    assert bool(started) == starts
    lines = [record.getMessage() for record in caplog.records if record.name == growth.__name__]
    line = "graphprover: 275 jobs left of about 0.045 s: 8 processes of this host join (2.5 times as fast)"
    assert lines == [line] * starts
    assert START_SECONDS[CUDA] == 7 and GPU_GAIN == 2.5


def test_long_batches_are_looked_at_seldom(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look takes time for each job that waits, so all looks take a time for each job, not for each pair."""
    looked = list[int]()
    waiting = Upcoming.waiting
    monkeypatch.setattr(Upcoming, "waiting", lambda self: looked.append(1) or waiting(self))
    with Upcoming(batch_of(2_000)) as upcoming, Growth(upcoming, CUDA) as growing:
        while job := growing.take():
            growing.begin(job)
    assert 200 < len(looked) < 500


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run no background cluster."""
    monkeypatch.setattr(background, "usable", lambda device: (None, ""))


@pytest.fixture
def eager(alone: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start two processes after the second job of a batch."""
    monkeypatch.setattr(growth, "START_SECONDS", TINY)
    monkeypatch.setattr(growth, "CPU_SHARE", 1000.0)
    with dask.config.set({WORKERS: 2}):
        yield


@pytest.fixture(scope="module")
def guest() -> Prover:
    return Prover(GUEST, security=20)


def jobs_of(guest: Prover, count: int) -> list[Job]:
    return [guest.job(struct.pack("<Q", number), str(number), priority=-number) for number in range(count)]


def test_auto_without_a_cluster_may_grow(alone: None) -> None:
    assert executor_of(AUTO, "cpu") == executor_of(GROWING, "cpu") == Growing("threads", "cpu")
    assert isinstance(executor_of(AUTO, "cpu"), Local)


def test_processes_take_the_jobs_that_a_pipeline_leaves(
    guest: Prover, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU the next job's guest runs beside a proof; this job and the proofs that wait end in this process."""
    monkeypatch.setattr(executor, "pays", lambda device: True)
    begun = dict[str, str]()

    def begin(job: Job, worker: str) -> None:
        begun[job.name] = worker
        if job.name == "6":
            until(processes[0].are_ready)

    processes, start = list[local.LocalProcesses](), local.LocalProcesses.__init__

    def create(self: local.LocalProcesses, *given: Any) -> None:
        start(self, *given)
        processes.append(self)

    monkeypatch.setattr(local.LocalProcesses, "__init__", create)
    results = {result.job.name: result for result in prove_many(jobs_of(guest, 16), AUTO, "cpu", begin)}
    assert len(results) == 16 and all(result.proof for result in results.values())
    own = [name for name, result in results.items() if not result.worker]
    assert own == [str(number) for number in range(len(own))] and 8 <= len(own) <= 9
    assert [name for name, worker in begun.items() if not worker] == own
    for result in results.values():
        assert result.proof and result.proof.to_bytes() == guest.prove(result.job.input()).to_bytes()


def test_processes_take_the_jobs_that_wait(
    guest: Prover, eager: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """This process proves until they are ready; the order and the bytes stay the same."""
    ready, starting = list[bool](), local.LocalProcesses.are_ready
    own = Growing.prove

    def prove(self: Growing, *job: Any) -> Any:
        if len(proved) == 5:  # then the processes may be ready
            until(lambda: starting(processes[0]))
            ready.append(True)
        proved.append(job[0].name)
        return own(self, *job)

    def are_ready(self: local.LocalProcesses) -> bool:
        processes[:] = [self]
        return bool(ready)

    proved, processes = list[str](), list[local.LocalProcesses]()
    monkeypatch.setattr(Growing, "prove", prove)
    monkeypatch.setattr(local.LocalProcesses, "are_ready", are_ready)
    begun = list[tuple[str, str]]()
    jobs = jobs_of(guest, 16)
    results = list(prove_many(jobs, AUTO, "cpu", lambda job, worker: begun.append((job.name, worker))))
    assert [result.job.name for result in results[:6]] == proved == [str(number) for number in range(6)]
    assert [bool(result.worker) for result in results] == [False] * 6 + [True] * 10
    assert sorted(int(result.job.name) for result in results) == list(range(16))
    assert [name for name, worker in begun[:6]] == proved and all(worker for _, worker in begun[6:])
    monkeypatch.setattr(Growing, "prove", own)
    for result in results:
        assert result.proof and result.proof.to_bytes() == guest.prove(result.job.input()).to_bytes()
    lines = [record.getMessage() for record in caplog.records if record.name == growth.__name__]
    assert len(lines) == 1 and lines[0].startswith("graphprover: 13 jobs left of about ")
    assert ": 2 processes of this host join (" in lines[0]


def test_without_a_gain_no_process_starts(guest: Prover, eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "CPU_SHARE", 0.5)
    monkeypatch.setattr(Growth, "_start", lambda self, tasks: pytest.fail("it starts processes"))
    assert all(result.proof and not result.worker for result in prove_many(jobs_of(guest, 5), AUTO, "cpu"))


def test_a_batch_ends_here_if_no_process_starts(
    guest: Prover, eager: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failed = list[bool]()

    async def start(nanny: local._Nanny) -> Any:
        failed.append(True)
        raise OSError("no processes left")

    monkeypatch.setattr(local._Nanny, "start", start)
    hand_over = Growth._hand_over

    def wait(self: Growth) -> bool:
        if self._starting:
            until(self._starting.are_ready)
        return hand_over(self)

    monkeypatch.setattr(Growth, "_hand_over", wait)
    results = list(prove_many(jobs_of(guest, 8), AUTO, "cpu"))
    assert [result.job.name for result in results] == [str(number) for number in range(8)]
    assert all(result.proof and not result.worker for result in results) and failed
    lines = [record.getMessage() for record in caplog.records if record.name == growth.__name__]
    assert len(lines) == 2
    assert lines[1].startswith(
        "graphprover: this process proves the other jobs as well: executor processes: its processes do not start: "
        "no processes left"
    )


def test_a_process_that_is_being_started_proves_no_batch(guest: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script that it imports has no guard."""

    def fail(kind: str) -> None:
        raise ClusterError(kind)

    monkeypatch.setattr(growth, "check_imported", fail)
    with pytest.raises(ClusterError, match="processes"):
        next(iter(prove_many(jobs_of(guest, 2), GROWING, "cpu")))


BATCH = """
    import sys
    import time
    from multiprocessing import util
    from graphprover.__main__ import main
    from graphprover.proving import growth

    spawn = util.spawnv_passfds

    def slow(*given):
        pid = spawn(*given)
        time.sleep(1)  # before the process gets its first message
        return pid

    if __name__ == "__main__":
        util.spawnv_passfds = slow
        growth.START_SECONDS = {"processes": 1e-6}
        growth.CPU_SHARE = 1000.0
        growth.Growth._hand_over = lambda self: False  # the processes are always about to be ready
        sys.argv[1:] = ["batch", "jobs.toml", "--device", "cpu"]
        sys.exit(main())
"""


def test_ctrl_c_while_processes_start_ends_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    (tmp_path / "in").mkdir()
    for number in range(500):
        (tmp_path / "in" / str(number)).write_bytes(struct.pack("<Q", number))
    (tmp_path / "jobs.toml").write_text(
        f'[[job]]\nprogram = "{GUEST}"\ninput = "in/*"\noutput = "out/{{input}}"\nsecurity = 20\n'
    )
    (tmp_path / "script.py").write_text(textwrap.dedent(BATCH))
    running = subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stderr
    for line in running.stderr:
        if "processes of this host join" in line:
            break
    until(lambda: len(children(running.pid)) >= 2)
    started = children(running.pid)
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=600)
    assert running.returncode == 130 and errors.count("graphprover: interrupted: ") == 1 and "Traceback" not in errors
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))


def children(pid: int) -> set[int]:
    """Return the children of all threads of a process."""
    found = set[int]()
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            found |= {int(child) for child in file.read_text().split()}
    return found
