"""Connections to a cluster, and whole proofs on it; see `sharded` for proofs in shards."""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import cycle, zip_longest
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, proxy

from distributed import Client, Security

from graphprover.cluster.connecting import connected
from graphprover.cluster.dispatcher import Dispatcher
from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.results import verified
from graphprover.cluster.tasks import BEGUN, Attempt, ProvingTask, TaskResult
from graphprover.cluster.workers import Workers
from graphprover.device import Device
from graphprover.graphs.executor_names import AUTO, CLUSTERS, LOCAL
from graphprover.graphs.progress import Tell
from graphprover.graphs.scheduler_address import address_error, address_in
from graphprover.prover.made import Made
from graphprover.runtime import background
from graphprover.runtime.background import Background
from graphprover.telemetry.subscribe import observing

V = TypeVar("V")

_clusters: "WeakKeyDictionary[Client, Cluster]" = WeakKeyDictionary()  # a client's workers are asked only once
_joining = threading.Lock()  # of two clusters of a client, the first would get no events


@contextmanager
def joined(executor: Any, tasks: int | None = None, wait_for_all: bool = True) -> "Iterator[Cluster]":
    """Connect to a cluster, or start one.

    Args:
        executor: A ``distributed.Client``, which stays open; a scheduler's address or ``*.json`` file, or the file of
            the background cluster; or ``"processes"`` or ``"cuda"`` for a cluster on this host.
        tasks: How many tasks there will be at the same time; a cluster on this host has no more processes, unless
            their number is set.
        wait_for_all: Whether all processes of a cluster on this host must be warm, or only one.

    Raises:
        ValueError: If the executor is none of these.
        ClusterError: If no scheduler answers, or no process starts.
    """
    with _client(executor, tasks, wait_for_all) as client:
        with _joining:
            if client not in _clusters:
                _clusters[client] = Cluster(client, own=executor in CLUSTERS)
            cluster = _clusters[client]
        yield cluster


class Cluster:
    """The workers of a client, and proofs on them. Threads may share it."""

    def __init__(self, client: Client, own: bool = False) -> None:
        self._client = proxy(client)  # `_clusters` keeps this object as long as the client exists
        self._workers = Workers(self._client, own)
        self._attempts: dict[str, Attempt] = {}  # by key: attempts whose events are handled
        client.subscribe_topic(BEGUN, self._on_begun)

    def prove(
        self, subject: Any, device: Device | str, check: Callable[[Any], V], progress: Tell | None = None
    ) -> tuple[Made, V]:
        """Return a proof by one worker, and the value of ``check``.

        Args:
            subject: A job or a prepared statement.
            device: Device of the worker.
            check: Verifies the proof in this process, independently of the worker.
            progress: Called with the progress of one task.

        Raises:
            VerificationError: If the proofs of two workers fail the check; it names the second one.
            ClusterError: If no worker fits, or the workers that start the proof die.
            Exception: Any exception of `graphprover.proving.prove.prove` on the worker.
        """
        payload = pack(ProofRequest(subject, device, observing(), verify=False))
        name, what = subject.label.split(" ")[0] or "statement", f"proof of {subject.label}"
        tell = progress or (lambda ended, total, task: None)
        tell(0, 1, what)
        task = ProvingTask(name, lambda: payload, check=verified(check))
        with closing(self.run([task], device, lambda _, worker: tell(0, 1, f"{what} by {worker}"))) as results:
            result = next(results)
        if result.error:
            raise result.error
        tell(1, 1, "")
        proved: tuple[Made, V] = result.value
        return proved

    def run(
        self,
        tasks: Iterable[ProvingTask],
        device: Device | str,
        begun: Callable[[ProvingTask, str], None] | None = None,
        more: Callable[[float], int] = lambda seconds: 0,
    ) -> Generator[TaskResult]:
        """Run tasks on the workers, and yield their results as they end.

        Two tasks per worker are submitted at a time, and more if they are short (`dispatcher.SHOWN_SECONDS`). A task
        whose worker dies or stops is reassigned; a task that fails, or whose check refuses the worker's value, is
        retried once on another worker, unless its program or input is at fault. Closing the generator releases all
        tasks.

        Args:
            tasks: Read as workers need them.
            device: Device of the workers.
            begun: Called with a task and the worker's address whenever a worker starts the task.
            more: Called with seconds to wait at most, once ``tasks`` has ended; returns how many tasks may still come,
                after which ``tasks`` goes on.

        Raises:
            ClusterError: If no worker fits, or the scheduler has ended.
        """
        self._workers.wait_for(device, more(0))
        with closing(Dispatcher(self._client, self._workers, self._attempts, device, begun, more)) as dispatcher:
            yield from dispatcher.results(iter(tasks))

    def workers(self, device: Device | str) -> int:
        """Return how many workers fit for a device, at least 1."""
        return max(1, len(self._workers.fit(device)))

    def in_turn(self, device: Device | str) -> Iterator[str]:
        """Yield the addresses of the workers that fit for a device, again and again: one of each GPU in turn."""
        each = [sorted(place) for place in self._workers.places(device)]
        return cycle(address for some in zip_longest(*each) for address in some if address)

    def release(self, result: TaskResult) -> None:
        """Release the value that is retained on a worker."""
        if result.retained:
            self._attempts.pop(str(result.retained.future.key), None)
            result.retained.future.release()

    def _on_begun(self, event: tuple[float, dict[str, str]]) -> None:
        """Handle the event of a worker that starts a task, of this client or another."""
        _, fields = event
        if attempt := self._attempts.get(fields["key"]):
            attempt.workers.append(fields["worker"])


def _client(executor: Any, tasks: int | None, wait_for_all: bool) -> Any:
    """Return a context with a client, which closes the client unless it is the executor."""
    if isinstance(executor, Client):
        if executor.asynchronous:
            raise ValueError(
                "an asynchronous distributed.Client cannot prove: pass Client(…) without asynchronous=True, or call "
                "prove in a thread with a scheduler's address as executor"
            )
        return nullcontext(executor)
    if executor in CLUSTERS:
        from graphprover.cluster.local import started

        return started(executor, tasks=tasks, wait_for_all=wait_for_all)
    if isinstance(executor, str) and "://" in executor:
        if reason := address_error(executor):
            raise ValueError(f"executor {executor!r}: {reason}")
        return connected(executor, executor)
    if isinstance(executor, str) and executor.endswith(".json"):
        if not Path(executor).is_file():
            raise ValueError(f"executor {executor!r}: no such scheduler file")
        if own := background.read(Path(executor)):
            return background_client(own)
        try:
            address = address_in(Path(executor))
        except ValueError as error:
            raise ValueError(f"executor {executor!r}: {error}") from error
        return connected(executor, address)
    names = ", ".join((AUTO, *LOCAL, *CLUSTERS))
    raise ValueError(f"executor {executor!r}: expected {names}, a scheduler's address or its .json file")


def background_client(cluster: Background) -> Client:
    """Return a client of a background cluster.

    Raises:
        ClusterError: If its scheduler does not answer.
    """
    keys = {"tls_ca_file": cluster.certificate, "tls_client_cert": cluster.certificate, "tls_client_key": cluster.key}
    security = Security(require_encryption=True, **keys)
    return connected(cluster.address, cluster.address, security=security, direct_to_workers=True)
