"""Who is in a cluster: the workers that fit, those that do not, and those that have fallen silent.

A worker that fits has the resource ``graphprover``, which every proof asks for: where a proof runs is the scheduler's
choice. Code is named in text (``eval``): what cannot be imported fails a question and not its worker.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context
from functools import partial
from math import inf
from typing import Any

import dask
from distributed import Client, Status, Worker

from graphprover import __version__
from graphprover.cluster import ClusterError
from graphprover.device import Device
from graphprover.device.choose import CPU, CUDA, Named, gpus, identities, named
from graphprover.protocol.transcript import RELEASE
from graphprover.runtime.settings import SILENCE, WAIT, setting

ANSWER_SECONDS = 60.0  # a worker that does not answer in this time has stopped; the first import takes some of it
PATIENCE_SECONDS = 5.0  # after which a wait for an answer is told
# A worker that has not answered in this time is not waited for if another fits.
STRAGGLER_SECONDS = 2.0
LOOK_SECONDS = 0.5  # between two looks at who is there; workers of a small cluster tell of themselves as often

OURS = {"graphprover": __version__, "protocol": RELEASE, "dask": dask.__version__}  # the same on both sides, or nothing
# Resources: room for a proof, and the same where this GPU is seen. A worker has one of each, as it makes one proof at a
# time. The scheduler sends it others meanwhile, and until they begin gives them to workers that have none.
SLOT, GPU = "graphprover", "graphprover-gpu{}"
READY = "graphprover"  # the name of the plugin that warms a worker up, `graphprover.cluster.worker.Ready`
_FACTS = "__import__('graphprover.cluster.workers', fromlist=['workers']).facts()"

_LEFT = OSError("left the cluster")

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


class Workers:
    """The workers of a client. Threads may share it.

    Args:
        client: of the cluster.
        own: whether this process has started the cluster, so that no other workers join it.
    """

    def __init__(self, client: Client, own: bool = False) -> None:
        self._client, self._own = client, own
        self._asked: dict[str, Future[Any]] = {}  # by address: what a worker that is there says of itself, or an error
        self._since: dict[str, float] = {}  # by address: when a worker was asked first
        self._slots: set[str] = set()  # workers to which the scheduler may give proofs
        self._pulse: dict[str, tuple[float, int]] = {}  # when the scheduler heard of it last; in how many looks no more
        self.paused: set[str] = set()  # by Dask, whose limit of memory they have reached: they get nothing meanwhile
        self._told: set[str] = set()
        self._looked = 0.0  # when the last look was
        self._counted = 0.0  # when silence was
        self._lock = threading.Lock()

    def wait_for(self, device: Device | str) -> None:
        """Wait until a worker fits and the others have answered, or have had STRAGGLER_SECONDS to.

        Workers that do not fit are named in warnings. Raises ClusterError, which says why each worker does not fit, if
        none does in the time of the setting ``graphprover.wait``, and if the scheduler is gone.

        The last look is taken for LOOK_SECONDS, since a look costs a millisecond.
        """
        if time.monotonic() - self._looked < LOOK_SECONDS and self.fit(device) and not self._awaited():
            return
        present = self.absence("has no worker", device)
        while True:
            try:
                self.look()
            except OSError as error:
                self.gone(error)  # or it is asked again
                present(False)
                time.sleep(0.1)
                continue
            # Before those that fit are counted, who might answer meanwhile.
            awaited, due = self._awaited(), self._awaited(ANSWER_SECONDS)
            fit = bool(self.fit(device))
            if self._own and self._asked and not fit and not due:
                raise ClusterError("\n".join(self._reasons(device)))
            self.warn(device)
            if fit and not awaited:
                return
            present(fit or bool(awaited))
            time.sleep(0.1)

    def gone(self, error: BaseException, lost: str = "") -> None:
        """Raise ClusterError if the scheduler is gone; ``lost`` names the proofs that are lost with it."""
        if self._client.status != "running":
            what = f", and with it {lost}" if lost else ""
            raise ClusterError(f"{self.name}: the scheduler is gone{what}: start it again") from error

    def _awaited(self, seconds: float = STRAGGLER_SECONDS) -> list[str]:
        """Return the workers that were asked less than ``seconds`` ago and have not answered."""
        now = time.monotonic()
        return sorted(
            address
            for address, answer in list(self._asked.items())
            if not answer.done() and now - self._since.get(address, now) < seconds
        )

    def look(self) -> None:
        """See who is there, and ask those that are new; what they answer is there in a later look."""
        scheduler: Any = self._client.scheduler
        # `Client.scheduler_info` returns what the client keeps, from which its own look takes the workers meanwhile.
        workers = self._client.sync(scheduler.identity, n_workers=-1)["workers"]
        with self._lock:
            self.paused = {address for address, worker in workers.items() if worker["status"] == Status.paused.name}
            self._slots = {address for address, worker in workers.items() if worker["resources"].get(SLOT)}
            self._count_silence({address: worker["last_seen"] for address, worker in workers.items()})
            for address in self._asked.keys() - workers.keys():
                del self._asked[address], self._since[address]
            for address, answer in list(self._asked.items()):
                if answer.done() and (_has_left(answer.result()) or self._is_back(address)):
                    del self._asked[address]  # it is asked again if it is still there
            loop: Any = self._client.loop
            for address in workers.keys() - self._asked.keys():
                ask = partial(asyncio.run_coroutine_threadsafe, self._ask(address), loop.asyncio_loop)
                self._asked[address] = Context().run(ask)  # the caller's would keep its client
                self._since.setdefault(address, time.monotonic())
            self._looked = time.monotonic()

    def _is_back(self, address: str) -> bool:
        """Return whether a worker that had not answered in time is heard of again."""
        late = isinstance(self._asked[address].result(), TimeoutError)
        return late and self._pulse.get(address, (0.0, 1))[1] == 0

    def _count_silence(self, seen: dict[str, float]) -> None:
        """In looks, not by a clock: whoever was suspended, this process too, has missed nothing meanwhile."""
        now = time.monotonic()
        if now - self._counted < LOOK_SECONDS:
            return
        self._counted, pulse = now, self._pulse
        self._pulse = {
            address: (last, pulse[address][1] + 1 if address in pulse and pulse[address][0] == last else 0)
            for address, last in seen.items()
        }

    @property
    def silent(self) -> set[str]:
        """Workers that have said nothing for so long that they must have stopped."""
        most = float(setting(SILENCE)) / LOOK_SECONDS
        return {address for address, (_, looks) in self._pulse.items() if looks > most}

    def fit(self, device: Device | str) -> set[str]:
        """Workers that may have proofs by a device."""
        return set().union(*self.places(device))

    def places(self, device: Device | str) -> list[set[str]]:
        """The workers that fit: those that have the same GPU for it together, others each by itself."""
        kind, number = _named(device)
        found: dict[str, set[str]] = {}
        for address, asked in list(self._asked.items()):
            answer = asked.result() if asked.done() else None
            if isinstance(answer, dict) and not self._wrong(address, device):
                gpu = answer["gpus"][number] if answer["gpus"] and kind != CPU else address
                found.setdefault(gpu, set()).add(address)
        return list(found.values())

    def unfit(self, device: Device | str) -> set[str]:
        """Return the workers that must not have a proof but could get one from the scheduler."""
        return self._slots - self.fit(device) - set(self._awaited())

    def warn(self, device: Device | str) -> None:
        """Name, once each, the workers that get no proof, and those whose answer takes long."""
        late = set(self._awaited(inf)) - set(self._awaited(PATIENCE_SECONDS))
        for address in sorted(self._asked):
            if line := self._wrong(address, device):
                self._tell(f"{line}; it gets no proof")
            elif address in late:
                self._tell(f"worker {address} does not answer; it gets no proof until it does")

    def absence(self, what: str, device: Device | str) -> Callable[[bool], None]:
        """Return a function that is told, again and again, whether a worker fits.

        It warns once none does, and raises ClusterError if that lasts for the time of the setting ``graphprover.wait``
        and no answer is due.
        """
        seconds = float(setting(WAIT))
        since: float | None = None

        def tell(present: bool) -> None:
            nonlocal since
            now, which = time.monotonic(), f"{what} that fits" if self._asked else what
            if present:
                since = None
            elif since is None:
                since = now
                _log.warning("graphprover: %s %s; waiting up to %g s for one", self.name, which, seconds)
            elif now - since > seconds and not self._awaited(ANSWER_SECONDS):
                head = (
                    f"{self.name} {which}, and none came in {seconds:g} s: start some "
                    f"(dask worker {self.name}), or wait longer (DASK_GRAPHPROVER__WAIT=SECONDS)"
                )
                raise ClusterError("\n".join([head, *self._reasons(device)]))

        return tell

    def _reasons(self, device: Device | str) -> list[str]:
        """Return a line for each worker that is there, which says why it gets no proof."""
        return [self._wrong(address, device) or f"worker {address}: no answer" for address in sorted(self._asked)]

    @property
    def name(self) -> str:
        """The scheduler's address."""
        return str(self._client.scheduler.address) if self._client.scheduler else "the cluster"

    async def _ask(self, address: str) -> Any:
        """What a worker says of itself, or the exception instead; one that fits for something is enlisted.

        Never raises.
        """

        async def told(function: Any, *arguments: Any) -> Any:
            asked = self._client.run(function, *arguments, workers=[address], on_error="return")
            return (await asyncio.wait_for(asked, ANSWER_SECONDS)).get(address, _LEFT)

        try:
            answer = await told(eval, _FACTS)
            if isinstance(answer, dict) and not _others(answer):
                failed = await told(enlist)
                return answer if failed is None else failed
            return answer
        except Exception as error:
            return error

    def _wrong(self, address: str, device: Device | str) -> str:
        """A line that says why a worker does not fit, and what to do; nothing if it does, or has not answered."""
        asked = self._asked.get(address)
        answer = asked.result() if asked and asked.done() else None
        if address in self.silent:
            wrong = f"nothing from it for {setting(SILENCE):g} s: it has stopped or is overloaded; end it"
        elif answer is None or _has_left(answer):
            return ""
        elif isinstance(answer, TimeoutError):
            wrong = f"no answer in {ANSWER_SECONDS:g} s: it has stopped or is overloaded; end it"
        elif isinstance(answer, ImportError):
            wrong = f"cannot import graphprover ({answer}): install 'graphprover[prover]' {__version__} there"
        elif isinstance(answer, Exception):
            wrong = f"{type(answer).__name__}: {answer}"
        elif other := _others(answer):
            theirs, here = (", ".join(f"{name} {side.get(name)}" for name in other) for side in (answer, OURS))
            wrong = f"has {theirs}, and here is {here}: install the same there"
        elif gpus_asked(device) > len(answer["gpus"]):
            wrong = f"device {device}: it sees {len(answer['gpus'])} GPUs; ask for another device, or end this worker"
        else:
            return ""
        return f"worker {address}: {wrong}"

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            _log.warning("graphprover: %s", line)


