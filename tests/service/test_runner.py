"""The prover's part of the queue: jobs are proved, found in the store, cancelled, or end with their error."""

import hashlib
import pickle
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphprover import Prover
from graphprover.jobs.job import Job
from graphprover.jobs.result import Result
from graphprover.runtime.files import FileError
from graphprover.service import runner as module
from graphprover.service.config import ServiceLimits
from graphprover.service.counted import BYTES, CELLS, CYCLES, RETRIES
from graphprover.service.database import connect
from graphprover.service.jobs import Provers
from graphprover.service.queue import NewJob, Queue
from graphprover.service.requests import JobClaim, JobReport
from graphprover.service.runner import Runner
from graphprover.service.states import CANCELLED, DONE, FAILED, QUEUED, RUNNING
from graphprover.service.store import INPUTS, PROGRAMS, Store, proof_key
from graphprover.vm.executor.execute import ran
from graphprover.vm.executor.faults import Fault, GuestFault
from graphprover.vm.program.elf import load_elf, program_hash
from graphprover.vm.program.io import DEBUG_PRINT
from graphprover.vm.program.isa import A0, A1
from tests.vm.assemble import CODE, DATA, Segment, X, elf, leave, li, words

GUEST = Path(__file__).parents[2] / "examples/guests/fib_iterative.elf"
HASH = "0d230abbdfa2af2276f9ab51c9b9ab8219d2548ea39c67244985bf21aed2977b"
OTHER = Path(__file__).parents[2] / "examples/guests/keccak.elf"
FEW = {"security": 20.0}


class Service:
    """A queue and a store in a folder, and a runner for them."""

    def __init__(self, folder: Path) -> None:
        self.queue, self.store = Queue(connect(f"sqlite:///{folder}/queue.db")), Store(str(folder / "store"))
        self.inputs = folder / "taken"
        self.inputs.mkdir()
        self.store.save_upload(PROGRAMS, HASH, GUEST.read_bytes())
        self.counted: Counter[str] = Counter()
        self.runner = Runner(self.queue, self.store, self.inputs, "prover", self.count)

    def count(self, name: str, number: int) -> None:
        self.counted[name] += number

    def submit(self, turns: int, priority: int = 0, timeout: float | None = None, more: int = 0, **options: Any) -> Any:
        data = struct.pack("<Q", turns) + bytes(more)
        name = hashlib.sha256(data).hexdigest()
        self.store.save_upload(INPUTS, name, data)
        given = FEW | options
        key = proof_key(HASH, name, given)
        job = NewJob("alice", "", HASH, "fib.elf", name, f"job {turns}", given, key, priority, timeout, None)
        return self.queue.submit(job, 100)[0]

    def run(self, goes_on: Callable[[], bool] | None = None) -> None:
        """Run until no job is open."""
        counts = self.queue.counts
        self.runner.run("sync", "cpu", goes_on or (lambda: counts()[QUEUED] + counts()[RUNNING] > 0))

    def row(self, row: Any) -> Any:
        return self.queue.get(row.id, "alice")


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def test_a_job_is_proved_with_claim_and_report(service: Service) -> None:
    row = service.submit(300)
    service.run()
    found = service.row(row)
    assert (found.state, found.attempts, found.problem) == (DONE, 1, None) and found.started < found.ended
    proof = b"".join(service.store.proof_chunks(row.proof_key))
    verdict = Prover(GUEST, **FEW).verify(proof)  # type: ignore[arg-type]
    claim = service.store.claim(row.proof_key)
    assert claim and verdict.claim and claim["says"] == verdict.claim.to_json() and claim["program"] == HASH
    assert claim["label"] == f"fib.elf {HASH}" and claim["parameters"]["num_queries"] > 0 and claim["layers"] == []
    assert set(claim) == set(JobClaim(**claim).model_dump())
    report = service.store.report(row.proof_key)
    assert report["cost"] == Prover(GUEST).cost(struct.pack("<Q", 300)).value
    assert service.counted == {CYCLES: verdict.claim.cycles, CELLS: report["cells"], BYTES: len(proof)}
    assert report and set(JobReport(**report, cycles_per_second=1.0).model_dump()) == {*report, "cycles_per_second"}
    assert set(report["seconds"]) == {"prepare", "wait", "prove", "verify"} and report["cycles"] == verdict.claim.cycles
    assert not list(service.inputs.iterdir())


