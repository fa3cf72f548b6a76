"""Proofs of many jobs by a GPU of this process, with the host's work for other jobs beside each proof."""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from graphprover.device import Device, DeviceLost
from graphprover.device.choose import device_for
from graphprover.device.host_processor import available_threads
from graphprover.jobs.job import Job
from graphprover.jobs.result import Result
from graphprover.jobs.upcoming import Jobs
from graphprover.protocol.errors import VerificationError
from graphprover.prover.made import Made
from graphprover.proving.run_ahead import RunsAhead
from graphprover.telemetry.subscribe import clock
from graphprover.verifier.pool import Check, Checker, Lost

# Jobs for which it pays to start a process that verifies. The start takes 0.8 s of processor time beside the first
# proofs, and each later job ends about 0.03 s earlier.
FEWEST_JOBS = 8

# Processes that verify, from four threads on. A verification takes up to 1.5 times as long as a short proof.
MOST_CHECKERS, LEAST_THREADS = 2, 4

# Seconds of the proofs, together, that wait for their verification. A longer proof is verified before the next one
# begins: the gain would be small, and an interruption would lose the proof although it had been made. Several short
# ones wait for the start of the processes, which would else cost this process a verification each.
LONGEST = 1.0


def checkers_for(jobs: int) -> int:
    """Return how many processes verify proofs beside others; 0 if that does not pay for this number of jobs.

    Windows passes no pipe to a process by its number, as `Checker` does it.
    """
    threads = available_threads()
    if jobs < FEWEST_JOBS or threads == 1 or sys.platform == "win32":
        return 0
    return MOST_CHECKERS if threads >= LEAST_THREADS else 1


def prove_pipelined(
    jobs: Jobs, executor: str, device: Device | str, begun: Callable[[Job, str], None]
) -> Iterator[Result]:
    """Prove jobs one after another, and yield each in this order once its proof is verified.

    While a proof is made, a thread runs the next job's guest, and other processes verify the proofs before. No proof
    waits for a job that has not come yet.

    Args:
        jobs: The jobs.
        executor: ``"threads"`` or ``"sync"``.
        device: As in `graphprover.prove`.
        begun: Called with each job when it begins, and with no address.

    Yields:
        As `executor.Executor.prove_many`.

    Raises:
        DeviceLost: once the results of the jobs before have been yielded.
    """
    by = device_for(device)
    with RunsAhead(by) as runs, ExitStack() as stack:
        proved, came, later = _Proved(), 0, None
        while True:
            job = later or jobs.take_waiting()
            if not job:
                yield from proved.ends(0.0)
                job = jobs.take()
            if not job:
                return
            came += 1
            if not proved.checkers and job.check_elsewhere:
                proved.checkers = [stack.enter_context(Checker()) for _ in range(checkers_for(came + len(jobs)))]
            if job.existing is not None:  # it may be the file of a proof that waits
                yield from proved.ends(0.0)
            later = jobs.take_waiting()
            try:
                begun(job, "")
                found = _prove(job, later, runs, executor, device)
            except Exception:  # of the caller or the device: the proofs that wait have nothing to do with it
                yield from proved.ends(0.0)
                raise
            proved.add(job, found)
            yield from proved.ends(LONGEST)


def _prove(job: Job, later: Job | None, runs: RunsAhead, executor: str, device: Device | str) -> Made | Exception:
    """Prove a job, and run the guest of a later one meanwhile; return an unverified proof, a kept one or the error."""
    try:
        started = job.start(device, runs.take(job))
        if later:
            runs.begin(later)
        return started if isinstance(started, Made) else job.prove_started(started, executor, device)
    except DeviceLost:
        raise
    except Exception as error:
        return error


@dataclass(eq=False)
class _Waiting:
    """A job whose proof is not yielded yet."""

    job: Job
    found: Made | Exception
    seconds: float  # of its proof; 0 without a new one
    check: Check | None  # by which another process verifies the proof; None if this process does it
    checker: Checker | None = None  # that verifies the proof now
    began: float = 0.0  # on the clock, when the proof was sent
    end: Result | None = None  # once it is verified

    def send(self, checker: Checker) -> None:
        """Send the proof to an idle process."""
        assert isinstance(self.found, Made) and self.check
        self.checker, self.began = checker, clock()
        checker.send(self.check, self.found.proof, self.found.preprocessed_caps)

    def receive(self) -> None:
        """Wait for the answer about the proof; without one this process verifies it."""
        assert isinstance(self.found, Made) and self.checker
        checker, self.checker = self.checker, None
        try:
            seconds = checker.answer()
        except Lost:
            self.verify()
        except VerificationError as error:
            self.end = Result(self.job, None, error)
        else:
            self.end = Result(self.job, self.found.with_stage("verify", self.began, self.began + seconds))

    def verify(self) -> None:
        """Verify the proof, if it is a new one, in this process."""
        if isinstance(self.found, Exception):
            self.end = Result(self.job, None, self.found)
            return
        try:
            self.end = Result(self.job, self.found if self.found.kept else self.job.check(self.found))
        except Exception as error:
            self.end = Result(self.job, None, error)

    def delivered(self) -> Result:
        """Give the observation of a new proof to its observers, and return the end."""
        assert self.end
        made = self.end.made
        return replace(self.end, made=self.job.delivered(made)) if made and not made.kept else self.end


@dataclass(eq=False)
class _Proved:
    """The jobs whose proofs are not yielded yet, and the processes that verify these proofs."""

    checkers: Sequence[Checker] = ()
    waiting: deque[_Waiting] = field(default_factory=deque)  # in the order of the jobs

    def add(self, job: Job, found: Made | Exception) -> None:
        """Add a job that has ended but for its verification."""
        seconds, check = 0.0, None
        if isinstance(found, Made) and not found.kept:
            seconds = found.seconds["prove"] + found.seconds.get("compress", 0.0)
            check = job.check_elsewhere if seconds <= LONGEST else None
        self.waiting.append(_Waiting(job, found, seconds, check))

    def ends(self, most: float) -> Iterator[Result]:
        """Yield the ends of jobs in their order, until the proofs that still wait took at most ``most`` seconds."""
        while self.waiting:
            self._exchange()
            first = self.waiting[0]
            if not first.end:
                if self._has_hope(first) and sum(one.seconds for one in self.waiting) <= most:
                    return
                if first.checker:
                    first.receive()
                else:
                    self._verify(first)
            yield self.waiting.popleft().delivered()

    def _exchange(self) -> None:
        """Receive the answers that are there, and send the first proofs that wait to the idle processes."""
        for one in self.waiting:
            if one.checker and one.checker.has_answer():
                one.receive()
        busy = [one.checker for one in self.waiting]
        idle = [checker for checker in self.checkers if checker not in busy]
        for one in self.waiting:
            if one.end or one.checker or not one.check:
                continue
            for checker in idle:
                if checker.takes(one.check):
                    one.send(checker)
                    idle.remove(checker)
                    break

    def _has_hope(self, one: _Waiting) -> bool:
        """Return whether another process verifies the proof, or may do it later."""
        return any(checker.knows(one.check) for checker in self.checkers)

    def _verify(self, one: _Waiting) -> None:
        """Verify a proof in this process, and count it if this process stands in for a lost one."""
        lost = [checker for checker in self.checkers if checker.lost]
        if one.check and lost:
            lost[0].in_its_place += 1
        one.verify()
