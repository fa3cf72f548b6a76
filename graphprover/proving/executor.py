"""Executors: the threads of this process, or the workers of a cluster. Every proof is made by one of the two."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from graphprover.device import Device, DeviceLost
from graphprover.device.choose import device_for
from graphprover.device.host_processor import available_threads
from graphprover.graphs.executor_names import AUTO, GROWING, LOCAL, THREADS
from graphprover.graphs.progress import Tell
from graphprover.jobs.job import Job
from graphprover.jobs.result import Result
from graphprover.jobs.upcoming import Jobs, Upcoming
from graphprover.proof.compressed import AnyProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.prover.local import pays, told
from graphprover.prover.made import Made
from graphprover.proving.pipeline import prove_pipelined
from graphprover.runtime import background
from graphprover.telemetry.model import GuestRun
from graphprover.telemetry.subscribe import clock, publish
from graphprover.verifier import Verdict
from graphprover.verifier.pool import ShardChecks, processes_for
from graphprover.verifier.shards import Expected

_log = logging.getLogger(__name__)  # warnings go to stderr by default

if TYPE_CHECKING:
    from graphprover.cluster.client import Cluster
    from graphprover.cluster.sharded import Staying
    from graphprover.cluster.tasks import ProvingTask
    from graphprover.graphs.planner.layers import Target
    from graphprover.prover.layer_tree import ProveLayers
    from graphprover.vm.traces.shared_run import SharedRun

Begun = Callable[[Job, str], None]  # a job that begins, and the address of its worker


class OnWorkers(Protocol):
    """A subject as workers prove it, and the verification of their proofs."""

    @property
    def shards(self) -> Sequence[Any]:
        """The subject of each shard's task; of the whole proof if there is one."""

    @property
    def shared(self) -> "SharedRun | None":
        """A guest's run that workers record."""

    @property
    def compresses(self) -> bool:
        """Whether `compress` is to follow a proof in several shards."""

    def run(self) -> GuestRun | None:
        """Return a guest's run in this process, once it has ended."""

    def verify(self, proof: AnyProof) -> Verdict:
        """Verify a whole proof."""

    def expect(self, headers: Proof | ShardedProof) -> Expected:
        """Verify the headers of a proof in several shards, and return the verification of the shards."""

    def compress(self, made: Made, prove: "ProveLayers", target: "Target") -> Made:
        """Compress a proof in several shards, or its headers.

        Args:
            made: The proof.
            prove: Proves layers.
            target: The devices that prove layers.
        """


class Subject(Protocol):
    """The subject of a proof by an executor: a prepared statement, or a job."""

    @property
    def label(self) -> str:
        """A name for people."""

    def make(self, executor: str, device: Device | str, progress: bool | Tell | None, verified: bool) -> Made:
        """Prove it by a device of this process."""

    def for_workers(self) -> AbstractContextManager[OnWorkers]:
        """Return it as workers prove it."""


class Executor(Protocol):
    """Makes proofs."""

    remote: bool  # whether other processes make them

    def prove(
        self, subject: Subject, progress: bool | Tell | None = False, verified: bool = True
    ) -> tuple[Made, Verdict | None]:
        """Prove a subject.

        Args:
            subject: The subject.
            progress: As in `graphprover.prove`.
            verified: False leaves the verification of a local proof to the caller.

        Returns:
            The proof, and the verdict if it was verified against more than the subject's own tables.
        """

    def prove_many(self, jobs: Iterable[Job], begun: Begun) -> Iterator[Result]:
        """Prove jobs, which are read as their results come, and yield each as it ends; a failure ends no other job."""

    def layers(self, tell: Tell | None) -> "AbstractContextManager[tuple[ProveLayers, Target]]":
        """Return the function that proves layers, and the devices on which it does.

        ``tell``: called with the progress of each layer, whose tasks have the names of its proofs.
        """


def executor_of(executor: Any, device: Device | str) -> Executor:
    """Return the executor of this name, client or address, whose proofs a device makes.

    ``"auto"`` is the background cluster if it runs, has the same version and has the device, else the threads of this
    process, and for a batch worker processes once they pay (`growth`). A warning has the reason if a cluster is there
    that is not used.
    """
    if executor == AUTO:
        found, reason = background.usable(device) if isinstance(device, str) else (None, "")
        if reason:
            _log.warning("graphprover: this process proves: %s", reason)
        executor = found or GROWING
    if executor == GROWING:
        return Growing(THREADS, device)
    return Local(executor, device) if executor in LOCAL else OnCluster(executor, device)


@dataclass(frozen=True)
class Local:
    """The threads of this process."""

    name: str
    device: Device | str
    remote = False

    def prove(
        self, subject: Subject, progress: bool | Tell | None = False, verified: bool = True
    ) -> tuple[Made, Verdict | None]:
        """Prove a subject by a device of this process."""
        return subject.make(self.name, self.device, progress, verified), None

    def prove_many(self, jobs: Iterable[Job], begun: Begun) -> Iterator[Result]:
        """Prove jobs one after another; on a GPU with the host's work for other jobs beside each proof."""
        self.check_device()
        with Upcoming(jobs) as upcoming:
            yield from self.prove_taken(upcoming, begun)

    def check_device(self) -> None:
        """Raise ValueError if no job can be proved."""
        device_for(self.device)

    @contextmanager
    def layers(self, tell: Tell | None) -> "Iterator[tuple[ProveLayers, Target]]":
        """Yield the function that proves layers by a device of this process, without waiting for other proofs."""
        from graphprover.prover.layer_tree import layers_by  # here, because other proofs need no layers
        from graphprover.prover.tree_choice import target_of

        own = device_for(self.device)
        yield layers_by(self.name, own, tell or False, waits=False), target_of(own)

    def prove_taken(self, jobs: Jobs, begun: Begun) -> Iterator[Result]:
        """Take jobs and prove them, until there is none."""
        if pays(self.device):
            yield from prove_pipelined(jobs, self.name, self.device, begun)
            return
        while job := jobs.take():
            begun(job, "")
            made = failure = None
            try:
                made, _ = self.prove(job)
            except DeviceLost:
                raise
            except Exception as error:
                failure = error
            yield Result(job, made, failure)