def test_options_reach_the_prover(service: Service) -> None:
    rows = [service.submit(300, rate=4, hash="keccak"), service.submit(300, compress=[2], pow_bits=4)]
    service.run()
    first, second = (service.store.claim(row.proof_key) for row in rows)
    assert first and (first["parameters"]["log_blowup"], first["parameters"]["hash"]) == (2, "keccak")
    assert second and [layer["log_blowup"] for layer in second["layers"]] == [1]


def test_jobs_begin_in_order_of_priority_and_age(service: Service) -> None:
    rows = [service.submit(300 + index, priority) for index, priority in enumerate((0, 3, -3, 3, 0))]
    service.run()
    started = sorted(rows, key=lambda row: service.row(row).started)
    assert [row.number for row in started] == [rows[index].number for index in (1, 3, 0, 4, 2)]


def test_a_large_input_does_not_overtake(service: Service) -> None:
    rows = [service.submit(300 + index, more=8 * index) for index in range(3)]
    service.run()
    assert sorted(rows, key=lambda row: service.row(row).started) == rows


def test_the_second_of_equal_jobs_is_found_in_the_store(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    proved = []
    make = Job.make

    def counted(self: Job, *arguments: Any, **options: Any) -> Any:
        proved.append(self.name)
        return make(self, *arguments, **options)

    monkeypatch.setattr(Job, "make", counted)
    rows = [service.submit(300) for _ in range(3)]
    service.run()
    assert proved == ["job 300"] and [service.row(row).state for row in rows] == [DONE] * 3
    assert [service.row(row).from_store for row in rows] == [False, True, True]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_cycles": 10}, "cycles"),
        ({"exit_code": 3}, "exit code 0"),
        ({"max_cost": 1}, "cost"),
        ({"commit_input": True, "random_seed": 5}, "random seed"),
    ],
)
def test_an_error_ends_its_job_only(service: Service, options: dict[str, Any], problem: str) -> None:
    bad, good = service.submit(300, 1, **options), service.submit(301)
    service.run()
    assert service.row(bad).state == FAILED and problem in service.row(bad).problem
    assert service.row(good).state == DONE


@pytest.mark.parametrize(
    ("options", "limits", "expected"),
    [
        ({}, {}, {}),
        ({"max_cycles": 9}, {}, {"max_cycles": 9}),
        (
            {"max_cycles": 9, "max_memory": 3},
            {"max_cycles": 5, "max_memory": 2},
            {"max_cycles": 5, "max_memory": 2 << 20},
        ),
        (
            {"max_cycles": 5, "max_memory": 2},
            {"max_cycles": 9, "max_memory": 3},
            {"max_cycles": 5, "max_memory": 2 << 20},
        ),
        ({}, {"max_cycles": 5, "max_memory": 2}, {"max_cycles": 5, "max_memory": 2 << 20}),
        ({}, {"max_cycles": (1 << 32) - 1}, {"max_cycles": 1 << 30}),
    ],
)
def test_a_run_has_the_limits_of_its_job_and_of_the_service(
    service: Service, options: dict[str, int], limits: dict[str, int], expected: dict[str, int]
) -> None:
    """Also a job that was queued before the service had its limits."""
    job = Provers(service.store, ServiceLimits(**limits)).job(service.submit(300, **options), None)
    assert job.limits == expected


@pytest.mark.parametrize(
    ("given", "most", "seconds"), [(None, None, None), (5, None, 5), (5, 3, 3), (None, 3, 3), (2, 3, 2)]
)
def test_a_job_has_the_timeout_of_the_service(service: Service, given: Any, most: Any, seconds: Any) -> None:
    assert (
        Provers(service.store, ServiceLimits(timeout=most)).job(service.submit(300, timeout=given), None).timeout
        == seconds
    )


def test_an_input_that_is_gone_fails_its_job(service: Service) -> None:
    row = service.submit(300)
    service.store.remove_upload(INPUTS, row.input)
    service.run()
    assert service.row(row).state == FAILED and "no longer in the store" in service.row(row).problem


