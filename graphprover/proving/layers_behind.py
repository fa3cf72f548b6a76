"""Layers of compressed proofs in a thread beside the next proof, whose device works while the host prepares layers."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context

from graphprover.device import Device, DeviceLost
from graphprover.jobs.job import Job
from graphprover.prover.made import Made
from graphprover.runtime.deadline import within
from graphprover.telemetry.subscribe import observed, observing


class LayersBehind:
    """A context that makes the layers of one job at a time.

    The end of the context gives up layers that are not made yet, between two tasks.
    """

    def __init__(self, executor: str, device: Device | str) -> None:
        self._executor, self._device = executor, device
        self._thread = ThreadPoolExecutor(1, "layers")
        self._last: tuple[Job, Future[Made]] | None = None
        self._ended = False

    def __enter__(self) -> "LayersBehind":
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended = True
        self._thread.shutdown(cancel_futures=True)

    def after(self, job: Job, found: Made | Exception) -> Iterator[tuple[Job, Made | Exception]]:
        """Begin the layers of a job, once the layers of the job before are made; yield the jobs that have all layers.

        Args:
            job: The job.
            found: Its proof without layers, a kept proof, or the error.

        Yields:
            Each job in order, with its proof or its error.

        Raises:
            DeviceLost: by the layers of the job before.
        """
        yield from self.rest()
        if isinstance(found, Exception) or found.kept or not job.prover.layers:
            yield job, found
        else:
            self._last = job, self._thread.submit(copy_context().run, self._compressed, job, found)

    def rest(self) -> Iterator[tuple[Job, Made | Exception]]:
        """Yield the last job, once its layers are made, as `after` does it."""
        last, self._last = self._last, None
        if not last:
            return
        job, future = last
        try:
            found: Made | Exception = future.result()
        except DeviceLost:
            raise
        except Exception as error:
            found = error
        yield job, found

    def _compressed(self, job: Job, made: Made) -> Made:
        # The stages before an observation belong to the next job.
        with observed() if observing() else nullcontext(), within(None, job.label, interrupt=self._check_ended):
            return job.compressed(made, self._executor, self._device)

    def _check_ended(self) -> None:
        if self._ended:
            raise RuntimeError("the batch has ended")
