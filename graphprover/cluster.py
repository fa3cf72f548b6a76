"""Proofs on a Dask cluster: each whole, by one worker, on that worker's device.

Nothing runs before every worker is known to fit, and workers that come later are looked at before they get anything. A
worker that fits has the resource ``graphprover``, which every proof asks for: where a proof runs is the scheduler's
choice. What travels is bytes, which the task itself unpacks, and code is named in text (``eval``): what cannot be
imported fails the task and not its worker.
"""

import asyncio
import logging
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, proxy

import dask
from distributed import Client, Worker, wait
from distributed.scheduler import KilledWorker

from graphprover import __version__
from graphprover.device.choose import CUDA_NAME, gpus
from graphprover.graphs.progress import Tell
from graphprover.protocol.transcript import RELEASE

WAIT = "graphprover.wait"  # Dask's configuration: seconds to wait for a worker that fits (DASK_GRAPHPROVER__WAIT)
WAIT_SECONDS = 30.0
ANSWER_SECONDS = 60.0  # a worker that does not answer in this time has stopped; the first import takes some of it
LOOK_SECONDS = 1.0  # between two looks at who has joined

OURS = {"graphprover": __version__, "protocol": RELEASE, "dask": dask.__version__}  # the same on both sides, or nothing
SLOT, GPUS = "graphprover", "graphprover-gpus"  # resources: a worker makes one proof at a time; the GPUs it sees
_FACTS = "__import__('graphprover.cluster', fromlist=['cluster']).facts()"
_PROVE = "__import__('graphprover.worker', fromlist=['worker']).prove(payload)"

_LEFT = OSError("left the cluster")

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr
_clusters: "WeakKeyDictionary[Client, Cluster]" = WeakKeyDictionary()  # so that a client's workers are asked once


class ClusterError(RuntimeError):
    """A cluster cannot make proofs: the message names the worker, and says what to do."""


@contextmanager
def joined(executor: Any) -> "Iterator[Cluster]":
    """The cluster of a ``distributed.Client``, which is left open, or of a scheduler: its address, or its ``*.json``.

    Raises ValueError for anything else, OSError where no scheduler answers.
    """
    with _client(executor) as client:
        if client not in _clusters:
            _clusters[client] = Cluster(client)
        yield _clusters[client]