@pytest.mark.parametrize(
    ("kind", "data", "problem"),
    [
        (INPUTS, b"", "its input is damaged in the store: upload it and submit the job again"),
        (INPUTS, struct.pack("<Q", 301), "its input is damaged in the store"),
        (PROGRAMS, b"", "its program is damaged in the store"),
        (PROGRAMS, OTHER.read_bytes(), "its program is damaged in the store: upload it and submit the job again"),
    ],
)
def test_a_damaged_upload_fails_its_job_and_is_not_proved(
    service: Service, kind: str, data: bytes, problem: str
) -> None:
    row = service.submit(300)
    service.store.save_upload(kind, row.input if kind == INPUTS else HASH, data)
    service.run()
    assert service.row(row).state == FAILED and problem in service.row(row).problem
    assert service.store.claim(row.proof_key) is None


def test_a_job_that_cannot_be_opened_fails(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prover process would take it again and again."""
    row = service.submit(300)

    def fail(*arguments: object) -> None:
        raise TypeError("an option")

    monkeypatch.setattr(module.Provers, "job", fail)
    service.run()
    assert service.row(row).state == FAILED and "TypeError: an option" in service.row(row).problem


@pytest.mark.parametrize("error", [ConnectionError, RuntimeError])  # of the system, and of an object store's library
def test_a_store_that_does_not_answer_ends_the_runner(
    service: Service, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    row = service.submit(300)

    def fail(*arguments: object) -> None:
        raise error("the store is away")

    monkeypatch.setattr(service.store._files, "get_file", fail)
    with pytest.raises(OSError, match="the store is away"):
        service.run()
    assert service.row(row).state == QUEUED


def test_a_store_that_is_full_ends_the_runner_and_no_job(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    row = service.submit(300)

    def full(*arguments: object) -> None:
        raise FileError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "save_proof", full)
        once = iter([True])  # otherwise this run may take the job again before it ends
        with pytest.raises(FileError):
            service.run(lambda: next(once, False))
    found = service.row(row)
    assert (found.state, found.attempts) == (QUEUED, 0)
    service.run()
    assert service.row(row).state == DONE


def test_programs_are_read_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    upload, read = Store.upload, []

    def counted(self: Store, kind: str, name: str) -> bytes:
        read.append(name)
        return upload(self, kind, name)

    monkeypatch.setattr(Store, "upload", counted)
    rows = [service.submit(300 + index) for index in range(3)]
    service.run()
    assert read == [HASH] and [service.row(row).state for row in rows] == [DONE] * 3


def test_a_cancelled_job_stops_and_the_next_one_runs(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROGRESS_SECONDS", 0.01)
    begin, slow = service.queue.begin, service.submit(300, 1, rate=2)
    follow, ended = Runner._end, []

    def cancel(number: int, prover: str, worker: str) -> bool:
        begun = begin(number, prover, worker)
        if number == slow.number:
            service.queue.cancel(slow.id, "alice")
            end = time.monotonic() + 60
            while number not in service.runner._cancelled and time.monotonic() < end:
                time.sleep(0.01)
        return begun

    def end(self: Runner, job: Any, result: Result) -> None:
        ended.append(result.error)
        follow(self, job, result)

    monkeypatch.setattr(service.queue, "begin", cancel)
    monkeypatch.setattr(Runner, "_end", end)
    next = service.submit(301)
    service.run()
    assert isinstance(ended[0], module.Cancelled) and service.row(slow).state == CANCELLED
    assert service.row(next).state == DONE and service.store.claim(slow.proof_key) is None


def test_a_run_that_is_cancelled_stops_and_the_next_one_begins(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROGRESS_SECONDS", 0.01)
    slow, begin = service.submit(1 << 40, 1, max_cycles=(1 << 32) - 1), service.queue.begin

    def cancel(number: int, prover: str, worker: str) -> bool:
        begun = begin(number, prover, worker)
        if number == slow.number:
            service.queue.cancel(slow.id, "alice")
        return begun

    monkeypatch.setattr(service.queue, "begin", cancel)
    next, before = service.submit(301), ran["recorded"]
    service.run()
    assert service.row(slow).state == CANCELLED and service.row(next).state == DONE
    assert ran["recorded"] - before < 1 << 31  # the run has not come to its end


@pytest.mark.parametrize(
    ("text", "then", "problem"),
    [
        (
            b"panicked at src/main.rs:5:3:\nboom\n",
            [0],
            r"; end of the debug text: 'panicked at src/main.rs:5:3:\nboom'",
        ),
        (b"\x1b[31mred\x07 \xe2\x80\xae\xff", [0], r"; end of the debug text: '\x1b[31mred\x07 \u202e�'"),
        (b"x" * 2000 + b"end", [0], "; end of the debug text: '" + "x" * 1020 + "end'"),
        (b"no", leave(3), "; end of the debug text: 'no'"),
        (b"\n", [0], "cycles)"),
    ],
)
def test_a_guest_that_fails_has_its_last_words_in_the_problem(
    service: Service, text: bytes, then: list[Any], problem: str
) -> None:
    code = [*li(A0, DATA), *li(A1, len(text)), DEBUG_PRINT, *then]
    data = elf([Segment(CODE, words(code), X), Segment(DATA, text)])
    hash = program_hash(load_elf(data)).hex()
    service.store.save_upload(PROGRAMS, hash, data)
    job = NewJob("alice", "", hash, "panics", None, "panics", FEW, hash, 0, None, None)
    row = service.queue.submit(job, 100)[0]
    service.run()
    found = service.row(row)
    assert found.state == FAILED and found.problem.endswith(problem) and found.problem.isprintable()


def test_the_last_words_come_from_a_worker() -> None:
    error = GuestFault(Fault.BREAKPOINT, 0, "ebreak", 1)
    assert not hasattr(pickle.loads(pickle.dumps(error)), "__notes__")
    error.add_note("end of the debug text: 'boom'")
    again = pickle.loads(pickle.dumps(error))
    assert again.__notes__ == error.__notes__ and str(again) == str(error)


def test_progress_is_in_the_queue(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROGRESS_SECONDS", 0.0)
    row, seen = service.submit(300, security=128.0), list[Any]()

    def watch() -> None:
        while service.row(row).state in (QUEUED, RUNNING):
            seen.append(service.row(row).progress)

    watcher = threading.Thread(target=watch)
    watcher.start()
    service.run()
    watcher.join()
    known = [progress for progress in seen if progress]
    assert known and all(0 <= one["tasks_ended"] <= one["tasks"] and one["task"] is not None for one in known)
    assert service.row(row).progress is None


def test_a_runner_ends_the_jobs_that_it_has_taken(service: Service) -> None:
    rows = [service.submit(300 + index) for index in range(3)]
    service.run(lambda: service.queue.counts()[DONE] == 0)
    states = [service.row(row).state for row in rows]
    assert states.count(DONE) >= 1 and RUNNING not in states
    assert not [row for row in map(service.row, rows) if row.state == QUEUED and row.prover]


def test_a_service_that_has_lost_its_jobs_changes_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another service has queued the job again while this process proved it."""
    row = service.submit(300)
    make = Job.make

    def lost(self: Job, *arguments: Any, **options: Any) -> Any:
        service.queue.release(3, crashed=True)
        assert service.queue.take("another")
        return make(self, *arguments, **options)

    monkeypatch.setattr(Job, "make", lost)
    service.run(lambda: service.row(row).prover is None)
    found = service.row(row)
    assert (found.state, found.prover) == (QUEUED, "another") and service.store.claim(row.proof_key)


def test_repeated_attempts_of_workers_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count them for proofs and for failures, and name the job in lines of the log about its tasks."""
    fields: list[object] = []

    def proofs(jobs: Any, *arguments: Any) -> Any:
        for job, tries in zip(jobs, (1, 3, 2), strict=True):
            fields.append(job.log_fields)
            yield Result(job, None, ValueError("no proof"), "tcp://a", tries)

    monkeypatch.setattr(module, "prove_many", proofs)
    rows = [service.submit(300 + i) for i in range(3)]
    runner = Runner(service.queue, service.store, service.inputs, "prover", service.count)
    runner.run("threads", "cpu", lambda: service.queue.counts()[QUEUED] > 0)
    assert service.counted == {RETRIES: 3} and fields == [{"job": row.id} for row in rows]
