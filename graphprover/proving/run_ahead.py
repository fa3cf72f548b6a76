"""Runs of guests ahead of their turn, in a thread beside another proof: a run does not hold Python's lock."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from graphprover.device import Device
from graphprover.jobs.job import Job
from graphprover.vm.executor.debug import HeldText


class RunsAhead:
    """A context that runs the guest of the next job for a device, and holds its debug text until the job's turn.

    The end of the context waits for the run, which cannot be interrupted in a thread.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._thread = ThreadPoolExecutor(1, "guest")
        self._next: tuple[Job, HeldText, Future[Any]] | None = None

    def __enter__(self) -> "RunsAhead":
        return self

    def __exit__(self, *raised: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def begin(self, job: Job) -> None:
        """Start the run of the next job."""
        text = HeldText()
        debug = text if job.receiver else None  # without a receiver the run need not stop for its text
        self._next = job, text, self._thread.submit(job.run_ahead, self._device, debug)

    def take(self, job: Job) -> Any:
        """Return the run of the job whose turn it is, once its debug text is passed on; None if it is to run now."""
        begun, self._next = self._next, None
        if begun is None or begun[0] is not job:
            return None
        _, text, future = begun
        run = future.result()
        if run is not None and job.receiver:
            text.release(job.receiver)
        return run
