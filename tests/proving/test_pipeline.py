"""prove_many() on a GPU: the host's work for other jobs beside each proof. Here a CPU takes that path.

Whatever fails, each job has the result that it has in order, and no process or text is left behind.
"""

import logging
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait as wait_for
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphprover import FileError, Job, Prover, Result, VerificationError, observed, prove_many
from graphprover.cli.main import main
from graphprover.device import DeviceLost
from graphprover.jobs import job as job_module
from graphprover.jobs.opening import PackedCheck, open_program
from graphprover.jobs.programs import TableProgram
from graphprover.proof.sharded import ShardedProof
from graphprover.proving import executor, pipeline
from graphprover.proving.layers_behind import LayersBehind
from graphprover.runtime.deadline import check_deadline
from graphprover.runtime.errors import FAILED
from graphprover.statement.cost import CostLimit
from graphprover.verifier import pool
from graphprover.verifier.pool import Checker
from graphprover.vm.program.io import DEBUG_PRINT
from graphprover.vm.program.isa import A0, A1
from tests.jobs.test_jobs import SQUARES
from tests.slow import slow_after
from tests.vm.assemble import CODE, DATA, Segment, X, elf, leave, li, words

ROOT = Path(__file__).parents[2]
GUESTS = ROOT / "examples" / "guests"
LIMIT = 60  # seconds for what must not hang

BATCH = f"""
[defaults]
security = 20

[[job]]
program = "{GUESTS}/fib_iterative.elf"
input = "*.in"
output = "{{input}}.proof"
"""

Processes = list[subprocess.Popen[bytes]]


def turns(number: int) -> bytes:
    return struct.pack("<Q", number)


@pytest.fixture(scope="module")
def guest() -> Prover:
    return Prover(GUESTS / "fib_iterative.elf", security=20)


@pytest.fixture
def squares(tmp_path: Path) -> Prover:
    path = tmp_path / "squares.py"
    path.write_text(SQUARES)
    return Prover(path, security=20)


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    """Pipeline all batches, and yield the started processes; each is ready at once, and has ended in the end."""
    started: Processes = []
    begin, popen = Checker.__enter__, subprocess.Popen

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[-1]

    def wait(checker: Checker) -> Checker:
        begin(checker)
        if checker._last:
            wait_for([checker._last], LIMIT)
        return checker

    monkeypatch.setattr(executor, "pays", lambda device: True)
    monkeypatch.setattr(pipeline, "FEWEST_JOBS", 1)
    monkeypatch.setattr(pipeline, "LONGEST", 1e9)
    monkeypatch.setattr(pipeline, "available_threads", lambda: 2)
    monkeypatch.setattr(pool.subprocess, "Popen", start)
    monkeypatch.setattr(Checker, "__enter__", wait)
    yield started
    assert all(process.returncode is not None for process in started)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("guest")]


def pipelined(jobs: list[Job]) -> list[Result]:
    return list(prove_many(jobs, "sync", "cpu"))


def in_order(jobs: list[Job], monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    with monkeypatch.context() as patch:
        patch.setattr(executor, "pays", lambda device: False)
        return list(prove_many(jobs, "sync", "cpu"))


def no_verification_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prover, "verify_made", lambda *_: pytest.fail("verified in this process"))