class Cluster:
    """The workers of a client, and proofs on them."""

    def __init__(self, client: Client) -> None:
        self._client = proxy(client)  # `_clusters` keeps this as long as its client lives
        self._answers: dict[str, Any] = {}  # by address, what a worker has said of itself, or an exception
        self._enlisted: set[str] = set()  # workers that may have proofs
        self._lock = threading.Lock()  # one thread looks at who is there

    def prove(self, prepared: Any, device: Any, progress: Tell | None = None) -> Any:
        """The proof of a `graphprover.prover.Prepared`, made by one worker; ``progress`` hears of one task.

        It is to be verified here, against nothing that the worker says. Raises what
        `graphprover.prover.prove` raises there, and ClusterError where a worker does not fit, none comes in time, or
        they die of it.
        """
        self._wait_for_workers(device)
        payload = pickle.dumps((prepared, device), protocol=pickle.HIGHEST_PROTOCOL)
        name = f"prove-{prepared.label.split(' ')[0] or 'statement'}"
        tell = progress or (lambda ended, total, task: None)
        tell(0, 1, f"proof of {prepared.label}")
        try:
            future = self._submit(name, payload, device)
            while not self._done(future, device):
                _log.warning("graphprover: %s: all workers were gone; it is submitted again", name)
                future.cancel()
                future = self._submit(name, payload, device)
            proven = pickle.loads(future.result())
        except KilledWorker as error:
            raise ClusterError(f"{name}: the workers that tried it died; their logs say of what ({error})") from error
        except (CancelledError, OSError) as error:
            if self._client.status == "running":
                raise
            raise ClusterError(f"{self._name}: the scheduler is gone, and with it {name}: start it again") from error
        tell(1, 1, "")
        return proven

    def _submit(self, name: str, payload: bytes, device: Any) -> Any:
        asked = _gpus_asked(device)
        needed = {SLOT: 1, GPUS: asked} if asked else {SLOT: 1}
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):  # all of it is needed there
            return self._client.submit(
                eval,
                _PROVE,
                {"payload": payload},
                key=f"{name}-{uuid.uuid4().hex[:8]}",
                resources=needed,
                pure=False,
            )

    def _wait_for_workers(self, device: Any) -> None:
        """Until there is a worker; raises ClusterError where one does not fit or none comes in time."""
        present = self._absence("has no worker")
        while True:
            workers = self._addresses()
            self._look(workers)
            wrong = [
                line for address in sorted(workers & self._answers.keys()) if (line := self._wrong(address, device))
            ]
            if wrong:
                raise ClusterError("\n".join(wrong))
            if self._enlisted & workers:
                return
            present(False)
            time.sleep(0.1)

    def _done(self, future: Any, device: Any) -> bool:
        """Waits for a proof while workers come and go; False where it must be submitted again.

        That is when all workers had gone and others have come: the scheduler looks at their resources when they come,
        and they have ours only after that. Raises ClusterError where no worker has been there for long.
        """
        present, forgotten = self._absence("has lost its workers"), 0
        while True:
            with suppress(TimeoutError):
                wait(future, timeout=LOOK_SECONDS)
                return True
            workers = self._addresses()
            for address in self._look(workers):
                if line := self._wrong(address, device):
                    _log.warning("graphprover: %s; it gets no proof", line)
            there = any(not self._wrong(address, device) for address in self._enlisted & workers)
            present(there)
            given = any(future.key in keys for keys in self._client.processing().values())
            forgotten = forgotten + 1 if there and not given else 0
            if forgotten == 2:  # once may be on its way
                return future.done()

    def _absence(self, what: str) -> Callable[[bool], None]:
        """What is told, again and again, whether workers are there: warns once they are not, and raises ClusterError
        when that lasts."""
        seconds = float(dask.config.get(WAIT, WAIT_SECONDS))
        since: float | None = None

        def tell(present: bool) -> None:
            nonlocal since
            now = time.monotonic()
            if present:
                since = None
            elif since is None:
                since = now
                _log.warning("graphprover: %s %s; waiting up to %g s for one", self._name, what, seconds)
            elif now - since > seconds:
                raise ClusterError(
                    f"{self._name} {what}, and none came in {seconds:g} s: start some (dask worker {self._name}), or "
                    "wait longer (DASK_GRAPHPROVER__WAIT=SECONDS)"
                )

        return tell

    def _look(self, workers: set[str]) -> list[str]:
        """Ask the workers that are new, and enlist those that fit for something; gives the new ones.

        One that leaves meanwhile is asked again if it is still there.
        """
        with self._lock:
            new = sorted(workers - self._answers.keys())
            if not new:
                return []
            answers = self._client.sync(self._ask, new)
            self._answers |= {address: answer for address, answer in answers.items() if not _has_left(answer)}
            fit = [address for address in new if address in self._answers and not self._wrong(address, None)]
            enlisted = self._client.run(_enlist, workers=fit, on_error="return") if fit else {}
            for address in fit:
                if enlisted.get(address, _LEFT) is None:
                    self._enlisted.add(address)
                else:
                    del self._answers[address]
            return [address for address in new if address in self._answers]

    async def _ask(self, addresses: list[str]) -> dict[str, Any]:
        """What each worker says of itself, or the exception instead."""

        async def ask(address: str) -> Any:
            try:
                asked = self._client._run(eval, _FACTS, workers=[address], on_error="return")
                return (await asyncio.wait_for(asked, ANSWER_SECONDS)).get(address, _LEFT)
            except Exception as error:
                return error

        return dict(zip(addresses, await asyncio.gather(*map(ask, addresses)), strict=True))

    def _wrong(self, address: str, device: Any) -> str:
        """A line that says why a worker does not fit, and what to do; nothing if it does."""
        answer = self._answers[address]
        if isinstance(answer, TimeoutError):
            wrong = f"no answer in {ANSWER_SECONDS:g} s: it has stopped or is overloaded; end it"
        elif isinstance(answer, ImportError):
            wrong = f"cannot import graphprover ({answer}): install 'graphprover[prover]' {__version__} there"
        elif isinstance(answer, Exception):
            wrong = f"{type(answer).__name__}: {answer}"
        elif other := [name for name in OURS if answer[name] != OURS[name]]:
            theirs, here = (", ".join(f"{name} {side[name]}" for name in other) for side in (answer, OURS))
            wrong = f"has {theirs}, and here is {here}: install the same there"
        elif _gpus_asked(device) > answer["gpus"]:
            wrong = f"device {device}: it sees {answer['gpus']} GPUs; ask for another device, or end this worker"
        else:
            return ""
        return f"worker {address}: {wrong}"

    def _addresses(self) -> set[str]:
        return set(self._client.scheduler_info(n_workers=-1)["workers"])

    @property
    def _name(self) -> str:
        return str(self._client.scheduler.address) if self._client.scheduler else "the cluster"


def _has_left(answer: Any) -> bool:
    return isinstance(answer, OSError) and not isinstance(answer, TimeoutError)


def facts() -> dict[str, Any]:
    """What a worker says of itself: its versions, and how many GPUs it sees."""
    return OURS | {"gpus": gpus()}


async def _enlist(dask_worker: Worker) -> None:
    """Let a worker have proofs: one at a time, and on no GPU that it does not see."""
    if GPUS not in dask_worker.state.total_resources:
        await dask_worker.set_resources(**{SLOT: 1, GPUS: gpus()})


def _gpus_asked(device: Any) -> int:
    """How many GPUs a worker must see for a device of this name."""
    named = CUDA_NAME.fullmatch(device) if isinstance(device, str) else None
    return int(named[1] or 0) + 1 if named else 0


def _client(executor: Any) -> Any:
    """A context with the client of a cluster; closes what it opened itself."""
    if isinstance(executor, Client):
        return nullcontext(executor)
    if isinstance(executor, str) and executor.endswith(".json"):
        if not Path(executor).is_file():
            raise ValueError(f"executor {executor!r}: no such scheduler file")
        return Client(scheduler_file=executor)
    if isinstance(executor, str) and "://" in executor:
        return Client(executor, timeout="10s")
    raise ValueError(f"executor {executor!r}: give sync, threads, a scheduler's address or its .json file")