def facts() -> dict[str, Any]:
    """What a worker says of itself: its versions, and which GPUs it sees."""
    return OURS | {"gpus": identities()}


async def enlist(dask_worker: Worker) -> None:
    """Let a worker have proofs, on no GPU that it does not see. Raises what its warm-up has raised.

    One that has not joined yet tells of its resources as it joins.
    """
    ready = dask_worker.plugins.get(READY)
    if error := getattr(ready, "error", None):
        raise error
    names = [SLOT, *(GPU.format(number) for number in range(gpus()))]
    resources = {name: 1 for name in names if name not in dask_worker.state.total_resources}
    if not resources:
        return
    if dask_worker.status in (Status.running, Status.paused):
        await dask_worker.set_resources(**resources)
    else:
        dask_worker.state.total_resources |= resources
        dask_worker.state.available_resources |= resources


def prompt(client: Client) -> Client:
    """The same, which sends each job at once: Dask's client keeps for up to 10 ms what follows another message."""
    stream: Any = client.scheduler_comm
    stream.interval = 0
    return client


def gpus_asked(device: Device | str) -> int:
    """How many GPUs a worker must see for a device; raises ValueError for a name that means none."""
    kind, number = _named(device)
    return number + 1 if kind == CUDA else 0


def _named(device: Device | str) -> Named:
    return named(device) if isinstance(device, str) else Named(device.kind, getattr(device, "number", 0))


def _others(answer: dict[str, Any]) -> list[str]:
    return [name for name in OURS if answer.get(name) != OURS[name]]


def _has_left(answer: Any) -> bool:
    return isinstance(answer, OSError) and not isinstance(answer, TimeoutError)