def test_proofs_are_those_in_order(guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [guest.job(turns(300 + number), f"job {number}") for number in range(4)]
    expected = in_order(jobs, monkeypatch)
    assert not forced
    no_verification_here(monkeypatch)
    begun: list[Job] = []
    with observed() as seen:
        found = []
        for result in prove_many(jobs, "sync", "cpu", lambda job, worker: begun.append(job)):
            found.append(result)
            assert [one.name for one in seen] == [one.job.name for one in found]  # with each result its observation
    assert begun == jobs and len(forced) == 1
    for result, other in zip(found, expected, strict=True):
        assert (result.job, result.proof, result.error) == (other.job, other.proof, None)
        assert result.made and other.made and result.made.observation in seen
        assert list(result.seconds) == list(other.seconds) == ["prepare", "wait", "prove", "verify"]
        for name in ("preprocessed_caps", "peak_bytes", "kept", "shards", "cells", "run", "checksum"):
            assert getattr(result.made, name) == getattr(other.made, name)
        assert (result.worker, result.attempts) == (other.worker, other.attempts)
    for one, result in zip(seen, found, strict=True):
        assert [stage.name for stage in one.stages] == ["prepare", "wait", "prove", "verify"]
        assert one.stages[0].start == 0 and all(stage.seconds >= 0 for stage in one.stages)
        assert all(one.stages[2].start <= task.start <= task.end <= one.stages[2].end for task in one.tasks)
        assert result.made and one.run == result.made.run
        assert one.seconds("verify") == pytest.approx(result.seconds["verify"])


def test_every_job_has_its_own_error(
    guest: Prover, squares: Prover, forced: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = guest.prove(turns(300))
    jobs = [
        guest.job(turns(300) + bytes(9), "cycles", limits={"max_cycles": 3}),
        guest.job(turns(300) + bytes(8), "code", exit_code=1),
        guest.job(turns(300) + bytes(7), "cost", max_cost=1),
        guest.job(turns(300) + bytes(6), "memory", limits={"max_memory": 1 << 12}),
        guest.job(turns(300) + bytes(5), "good"),
        guest.job(turns(300) + bytes(4), "kept", existing=good.to_bytes()),
        guest.job(turns(300) + bytes(3), "not kept", existing=good.to_bytes()[:-1]),
        guest.job(turns(300) + bytes(2), "seed", random_seed=7),
        squares.job(turns(300) + bytes(1), "tables"),
        squares.job(turns(300), "options", exit_code=1),
        guest.job(tmp_path / "missing", "missing"),
    ]
    for found, expected in zip(pipelined(jobs), in_order(jobs, monkeypatch), strict=True):
        assert (found.job, found.proof, found.kept) == (expected.job, expected.proof, expected.kept)
        assert (type(found.error), str(found.error)) == (type(expected.error), str(expected.error))
        assert list(found.seconds) == list(expected.seconds)
    assert isinstance(found.error, FileError)
    assert isinstance(pipelined(jobs[2:4])[0].error, CostLimit)


def damaged(monkeypatch: pytest.MonkeyPatch, label: int) -> None:
    """Damage the payload of the proof that is made as number ``label``."""
    make, made = job_module.make, []

    def wrong(*arguments: Any, **options: Any) -> Any:
        found = make(*arguments, **options)
        made.append(found)
        if len(made) - 1 != label:
            return found
        last = found.proof.proofs[-1]
        payload = bytearray(last.payload)
        payload[len(payload) // 2] ^= 1
        other = replace(last, payload=bytes(payload))
        if isinstance(found.proof, ShardedProof):
            other = replace(found.proof, proofs=(*found.proof.proofs[:-1], other))
        return replace(found, proof=other)

    monkeypatch.setattr(job_module, "make", wrong)


@pytest.mark.parametrize("shards", slow_after(1, [2, 1]))
def test_a_false_proof_is_an_error_with_all_its_parts(
    shards: int, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Prover(GUESTS / "fib_iterative.elf", security=20, shards=shards)
    jobs = [guest.job(turns(300 + number), f"job {number}") for number in range(3)]
    with monkeypatch.context() as patch:
        damaged(patch, 1)
        _, expected, _ = in_order(jobs, monkeypatch)
    damaged(monkeypatch, 1)
    no_verification_here(monkeypatch)
    with observed() as seen:
        before, found, after = pipelined(jobs)
    assert before.proof and after.proof and found.proof is None and found.made is None
    assert type(found.error) is type(expected.error) is VerificationError
    assert vars(found.error) == vars(expected.error) and found.error.args == expected.error.args
    assert found.error.shard == (1 if shards == 2 else None)
    assert [one.name for one in seen] == ["job 0", "job 2"]


def test_a_false_proof_is_not_written(
    tmp_path: Path, forced: Processes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(executor, "pays", lambda device: True)
    for number in range(3):
        Path(f"{number}.in").write_bytes(turns(300) + bytes(3 - number))
    Path("jobs.toml").write_text(BATCH)
    damaged(monkeypatch, 1)
    assert main(["batch", "jobs.toml", "--device", "cpu", "--summary", "done"]) == FAILED
    assert sorted(path.name for path in tmp_path.glob("*.proof")) == ["0.proof", "2.proof"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and [line.startswith(f"{number + 1}/3 {number}") for number, line in enumerate(lines)]


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_process_that_ends_is_replaced_by_this_one(
    when: str, guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [guest.job(turns(300 + number)) for number in range(4)]
    expected = in_order(jobs, monkeypatch)
    start = Checker.start

    def kill() -> None:
        forced[0].kill()
        forced[0].wait()

    def starting(*arguments: Any) -> Any:
        if forced[0].returncode is None and when == "before":
            kill()
        elif forced[0].returncode is None:
            forced[0].send_signal(signal.SIGSTOP)
            threading.Timer(0.1, kill).start()
        return start(*arguments)

    monkeypatch.setattr(Checker, "start", starting)
    found = pipelined(jobs)
    assert [one.proof for one in found] == [one.proof for one in expected]
    assert all("verify" in one.seconds for one in found)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 2 and "has ended with exit code -9; another process verifies" in warnings[0]
    assert "verified 4 proofs itself" in warnings[1]


def test_a_process_that_reads_nothing_blocks_nobody(guest: Prover, forced: Processes) -> None:
    class Large:
        def to_bytes(self) -> bytes:
            return bytes(4 << 20)  # more than the connection takes without a reader

    check = guest.check_elsewhere
    assert check
    with Checker() as checker:
        forced[0].send_signal(signal.SIGSTOP)
        late = threading.Timer(LIMIT, forced[0].kill)
        late.start()
        answer = checker.start(check, Large(), None)  # type: ignore[arg-type]
        assert answer and not answer.done()
    assert late.is_alive() and forced[0].returncode == -signal.SIGKILL
    late.cancel()


def test_two_processes_verify_in_turns(guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is lost leaves its proofs to the other, and this process verifies the one that it had."""
    monkeypatch.setattr(pipeline, "available_threads", lambda: 4)
    jobs = [guest.job(turns(300 + number), str(number)) for number in range(12)]
    expected, takers, here = in_order(jobs, monkeypatch), list[Checker](), list[str]()
    start, receive, check = Checker.start, Checker._receive, Job.check
    both_busy, lost = threading.Event(), threading.Event()

    def starting(checker: Checker, *given: Any) -> Any:
        process = checker._process
        again = bool(takers) and checker is takers[0] and not checker.lost and checker._last and checker._last.done()
        if again and process:
            process.send_signal(signal.SIGSTOP)
        if answer := start(checker, *given):
            takers.append(checker)
        if again and process:
            process.kill()
            lost.set()
        if len(set(takers)) == 2:
            both_busy.set()
        return answer

    def receiving(checker: Checker) -> Any:
        """Hold the first answer until the other process has a proof, and that one's until the first one is lost."""
        found = receive(checker)
        assert not takers or (both_busy if checker is takers[0] else lost).wait(LIMIT)
        return found

    monkeypatch.setattr(Checker, "start", starting)
    monkeypatch.setattr(Checker, "_receive", receiving)
    monkeypatch.setattr(Job, "check", lambda job, made: here.append(job.name) or check(job, made))
    found = pipelined(jobs)
    assert [(one.job, one.proof) for one in found] == [(one.job, one.proof) for one in expected]
    first, second = takers[:2]
    assert first is not second and takers[2:] == [first, *[second] * 9]
    assert here == ["2"] and len(forced) == 2


@pytest.mark.parametrize("broken", ["module", "memory", "check"])
def test_a_process_that_does_not_start_is_no_error(
    broken: str, guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise OSError("no processes left")

    if broken == "module":
        monkeypatch.setattr(pool, "_MODULE", "graphprover.no_module")
    elif broken == "memory":
        monkeypatch.setattr(pool.subprocess, "Popen", failing)
    else:
        packed = PackedCheck(replace(guest.packed, files=(("", b"\x7fELF"),)), guest.level)
        monkeypatch.setattr(Job, "check_elsewhere", packed)
    assert all(one.proof for one in pipelined([guest.job(turns(300)), guest.job(turns(301))]))
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert ("did not start: no processes left" if broken == "memory" else "exit code 1") in warnings[0]
    assert len(warnings) == 2 and "verified 2 proofs itself" in warnings[1]


def test_it_verifies_nothing_before_it_is_ready(
    guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Checker, "start", lambda *_: None)
    assert all(one.proof for one in pipelined([guest.job(turns(300)), guest.job(turns(301))]))
    assert len(forced) == 1 and not caplog.records


def test_proofs_wait_for_the_start_of_the_processes(
    guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first proofs wait as long as their seconds together are few; this process verifies one beyond that."""
    jobs = [guest.job(turns(300 + number), str(number)) for number in range(6)]
    expected, starting, here = in_order(jobs, monkeypatch), [True], list[str]()
    start, check, prove = Checker.start, Job.check, Job.prove_started

    def proving(job: Job, *given: Any) -> Any:
        starting[0] = job.name != "5"
        made = prove(job, *given)
        return replace(made, seconds={**made.seconds, "prove": 1.0})

    monkeypatch.setattr(pipeline, "LONGEST", 3.0)
    monkeypatch.setattr(Job, "prove_started", proving)
    monkeypatch.setattr(Job, "check", lambda job, made: here.append(job.name) or check(job, made))
    monkeypatch.setattr(Checker, "start", lambda *given: None if starting[0] else start(*given))
    assert [(one.job, one.proof) for one in pipelined(jobs)] == [(one.job, one.proof) for one in expected]
    assert here == ["0", "1"]


def test_no_proof_waits_without_a_process(guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = list[str](), list[str]()
    monkeypatch.setattr(pipeline, "FEWEST_JOBS", 1000)
    jobs = [guest.job(turns(300 + number), str(number)) for number in range(3)]
    for result in prove_many(jobs, "sync", "cpu", lambda job, worker: begun.append(job.name)):
        ended.append(result.job.name)
        assert begun == ended
    assert not forced


def test_it_ignores_control_c(guest: Prover, forced: Processes) -> None:
    results = prove_many([guest.job(turns(300 + number)) for number in range(3)], "sync", "cpu")
    assert next(results).proof
    forced[0].send_signal(signal.SIGINT)
    assert all(one.proof for one in results)


@pytest.mark.parametrize("end", [KeyboardInterrupt(), DeviceLost("gone")])
def test_what_ends_the_batch_ends_the_process(
    end: BaseException, guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof that was made before the GPU was lost is still verified and yielded."""
    prove, receive, made, ends = Job.prove_started, Checker._receive, [], threading.Event()

    def proving(*arguments: Any) -> Any:
        if len(made) == 2:
            ends.set()
            raise end
        made.append(prove(*arguments))
        return made[-1]

    def receiving(checker: Checker) -> Any:
        """Hold the answers until the end, so that both proofs wait."""
        found = receive(checker)
        assert not made or ends.wait(LIMIT)
        return found

    monkeypatch.setattr(Job, "prove_started", proving)
    monkeypatch.setattr(Checker, "_receive", receiving)
    found = []
    with pytest.raises(type(end)):
        for result in prove_many([guest.job(turns(300)) for _ in range(4)], "sync", "cpu"):
            found.append(result)
    assert len(found) == (2 if isinstance(end, DeviceLost) else 0) and all(one.proof for one in found)
    assert len(forced) == 1


def test_an_error_of_the_caller_loses_no_proof(guest: Prover, forced: Processes) -> None:
    def begun(job: Job, worker: str) -> None:
        if job.name == "2":
            raise ValueError("of the caller")

    found = []
    with pytest.raises(ValueError, match="of the caller"):
        for result in prove_many([guest.job(turns(300), str(number)) for number in range(3)], "sync", "cpu", begun):
            found.append(result.job.name)
    assert found == ["0", "1"]


def test_a_batch_that_is_closed_ends_the_process(guest: Prover, forced: Processes) -> None:
    results: Any = prove_many([guest.job(turns(300)) for _ in range(4)], "sync", "cpu")
    assert next(results).proof and forced[0].poll() is None
    results.close()
    assert forced[0].returncode is not None


def test_the_same_job_twice(guest: Prover, forced: Processes) -> None:
    job = guest.job(turns(300))
    assert [one.job for one in pipelined([job, job, job])] == [job] * 3


def test_an_existing_proof_is_read_after_the_one_before_is_yielded(
    guest: Prover, forced: Processes, tmp_path: Path
) -> None:
    path = tmp_path / "proof"
    jobs = [guest.job(turns(300)), guest.job(turns(300), existing=path), guest.job(turns(301), existing=path)]
    kept = []
    for result in prove_many(jobs, "sync", "cpu"):
        assert result.proof
        result.proof.save(path)
        kept.append(result.kept)
    assert kept == [False, True, False]


def test_a_long_proof_is_verified_before_the_next_one(
    guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "LONGEST", 0.0)
    monkeypatch.setattr(Checker, "start", lambda *_: pytest.fail("sent"))
    events: list[str] = []
    jobs = [guest.job(turns(300), str(number)) for number in range(3)]
    for result in prove_many(jobs, "sync", "cpu", lambda job, worker: events.append(f"begun {job.name}")):
        events.append(f"ended {result.job.name}")
    assert events == [f"{event} {number}" for number in range(3) for event in ("begun", "ended")]


def test_guests_run_ahead_by_one(guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    run, threads = Job.recorded, []

    def recorded(job: Job, *arguments: Any) -> Any:
        threads.append((job.name, threading.current_thread() is threading.main_thread()))
        return run(job, *arguments)

    monkeypatch.setattr(Job, "recorded", recorded)
    pipelined([guest.job(turns(300), str(number)) for number in range(3)])
    assert threads == [("0", True), ("1", False), ("2", False)]


def test_a_run_ahead_with_too_little_memory_is_repeated(
    guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_module, "_AHEAD", 1 << 50)
    jobs = [guest.job(turns(300 + number)) for number in range(3)]
    assert [one.proof for one in pipelined(jobs)] == [guest.prove(turns(300 + number)) for number in range(3)]


def test_a_pipe_is_read_once(guest: Prover, forced: Processes, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writing = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(turns(300),))
    writing.start()
    found = pipelined([guest.job(turns(301)), guest.job(tmp_path / "pipe")])
    writing.join(LIMIT)
    assert found[-1].proof == guest.prove(turns(300))


class Text:
    """A receiver of the debug text of several jobs, with the jobs' beginnings."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def of(self, name: str) -> Callable[[bytes], None]:
        return lambda text: self.lines.append(f"{name} shows {text.decode()}")

    def begun(self, job: Job, worker: str) -> None:
        self.lines.append(f"{job.name} begins")


def showing(path: Path, text: str, then: list[int]) -> Path:
    show = [*li(A0, DATA), *li(A1, len(text)), DEBUG_PRINT]
    path.write_bytes(elf([Segment(CODE, words([*show, *then]), X), Segment(DATA, text.encode())]))
    return path


def test_debug_text_is_shown_once_and_in_order(
    tmp_path: Path, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the text of a run that fails ahead of its turn; a job that has not begun shows none."""
    text, ends = Text(), {"a": leave(), "b": leave(3), "c": [0], "d": leave()}
    provers = [Prover(showing(tmp_path / name, f"{name}\n", end), security=20) for name, end in ends.items()]
    jobs = [prover.job(b"", name, debug=text.of(name)) for prover, name in zip(provers, ends, strict=True)]
    errors = [type(one.error).__name__ for one in prove_many(jobs, "sync", "cpu", text.begun)]
    assert errors == ["NoneType", "OtherExitCode", "GuestFault", "NoneType"]
    expected = [line for name in ends for line in (f"{name} begins", f"{name} shows {name}\n")]
    assert text.lines == expected

    del text.lines[:]
    monkeypatch.setattr(pipeline, "checkers_for", lambda jobs: 0)
    results: Any = prove_many([jobs[0], jobs[3]], "sync", "cpu", text.begun)
    assert next(results).proof
    results.close()
    assert text.lines == expected[:2]


def test_a_receiver_that_fails_fails_its_job(tmp_path: Path, forced: Processes) -> None:
    def failing(text: bytes) -> None:
        raise ValueError("no text")

    shows = Prover(showing(tmp_path / "shows", "text", leave()), security=20)
    found = pipelined([shows.job(b"", "0"), shows.job(b"", "1", debug=failing), shows.job(b"", "2")])
    assert [str(one.error) for one in found] == ["None", "no text", "None"]


# A script without a guard, in which a started process must run nothing again.
SCRIPT = """
import logging, struct, sys, time
from pathlib import Path
from graphprover import Prover, prove_many
from graphprover.__main__ import main
from graphprover.verifier import pool
from graphprover.proving import executor, pipeline
from graphprover.proving.layers_behind import LayersBehind
from graphprover.runtime.deadline import check_deadline

print("script")
executor.pays = lambda device: True
pipeline.FEWEST_JOBS, pipeline.LONGEST = 1, 1e9  # however slow the proofs are
pipeline.available_threads = lambda: 2
begin, start = pool.Checker.__enter__, pool.Checker.start

def ready(checker):
    begin(checker)
    assert checker._last.result(600)
    print(checker._process.pid, flush=True)
    return checker

pool.Checker.__enter__ = ready
"""


def run_script(more: str, *arguments: str) -> "subprocess.Popen[str]":
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT + more, *arguments],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # as a terminal's foreground
    )


def gone_now(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def gone(pid: int) -> bool:
    deadline = time.monotonic() + LIMIT
    while not gone_now(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return gone_now(pid)


@pytest.mark.parametrize("sent", slow_after(1, ["SIGKILL", "SIGINT", "SIGTERM"]))
def test_a_command_that_is_ended_ends_its_process(sent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C in a terminal: the whole group gets the signal. No traceback is shown."""
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        Path(f"{number}.in").write_bytes(turns(300) + bytes(3 - number))
    Path("jobs.toml").write_text(BATCH)
    waits = """
def starting(checker, *proof):
    if sent:  # the first proof has been yielded
        print("sent", flush=True)
        time.sleep(3600)  # until the signal, however long that takes
    sent.append(start(checker, *proof))
    assert sent[0].result(600)
    return sent[0]

sent = []
pool.Checker.start = starting
sys.exit(main())
"""
    running = run_script(waits, "batch", "jobs.toml", "--device", "cpu")
    assert running.stdout
    assert running.stdout.readline() == "script\n"
    pid = int(running.stdout.readline())
    assert running.stdout.readline() == "sent\n" and not gone_now(pid)
    assert running.stderr
    while not running.stderr.readline().startswith("1/3 "):  # after which the proof counts as written
        assert running.poll() is None
    os.killpg(running.pid, signal.Signals[sent])
    out, err = running.communicate(timeout=LIMIT)
    assert out == "" and gone(pid)
    lines = [line for line in err.splitlines() if line and "kernels" not in line]
    ending = {"SIGINT": "interrupted", "SIGTERM": "terminated"}.get(sent)
    told = [f"graphprover: {ending}: 1 of 3 proofs are written; --resume continues"] if ending else []
    assert lines == told
    assert sorted(path.name for path in tmp_path.glob("*proof*")) == ["0.proof"]


def test_a_script_without_a_guard_is_not_run_again() -> None:
    proves = f"""
guest = Prover({str(GUESTS / "fib_iterative.elf")!r}, security=20)
jobs = [guest.job(struct.pack("<Q", 300 + number)) for number in range(3)]
if "interrupt" in sys.argv:
    pool.Checker.start = lambda *_: __import__("signal").raise_signal(2)
print(sum(one.proof is not None for one in prove_many(jobs, "sync", "cpu")))
"""
    plain = run_script(proves)
    out, err = plain.communicate(timeout=LIMIT)
    lines = out.splitlines()
    assert (lines[0], lines[2:], err) == ("script", ["3"], "")
    interrupted = run_script(proves, "interrupt")
    out, err = interrupted.communicate(timeout=LIMIT)
    assert gone(int(out.splitlines()[1])) and interrupted.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1 and err.endswith("KeyboardInterrupt\n")  # the script's own


def test_other_devices_than_a_cpu_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch on a CPU has the order and the process of before."""

    class Other:
        kind = "cuda"

    device: Any = Other()
    assert executor.pays(device) and not executor.pays("cpu")
    monkeypatch.setattr(executor, "prove_pipelined", lambda *_: pytest.fail("pipelined"))
    guest = Prover(GUESTS / "fib_iterative.elf", security=20)
    events: list[str] = []
    jobs = [guest.job(turns(300), str(number)) for number in range(2)]
    for result in prove_many(jobs, "sync", "cpu", lambda job, worker: events.append(f"begun {job.name}")):
        events.append(f"ended {result.job.name}")
    assert events == ["begun 0", "ended 0", "begun 1", "ended 1"]


def test_processes_are_started_for_many_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    for threads, processes in ((1, 0), (2, 1), (3, 1), (4, 2), (64, 2)):
        monkeypatch.setattr(pipeline, "available_threads", lambda threads=threads: threads)
        assert pipeline.checkers_for(pipeline.FEWEST_JOBS) == processes
        assert pipeline.checkers_for(pipeline.FEWEST_JOBS - 1) == 0


def test_processes_are_started_once_many_jobs_have_come(
    guest: Prover, squares: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs whose code runs in this process only start none."""
    monkeypatch.setattr(pipeline, "FEWEST_JOBS", 3)
    asked: queue.Queue[Job | None] = queue.Queue()
    results = prove_many(iter(asked.get, None), "sync", "cpu")
    for number, prover in enumerate([guest, guest, squares, squares, guest]):
        asked.put(prover.job(turns(300), str(number)))
        assert next(results).job.name == str(number)
        assert len(forced) == (number == 4)
    asked.put(None)
    assert not list(results)


def test_code_of_users_runs_in_no_other_process(squares: Prover) -> None:
    assert squares.check_elsewhere is None
    assert Prover("examples/memory").check_elsewhere
    program = open_program("examples/memory")
    assert isinstance(program, TableProgram)
    assert Prover(replace(program, name="made here")).check_elsewhere is None


def test_the_process_imports_what_a_verifier_needs() -> None:
    loads = """
import sys
from graphprover.verifier.pool import _load_kernels
from graphprover.jobs.opening import PackedCheck
_load_kernels()
print({"dask", "cupy", "rmm", "distributed", "rich"} & sys.modules.keys(), "numba" in sys.modules)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", loads], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "set() True\n"
    assert pool.__name__ == pool._MODULE


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Prover:
    """Return a prover whose proofs have layers, which a test replaces; nothing verifies them."""
    monkeypatch.setattr(Prover, "verify_made", lambda *_: None)
    monkeypatch.setattr(Job, "check_elsewhere", None)
    return Prover(GUESTS / "fib_iterative.elf", security=20, compress=8)


def test_layers_are_made_beside_the_next_proof(
    small: Prover, guest: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The layers of each job wait here for the next proof; a job without layers has its turn among the others."""
    jobs = [(guest if number == 3 else small).job(turns(300 + number), str(number)) for number in range(6)]
    begun = {job.name: threading.Event() for job in jobs}
    events, prove = list[str](), Job.prove_started

    def proving(job: Job, *given: Any) -> Any:
        begun[job.name].set()
        events.append(f"base {job.name}")
        return prove(job, *given)

    def compressed(job: Job, made: Any, *given: Any) -> Any:
        events.append(f"layers {job.name}")
        after = str(int(job.name) + 1)
        assert after not in begun or begun[after].wait(LIMIT)
        events.append(f"end {job.name}")
        return made

    monkeypatch.setattr(Job, "prove_started", proving)
    monkeypatch.setattr(Job, "compressed", compressed)
    results = []
    for result in prove_many(jobs, "sync", "cpu"):
        results.append(result)
        events.append(f"result {result.job.name}")
    assert [one.job for one in results] == jobs and all(one.proof for one in results)
    place = {event: number for number, event in enumerate(events)}
    assert len(place) == len(events) == 4 * 5 + 2
    for name, after in ((str(number), str(number + 1)) for number in range(5) if number != 3):
        assert place[f"base {name}"] < place[f"layers {name}"] < place[f"base {after}"] < place[f"end {name}"]
        assert place[f"end {name}"] < min(place.get(f"layers {after}", 99), place[f"result {name}"])


def test_an_error_of_layers_is_of_its_job(small: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    def compressed(job: Job, made: Any, *given: Any) -> Any:
        if job.name == "1":
            raise ValueError("of a layer")
        return made

    monkeypatch.setattr(Job, "compressed", compressed)
    results = pipelined([small.job(turns(300 + number), str(number)) for number in range(3)])
    assert [str(one.error) for one in results] == ["None", "of a layer", "None"]


@pytest.mark.parametrize("lost", ["layers", "proof"])
def test_a_gpu_lost_beside_other_work_ends_the_batch_after_the_results_before(
    lost: str, small: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove = Job.prove_started

    def proving(job: Job, *given: Any) -> Any:
        if (lost, job.name) == ("proof", "2"):
            raise DeviceLost("gone")
        return prove(job, *given)

    def compressed(job: Job, made: Any, *given: Any) -> Any:
        if (lost, job.name) == ("layers", "1"):
            raise DeviceLost("gone")
        return made

    monkeypatch.setattr(Job, "prove_started", proving)
    monkeypatch.setattr(Job, "compressed", compressed)
    found = []
    with pytest.raises(DeviceLost):
        for result in prove_many([small.job(turns(300), str(number)) for number in range(4)], "sync", "cpu"):
            found.append(result.job.name)
    assert found == (["0"] if lost == "layers" else ["0", "1"])


def test_a_batch_that_ends_gives_up_the_layers(
    small: Prover, forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, given_up, prove = threading.Event(), list[str](), Job.prove_started
    stop = LayersBehind.__exit__

    def proving(job: Job, *given: Any) -> Any:
        if job.name == "1":
            raise KeyboardInterrupt
        return prove(job, *given)

    def compressed(job: Job, made: Any, *given: Any) -> Any:
        assert ended.wait(LIMIT)
        try:
            check_deadline()
        except RuntimeError as error:
            given_up.append(str(error))
            raise

    def stopping(layers: LayersBehind, *raised: Any) -> None:
        layers._ended = True
        ended.set()
        stop(layers, *raised)

    monkeypatch.setattr(Job, "prove_started", proving)
    monkeypatch.setattr(Job, "compressed", compressed)
    monkeypatch.setattr(LayersBehind, "__exit__", stopping)
    with pytest.raises(KeyboardInterrupt):
        pipelined([small.job(turns(300), str(number)) for number in range(3)])
    assert given_up == ["the batch has ended"]


def test_compressed_proofs_and_their_observations_are_those_in_order(
    forced: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    prover = Prover(GUESTS / "fib_iterative.elf", security=20, compress=8)
    jobs = [prover.job(turns(300 + number), f"job {number}") for number in range(2)]
    expected = in_order(jobs, monkeypatch)
    with observed() as seen:
        found = pipelined(jobs)
    assert [one.proof for one in found] == [one.proof for one in expected] and all(one.proof for one in found)
    for one, other, result in zip(found, expected, seen, strict=True):
        assert one.made and other.made and result.name == one.job.name
        assert list(one.seconds) == list(other.seconds) and one.made.base_bytes == other.made.base_bytes
        stages = [stage.name for stage in result.stages]
        assert stages[:3] == ["prepare", "wait", "prove"] and len(set(stages)) == len(stages)
        assert result.stages[0].start == 0 and [layer.name for layer in result.layers]
