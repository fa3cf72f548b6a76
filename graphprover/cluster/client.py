"""A cluster that is joined, or started, and whole proofs on it; those in shards: ``shards``."""

import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, proxy

from distributed import Client

from graphprover.cluster import ClusterError
from graphprover.cluster.dispatcher import Run
from graphprover.cluster.messages import Whole, packed
from graphprover.cluster.results import proof_in
from graphprover.cluster.tasks import BEGUN, Errand, Outcome, Try
from graphprover.cluster.workers import Members, prompt
from graphprover.device import Device
from graphprover.graphs.executor_names import CLUSTERS, LOCAL
from graphprover.graphs.progress import Tell
from graphprover.protocol.errors import VerificationError
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock, observing, publish

CONNECT = "10s"  # a scheduler that does not answer in this time is not there

V = TypeVar("V")

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr
_clusters: "WeakKeyDictionary[Client, Cluster]" = WeakKeyDictionary()  # so that a client's workers are asked once
_joining = threading.Lock()  # a client has one, for of two the first would hear nothing of its tasks


@contextmanager
def joined(executor: Any, tasks: int | None = None) -> "Iterator[Cluster]":
    """The cluster of a ``distributed.Client``, which is left open, of a scheduler (its address, or its ``*.json``), or
    one that is started here, ``"processes"`` or ``"cuda"``, with no more processes than ``tasks`` that will be there at
    once, unless their number is set.

    Raises ValueError for anything else, ClusterError where no scheduler answers or no process starts.
    """
    with _client(executor, tasks) as client:
        with _joining:
            if client not in _clusters:
                _clusters[client] = Cluster(client, own=executor in CLUSTERS)
            cluster = _clusters[client]
        yield cluster


class Cluster:
    """The workers of a client, and proofs on them. Threads may share it."""

    def __init__(self, client: Client, own: bool = False) -> None:
        self._client = proxy(client)  # `_clusters` keeps this as long as its client lives
        self._members = Members(self._client, own)
        self._tries: dict[str, Try] = {}  # by key, those that may be told of
        client.subscribe_topic(BEGUN, self._hear)

    def prove(
        self, subject: Any, device: Device | str, check: Callable[[Any], V], progress: Tell | None = None
    ) -> tuple[Any, V]:
        """The proof of a job or of what is prepared, made by one worker, and what ``check`` gives for it.

        ``check`` verifies it here, against nothing that the worker says; a proof that does not hold is made again,
        once, by another worker if there is one. ``progress`` hears of one task. Raises what
        `graphprover.prover.prove.prove` raises on the worker; VerificationError, which names the worker; and
        ClusterError where a worker does not fit, none comes in time, or they die of it.
        """
        payload = packed(Whole(subject, device, observing(), verified=False))
        name, what = subject.label.split(" ")[0] or "statement", f"proof of {subject.label}"
        tell = progress or (lambda ended, total, task: None)

        def verified(avoid: frozenset[str] = frozenset(), again: bool = False) -> tuple[Any, V]:
            tell(0, 1, what)
            errand = Errand(name, lambda: payload, avoid=avoid)
            with closing(self.run([errand], device, lambda _, worker: tell(0, 1, f"{what} by {worker}"))) as outcomes:
                outcome = next(outcomes)
                if outcome.error:
                    raise outcome.error
                found, started = outcome.value, clock()
                try:
                    proof = proof_in(found)
                    checked = check(proof)
                except VerificationError as error:
                    if again:
                        raise VerificationError(f"{error}, by {outcome.worker}") from error
                    _log.warning("graphprover: prove-%s: %s, by %s; it is made again", name, error, outcome.worker)
                    return verified(frozenset({outcome.worker}), again=True)
            if isinstance(seen := getattr(found, "observation", None), Observation):
                publish(seen.of_worker(outcome.worker).with_stages([Stage("verify", started, clock())]))
            return proof, checked

        proved = verified()
        tell(1, 1, "")
        return proved

    def run(
        self, errands: Iterable[Errand], device: Device | str, begun: Callable[[Errand, str], None] | None = None
    ) -> Generator[Outcome]:
        """Give errands to workers, twice as many at a time as there are workers, and yield what comes of each.

        ``begun`` is told an errand and the worker's address whenever one begins it. A worker that dies or stops loses
        its errand to another; one that fails by no fault of its own is tried once elsewhere. Closing the generator
        takes back what has not ended. Raises ClusterError where no worker fits, or the scheduler is gone.
        """
        self._members.wait_for(device)
        with closing(Run(self._client, self._members, self._tries, device, begun)) as run:
            yield from run.outcomes(iter(errands))

    def workers(self, device: Device | str) -> int:
        """How many there are for a device, at least one."""
        return max(1, len(self._members.fit(device)))

    def release(self, outcome: Outcome) -> None:
        """Let its worker forget what stays of it."""
        if outcome.kept:
            self._tries.pop(str(outcome.kept.future.key), None)
            outcome.kept.future.release()

    def _hear(self, event: tuple[float, dict[str, str]]) -> None:
        """A worker has begun a task, of ours or of another client."""
        _, told = event
        if one := self._tries.get(told["key"]):
            one.workers.append(told["worker"])


def _client(executor: Any, tasks: int | None) -> Any:
    """A context with the client of a cluster; closes what it opened itself."""
    if isinstance(executor, Client):
        if executor.asynchronous:
            raise ValueError(
                "an asynchronous distributed.Client cannot prove: pass Client(…) without asynchronous=True, or call "
                "prove in a thread with a scheduler's address as executor"
            )
        return nullcontext(executor)
    if executor in CLUSTERS:
        from graphprover.cluster.local import started

        return started(executor, tasks=tasks)
    if isinstance(executor, str) and executor.endswith(".json"):
        if not Path(executor).is_file():
            raise ValueError(f"executor {executor!r}: no such scheduler file")
        return _connected(executor, scheduler_file=executor)
    if isinstance(executor, str) and "://" in executor:
        return _connected(executor, address=executor)
    names = ", ".join((*LOCAL, *CLUSTERS))
    raise ValueError(f"executor {executor!r}: give {names}, a scheduler's address or its .json file")


def _connected(executor: str, **where: str) -> Client:
    try:
        return prompt(Client(timeout=CONNECT, **where))
    except OSError as error:
        raise ClusterError(f"executor {executor}: no scheduler answers there: {error}") from error
