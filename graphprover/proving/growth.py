"""Decides during a batch whether worker processes of this host pay, and starts them beside its proofs.

A batch begins in this process. Before each of its jobs::

    left = sum of the estimated seconds of the jobs that wait, in this process
    saved = left * (1 - 1 / gain)

If ``saved`` exceeds START_SECONDS, the processes are started. They take the jobs that wait once the first one is ready.

The seconds of a job are the mean of the jobs before of the same program: the time from the start of one job to the
start of the next. The first job of the process is left out, because it loads and perhaps compiles kernels.

The gain of N processes is their throughput divided by this process's:

- On GPUs one process uses one GPU, and leaves it idle while its thread works. Several processes fill it: the gain is at
  most GPU_GAIN for each GPU.
- On CPUs the processes use the cores that this process leaves idle. If the jobs before could keep ``busy`` of the
  ``cores`` busy, the gain is CPU_SHARE * min(N, cores / busy). The time in which they waited for a core counts, too.
"""

import logging
import time
from collections.abc import Hashable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from graphprover.cluster import ClusterError
from graphprover.cluster.processes import check_imported, options_of
from graphprover.device.choose import AUTO, CPU, CUDA, gpus
from graphprover.device.host_processor import ProcessorMeter
from graphprover.graphs.executor_names import CUDA as ALL_GPUS
from graphprover.graphs.executor_names import PROCESSES
from graphprover.jobs.upcoming import Upcoming
from graphprover.telemetry.model import Processor

if TYPE_CHECKING:
    from graphprover.cluster.local import LocalProcesses

# Seconds by which the start of processes delays a batch (docs/performance.md): they load modules and kernels, and the
# proofs of this process are slower meanwhile.
START_SECONDS = {PROCESSES: 5.0, ALL_GPUS: 7.0}
GPU_GAIN = 2.5  # of a GPU whose proofs have a million cycles
MOST_SKIPPED = 64  # a look costs time for each job that waits, so it comes after 1/64 of their number
CPU_SHARE = 0.9  # of the throughput of equally many cores, for scheduler, client and messages

_log = logging.getLogger(__name__)  # warnings go to stderr by default


def kind_for(device: object) -> str | None:
    """Return the executor whose processes prove on a device, or None if no started process has the same device."""
    if device == CPU:
        return PROCESSES
    if device == AUTO:
        return ALL_GPUS if gpus() else PROCESSES
    return ALL_GPUS if device == CUDA else None


def gain_of(kind: str, processes: int, processor: Processor) -> float:
    """Return the throughput of processes, divided by the throughput of this process.

    Args:
        kind: ``"processes"`` or ``"cuda"``.
        processes: Their number.
        processor: The processor time of this process during its jobs.
    """
    if kind == ALL_GPUS:
        return min(float(processes), GPU_GAIN * gpus())
    busy = (processor.used + processor.lacked) / processor.seconds
    return CPU_SHARE * min(processes, processor.cores / busy)


class Pace:
    """The seconds of the jobs of this process, by kind of job, and its processor time during these jobs."""

    def __init__(self) -> None:
        self._sums: dict[Hashable, tuple[float, int]] = {}  # by kind: seconds and number
        self._running: tuple[Hashable, float] | None = None  # the kind and the start of the running job
        self._meter: ProcessorMeter | None = None  # once the first job has ended

    def begin(self, kind: Hashable) -> None:
        """Count the running job, and begin another."""
        now = time.perf_counter()
        if self._running and self._meter:
            before, began = self._running
            seconds, number = self._sums.get(before, (0.0, 0))
            self._sums[before] = seconds + now - began, number + 1
        self._end_first()
        self._running = kind, now

    def wait(self) -> None:
        """Leave out the running job: its end is not known, because this process waits for the next one."""
        self._end_first()
        self._running = None

    def _end_first(self) -> None:
        if self._running and not self._meter:
            self._meter = ProcessorMeter()

    def processor(self) -> Processor:
        """Return the processor time of the jobs but the first."""
        assert self._meter
        return self._meter.read(always=True)

    def left(self, kinds: Iterable[Hashable]) -> float:
        """Return the estimated seconds of jobs of these kinds; 0 before the second job has ended.

        A kind without a job that has ended counts with the mean of all jobs.
        """
        if not self._sums:
            return 0.0
        means = {kind: seconds / number for kind, (seconds, number) in self._sums.items()}
        seconds, number = map(sum, zip(*self._sums.values(), strict=True))
        return sum(means.get(kind, seconds / number) for kind in kinds)


class Growth:
    """A context with the jobs of a batch that this process takes, until processes are there that take the others.

    It has the methods of `Upcoming` that take jobs.

    Args:
        jobs: The jobs of the batch.
        kind: The executor whose processes may be started; None if none may.

    Raises:
        ClusterError: In a process that is being started itself.
    """

    def __init__(self, jobs: Upcoming, kind: str | None) -> None:
        if kind:
            check_imported(kind)
        self._jobs, self._kind = jobs, kind
        self._pace = Pace()
        self._stack = ExitStack()
        self._skipped = 0  # jobs since the last look at the ones that wait
        self._starting: LocalProcesses | None = None
        self.client: Any = None  # of the processes, once they are ready

    def __enter__(self) -> "Growth":
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def __len__(self) -> int:
        return len(self._jobs)

    def take(self) -> Any:
        """Return the next job of this process, once there is one; None if no more is for this process."""
        if self._hand_over():
            return None
        if not len(self._jobs):
            self._pace.wait()
        return self._jobs.take()

    def take_waiting(self) -> Any:
        """Return the next job of this process; None if none waits, or no more is for this process."""
        return None if self._hand_over() else self._jobs.take_waiting()

    def begin(self, job: Any) -> None:
        """Count a job that begins in this process, and start processes if they pay for the jobs that wait."""
        self._pace.begin(_kind_of(job))
        self._skipped += 1
        if not self._kind or self._starting or self._skipped * MOST_SKIPPED < len(self._jobs):
            return
        self._skipped = 0
        waiting = self._jobs.waiting()
        left = self._pace.left(map(_kind_of, waiting))
        if left <= START_SECONDS[self._kind]:  # whatever the gain
            return
        try:
            processes = len(options_of(self._kind, tasks=len(waiting)))
            gain = gain_of(self._kind, processes, self._pace.processor())
            if left * (1 - 1 / gain) > START_SECONDS[self._kind]:
                line = "graphprover: %d jobs left of about %.2g s: %d processes of this host join (%.1f times as fast)"
                _log.warning(line, len(waiting), left / len(waiting), processes, gain)
                self._start(len(waiting))
        except ClusterError as error:
            self._fail(error)

    def _start(self, tasks: int) -> None:
        from graphprover.cluster.local import starting  # which loads Dask's distributed

        assert self._kind
        self._starting = self._stack.enter_context(starting(self._kind, tasks=tasks, wait_for_all=False))

    def _hand_over(self) -> bool:
        """Return whether the processes take the jobs that wait."""
        if self._starting and not self.client and self._starting.are_ready() and len(self._jobs):
            try:
                self.client = self._stack.enter_context(self._starting.client())
            except (ClusterError, OSError) as error:
                self._fail(error)
        return bool(self.client)

    def _fail(self, error: Exception) -> None:
        """Go on without processes."""
        _log.warning("graphprover: this process proves the other jobs as well: %s", error)
        self._kind = self._starting = None
        self._stack.close()


def _kind_of(job: Any) -> Hashable:
    """Return the kind of a job: its program and options; one with an existing proof is of another kind."""
    return job.prover, job.existing is not None
