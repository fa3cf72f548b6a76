"""Proofs of many jobs by a GPU of this process, with the host's work for other jobs beside each proof."""

import sys
from collections.abc import Callable, Iterator, Sequence
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


def prove_pipelined(
    jobs: Sequence[Job], executor: str, device: Device | str, begun: Callable[[Any, str], None]
) -> Iterator[Ended]:
    """Prove jobs one after another, and yield each in this order once its proof is verified.

    While a proof is made, a thread runs the next job's guest, and another process verifies the proof before. At most
    one proof waits for its verification.

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
    with RunsAhead(by) as runs, Checker(checks_of(jobs)) as checker:
        sent: _Sent | None = None
        for job, later in zip(jobs, [*jobs[1:], None], strict=True):
            if sent and job.existing is not None:  # it may be the file of the proof that is sent
                yield sent.ended()
                sent = None
            try:
                begun(job, "")
                found = _prove(job, later, runs, executor, device)
            except Exception:  # of the caller or the device: the proof that is sent has nothing to do with it
                if sent:
                    yield sent.ended()
                raise
            before = sent.ended() if sent else None
            sent = _send(job, found, checker)
            if before:
                yield before
            if not sent:
                yield _ended_here(job, found)
        if sent:
            yield sent.ended()


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
    """A proof that the other process verifies."""

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


def _send(job: Job, found: Made | Exception, checker: Checker) -> _Sent | None:
    """Send a proof to the other process, if it is to verify it."""
    check = job.check_elsewhere
    if isinstance(found, Exception) or found.kept or not check:
        return None
    if found.seconds["prove"] + found.seconds.get("compress", 0.0) > LONGEST:
        return None
    if not checker.takes(check):
        return None
    began = clock()
    checker.send(check, found.proof, found.preprocessed_caps)
    return _Sent(job, found, checker, began)


def _ended_here(job: Job, found: Made | Exception) -> Ended:
    """Return the end of a job whose proof, if it is new, this process verifies."""
    if isinstance(found, Exception):
        return job, None, found, "", 1
    try:
        return job, found if found.kept else job.delivered(job.check(found)), None, "", 1
    except Exception as error:
        return job, None, error, "", 1
