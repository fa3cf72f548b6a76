"""Proofs of many jobs by a GPU of this process, with the host's work for other jobs beside each proof."""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

from graphprover.device import Device, DeviceLost
from graphprover.device.choose import CPU, device_for
from graphprover.device.host_processor import available_threads
from graphprover.protocol.errors import VerificationError
from graphprover.prover.checking import Check, Checker, Lost
from graphprover.prover.local import Made, with_verification
from graphprover.prover.run_ahead import Guest, RunsAhead
from graphprover.telemetry.subscribe import clock

# Jobs for which it pays to start a process that verifies. The start takes 0.8 s of processor time beside the first
# proofs, and each later job ends about 0.03 s earlier.
FEWEST_JOBS = 8

# Processes that verify, from four threads on. A verification takes up to 1.5 times as long as a short proof.
MOST_CHECKERS, LEAST_THREADS = 2, 4

# Seconds of a proof. A longer one is verified before the next one begins: the gain would be small, and an interruption
# would lose the proof although it had been made.
LONGEST = 1.0

Ended = tuple[Any, Made | None, Exception | None, str, int]  # as in `executor`


class Job(Guest, Protocol):
    """A job whose stages are called one by one."""

    @property
    def existing(self) -> object:
        """A proof that is kept if it is good enough, or its file."""

    @property
    def check_elsewhere(self) -> Check | None:
        """The verification of its proof by another process, if there is one."""

    def start(self, device: Device | str, run: Any = None) -> Any:
        """Run and prepare, or return the `Made` that is kept; ``run``: by `run_ahead`."""

    def prove_started(self, started: Any, executor: str, device: Device | str) -> Made:
        """Prove what `start` returned, without verification."""

    def check(self, made: Made) -> Made:
        """Verify in this process."""

    def delivered(self, made: Made) -> Made:
        """Give the observation to its observers."""


def pays(device: Device | str, jobs: int) -> bool:
    """Return whether the host's work for several jobs is to run beside their proofs.

    On a CPU the proof itself takes all cores, so that the order makes no difference.
    """
    return jobs > 1 and (device_for(device) if isinstance(device, str) else device).kind != CPU


def checks_of(jobs: Sequence[Job]) -> list[Check]:
    """Return the checks for a process beside the proofs; none if it does not pay to start one.

    Windows passes no pipe to a process by its number, as `Checker` does it.
    """
    if len(jobs) < FEWEST_JOBS or available_threads() == 1 or sys.platform == "win32":
        return []
    return list(dict.fromkeys(check for job in jobs if (check := job.check_elsewhere)))


def checkers_of(jobs: Sequence[Job]) -> list[Checker]:
    """Return the processes that verify proofs beside others, none if it does not pay to start one."""
    checks = checks_of(jobs)
    count = MOST_CHECKERS if available_threads() >= LEAST_THREADS else 1
    return [Checker(checks) for _ in range(count if checks else 0)]


def prove_pipelined(
    jobs: Sequence[Job], executor: str, device: Device | str, begun: Callable[[Any, str], None]
) -> Iterator[Ended]:
    """Prove jobs one after another, and yield each in this order once its proof is verified.

    While a proof is made, a thread runs the next job's guest, and other processes verify the proofs before. At most one
    proof waits for each of them.

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
    by = device_for(device) if isinstance(device, str) else device
    with RunsAhead(by) as runs, ExitStack() as stack:
        checkers = [stack.enter_context(checker) for checker in checkers_of(jobs)]
        sent = deque[_Sent]()
        for job, later in zip(jobs, [*jobs[1:], None], strict=True):
            if job.existing is not None:  # it may be the file of a proof that is sent
                yield from _ended(sent)
            try:
                begun(job, "")
                found = _prove(job, later, runs, executor, device)
            except Exception:  # of the caller or the device: the proofs that are sent have nothing to do with it
                yield from _ended(sent)
                raise
            live = [checker for checker in checkers if not checker.lost]
            before = sent.popleft().ended() if sent and len(sent) >= len(live) else None
            busy = [one.checker for one in sent]
            own = _send(job, found, [checker for checker in checkers if checker not in busy])
            if before:
                yield before
            if own:
                sent.append(own)
            else:
                yield from _ended(sent)
                yield _ended_here(job, found)
        yield from _ended(sent)


def _ended(sent: "deque[_Sent]") -> Iterator[Ended]:
    """Yield the ends of all jobs whose proofs are sent."""
    while sent:
        yield sent.popleft().ended()


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


@dataclass(frozen=True)
class _Sent:
    """A proof that another process verifies."""

    job: Job
    made: Made
    checker: Checker
    began: float  # on the clock

    def ended(self) -> Ended:
        """Wait for the answer; without one this process verifies the proof."""
        try:
            seconds = self.checker.answer()
        except Lost:
            return _ended_here(self.job, self.made)
        except VerificationError as error:
            return self.job, None, error, "", 1
        verified = with_verification(self.made, self.began, self.began + seconds)
        return self.job, self.job.delivered(verified), None, "", 1


def _send(job: Job, found: Made | Exception, idle: Sequence[Checker]) -> _Sent | None:
    """Send a proof to one of the idle processes, if it is to verify the proof."""
    check = job.check_elsewhere
    if isinstance(found, Exception) or found.kept or not check:
        return None
    if found.seconds["prove"] + found.seconds.get("compress", 0.0) > LONGEST:
        return None
    for checker in idle:
        if checker.takes(check):
            began = clock()
            checker.send(check, found.proof, found.preprocessed_caps)
            return _Sent(job, found, checker, began)
    for checker in idle:
        if checker.lost:
            checker.in_its_place += 1
            break
    return None


def _ended_here(job: Job, found: Made | Exception) -> Ended:
    """Return the end of a job whose proof, if it is new, this process verifies."""
    if isinstance(found, Exception):
        return job, None, found, "", 1
    try:
        return job, found if found.kept else job.delivered(job.check(found)), None, "", 1
    except Exception as error:
        return job, None, error, "", 1