@dataclass(frozen=True)
class Growing(Local):
    """The threads of this process, and for a batch worker processes of this host once they pay."""

    def prove_many(self, jobs: Iterable[Job], begun: Begun) -> Iterator[Result]:
        """Prove jobs by this process until other processes are ready, then by these.

        Raises:
            graphprover.cluster.ClusterError: In a process that is being started itself, or if the processes fail after
                they have taken jobs.
        """
        from graphprover.proving.growth import Growth, kind_for  # which loads modules of clusters

        self.check_device()

        def begins(job: Any, worker: str) -> None:
            growth.begin(job)
            begun(job, worker)

        with Upcoming(jobs) as upcoming, Growth(upcoming, kind_for(self.device)) as growth:
            yield from self.prove_taken(growth, begins)
            if growth.client:
                yield from OnCluster(growth.client, self.device).prove_taken(upcoming, None, begun)


@dataclass(frozen=True)
class OnCluster:
    """The workers of a cluster that runs, or that is started on this host for the time of the call."""

    executor: Any
    device: Device | str
    remote = True

    def prove(
        self, subject: Subject, progress: bool | Tell | None = False, verified: bool = True
    ) -> tuple[Made, Verdict | None]:
        """Prove a subject by one worker, or each of its shards by one, and verify the proof here."""
        from graphprover.cluster.client import joined  # which loads Dask's distributed
        from graphprover.cluster.sharded import prove_parts

        began = clock()
        with (
            subject.for_workers() as own,
            told(progress) as tell,
            joined(self.executor, len(own.shards)) as cluster,
        ):
            if len(own.shards) == 1:
                made, verdict = cluster.prove(own.shards[0], self.device, own.verify, tell)
            else:
                compress = partial(self._compress, own, cluster, tell) if own.compresses else None
                # The shards of a compressed proof are verified here only if that proof fails.
                processes = 0 if compress else processes_for(len(own.shards), available_threads())
                with ShardChecks(processes) as checks:
                    made, verdict = prove_parts(
                        cluster,
                        subject.label,
                        own.shards,
                        self.device,
                        own.expect,
                        checks,
                        tell,
                        own.shared,
                        compress,
                        began,
                    )
                if compress:
                    verdict = own.verify(made.proof)
            if made.observation:
                publish(made.observation)
            return replace(made, run=own.run()), verdict

    def _compress(
        self, subject: OnWorkers, cluster: "Cluster", tell: Tell | None, made: Made, staying: "Staying | None"
    ) -> Made:
        """Prove the tree of layers about the shards of a proof."""
        from graphprover.cluster.layers import layer_target, prove_layers

        target = layer_target(cluster, self.device)
        return subject.compress(made, prove_layers(cluster, self.device, tell, staying), target)

    @contextmanager
    def layers(self, tell: Tell | None) -> "Iterator[tuple[ProveLayers, Target]]":
        """Yield the function that proves the layers of a level by workers, in parallel."""
        from graphprover.cluster.client import joined  # which loads Dask's distributed
        from graphprover.cluster.layers import layer_target, prove_layers

        with joined(self.executor) as cluster:
            yield prove_layers(cluster, self.device, tell), layer_target(cluster, self.device)

    def prove_many(self, jobs: Iterable[Job], begun: Begun) -> Iterator[Result]:
        """Prove jobs as tasks of workers."""
        from graphprover.cluster.batching import PER_WORKER  # which loads Dask's distributed

        with Upcoming(jobs, PER_WORKER) as upcoming:
            tasks = max(1, len(upcoming)) if isinstance(jobs, Collection) else None
            yield from self.prove_taken(upcoming, tasks, begun)

    def prove_taken(self, upcoming: Upcoming, tasks: int | None, begun: Begun) -> Iterator[Result]:
        """Take jobs and prove them, until there is none; ``tasks``: how many there will be at the same time."""
        from graphprover.cluster.batch_check import ResultChecker
        from graphprover.cluster.batching import BatchTasks  # which load Dask's distributed
        from graphprover.cluster.client import joined

        with joined(self.executor, tasks, wait_for_all=False) as cluster, ResultChecker() as checker:
            batch = BatchTasks(upcoming, self.device, partial(cluster.workers, self.device), checker.check)

            def begins(task: "ProvingTask", worker: str) -> None:
                for job in batch.jobs(task):
                    checker.begin(job)
                    begun(job, worker)

            for result in cluster.run(batch, self.device, begins, batch.more):
                for ended in batch.results(result):
                    checker.forget(ended.job)
                    if ended.made and ended.made.observation:
                        seen = publish(ended.made.observation.of_worker(ended.worker))
                        ended = replace(ended, made=replace(ended.made, observation=seen))
                    yield ended
