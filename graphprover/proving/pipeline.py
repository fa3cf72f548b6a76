"""Proofs of many jobs by a GPU of this process, with the host's work for other jobs beside each proof."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from graphprover.device import Device, DeviceLost
from graphprover.device.choose import device_for
from graphprover.device.host_processor import available_threads
from graphprover.jobs.job import Job
from graphprover.jobs.result import Result
from graphprover.jobs.upcoming import Jobs
from graphprover.prover.made import Made
from graphprover.proving.layers_behind import LayersBehind
from graphprover.proving.run_ahead import RunsAhead
from graphprover.telemetry.model import Stage
from graphprover.verifier.pool import Check, Checkers, Lost

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

    Windows passes no pipe to a process by its number, as `verifier.pool.Checker` does it.
    """
    threads = available_threads()
    if jobs < FEWEST_JOBS or threads == 1 or sys.platform == "win32":
        return 0
    return MOST_CHECKERS if threads >= LEAST_THREADS else 1


def prove_pipelined(
    jobs: Jobs, executor: str, device: Device | str, begun: Callable[[Job, str], None]
) -> Iterator[Result]:
    """Prove jobs one after another, and yield each in this order once its proof is verified.

    While a proof is made, a thread runs the next job's guest, another makes the layers of the job before, and other
    processes verify the proofs before. No proof waits for a job that has not come yet.

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
    with RunsAhead(by) as runs, LayersBehind(executor, device) as layers, ExitStack() as stack:
        proved, came, later = _Proved(), 0, None

        def all_ends() -> Iterator[Result]:
            for ended in layers.rest():
                proved.add(*ended)
            yield from proved.ends(0.0)

        while True:
            job = later or jobs.take_waiting()
            if not job:
                yield from all_ends()
                job = jobs.take()
            if not job:
                return
            came += 1
            if not proved.pool.processes and job.check_elsewhere:
                proved.pool = stack.enter_context(Checkers(checkers_for(came + len(jobs))))
            if job.existing is not None:  # it may be the file of a proof that waits
                yield from all_ends()
            later = jobs.take_waiting()
            try:
                begun(job, "")
                found = _prove(job, later, runs, executor, device)
                for ended in layers.after(job, found):
                    proved.add(*ended)
            except Exception:  # of the caller or the device: the proofs that wait have nothing to do with it
                yield from all_ends()
                raise
            yield from proved.ends(LONGEST)


def _prove(job: Job, later: Job | None, runs: RunsAhead, executor: str, device: Device | str) -> Made | Exception:
    """Prove a job, and run the guest of a later one meanwhile.

    Returns:
        An unverified proof without layers, a kept one, or the error.
    """
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
    """A job whose result is not yielded yet."""

    job: Job
    found: Made | Exception
    seconds: float  # of its proof; 0 without a new one
    check: Check | None  # by which another process verifies the proof; None if this process does it
    answer: "Future[Stage] | None" = None  # of a process that verifies the proof

    @property
    def is_open(self) -> bool:
        """Whether another process verifies the proof, or may do it later."""
        return self.check is not None and not (self.answer and self.answer.done())


@dataclass(eq=False)
class _Proved:
    """The jobs whose results are not yielded yet, and the processes that verify their proofs."""

    pool: Checkers = field(default_factory=lambda: Checkers(0))
    waiting: deque[_Waiting] = field(default_factory=deque)  # in the order of the jobs

    def add(self, job: Job, found: Made | Exception) -> None:
        """Add a job that has ended but for its verification."""
        seconds, check = 0.0, None
        if isinstance(found, Made) and not found.kept:
            seconds = found.seconds["prove"] + found.seconds.get("compress", 0.0)
            check = job.check_elsewhere if seconds <= LONGEST else None
        self.waiting.append(_Waiting(job, found, seconds, check))

    def ends(self, most: float) -> Iterator[Result]:
        """Yield the results of jobs in their order, until the proofs that still wait took at most ``most`` seconds."""
        while self.waiting:
            for one in self.waiting:
                if one.check and not one.answer and isinstance(one.found, Made):
                    one.answer = self.pool.start(one.check, one.found.proof, one.found.preprocessed_caps)
            hope = self.waiting[0].is_open and self.pool.is_alive
            if hope and sum(one.seconds for one in self.waiting) <= most:
                return
            yield self._result(self.waiting.popleft())

    def _result(self, one: _Waiting) -> Result:
        """Return the result of a job once its proof is verified, and give its observation to the observers."""
        if isinstance(one.found, Exception):
            return Result(one.job, None, one.found)
        if one.found.kept:
            return Result(one.job, one.found)
        try:
            made = self._verified(one, one.found)
        except Exception as error:
            return Result(one.job, None, error)
        return Result(one.job, one.job.delivered(made))

    def _verified(self, one: _Waiting, made: Made) -> Made:
        """Return a proof with the time of its verification, by another process or, without an answer, by this one."""
        if one.answer:
            with suppress(Lost):
                stage = one.answer.result()
                return made.with_stage(stage.name, stage.start, stage.end)
        if one.check:
            self.pool.stand_in()
        return one.job.check(made)
