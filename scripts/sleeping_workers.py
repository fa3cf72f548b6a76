"""Workers that sleep for the modelled time of a task, and return a result of realistic size and valid type.

A process has several of Dask's workers, in one event loop. In place of the functions of `graphprover.cluster.worker`,
their tasks run the functions here, which unpack the same messages.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from distributed import Worker, get_worker

from cluster_model import BASE_BYTES, LAST_RATE, LAYER_BYTES, Parts
from graphprover.cluster import worker
from graphprover.cluster.messages import unpack
from graphprover.cluster.shard_worker import CommittedShard, FinishedShard
from graphprover.cluster.tasks import BEGUN
from graphprover.cluster.window_worker import LaidOutWindow, RecordedWindow
from graphprover.field import ZERO
from graphprover.proof.proof import Proof
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.parameters import BLAKE3, Parameters
from graphprover.prover.layers import Layer
from graphprover.prover.local import Made
from graphprover.vm.executor.record import REGISTERS
from graphprover.vm.executor.window import Accesses

NONCE_BYTES = 8  # of a shard's payload, which begins with the nonce of all shards
TABLES = 16  # of a shard
SHARD = Parameters(BLAKE3, 1, 221, 5, 3, 0, 12, 0, 0, 6, 20)  # with 128 provable bits at 1/2
LAYER = replace(SHARD, log_blowup=3, num_queries=73, lookup_pow_bits=0)


@dataclass(frozen=True)
class Whole:
    """A whole proof by one worker, as a message."""

    cycles: float
    compress: bool
    label: str = "simulated"


def proof_of(parameters: Parameters, size: int = 0, start: bytes = b"") -> Proof:
    """Return a proof of about some bytes without a content; by default a header."""
    payload = start + bytes(max(0, size - len(start))) if size else b""
    return Proof("simulated", parameters, (20,) * TABLES, ((1, 2, 3, 4),) * TABLES, payload)


@dataclass
class Sleeper:
    """The tasks of all workers of a process."""

    parts: Parts
    cycles: float  # of the run
    workers: int  # of the cluster
    finished: Counter[tuple[str, str]] = field(default_factory=Counter)  # by proof and worker: shards
    lock: threading.Lock = field(default_factory=threading.Lock)

    def replace_tasks(self) -> None:
        """Let the workers of this process run the tasks of this object."""
        for name in ("prove", "largest_proof", "record", "lay_out", "commit", "finish"):
            setattr(worker, name, partial(self._task, getattr(self, name)))

    def _task(self, task: Any, payload: bytes, *held: Any) -> Any:
        """Run a task; name the worker to the client before, as the real tasks do."""
        own = get_worker()
        own.log_event(BEGUN, {"key": str(own.get_current_task()), "worker": own.address})
        shards = [one.proof for one in held if isinstance(one, FinishedShard)]
        return task(*unpack(payload), *([shards] if shards else []))

    def largest_proof(self, device: str) -> int:
        """Return the memory of a GPU for a proof."""
        return int(self.parts.memory)

    def prove(self, request: Any, shards: Sequence[Proof] = ()) -> Made:
        """Sleep for a whole proof or a layer; ``shards``: the ones that the layer is about, if workers have them."""
        subject, parts = request.subject, self.parts
        if isinstance(subject, Whole):
            time.sleep(parts.whole(subject.cycles, subject.compress))
            made = proof_of(LAYER, parts.last_bytes) if subject.compress else proof_of(SHARD, parts.shard_bytes)
            return Made(made, None, {}, 0)
        assert isinstance(subject, Layer)
        if subject.level.rate == LAST_RATE:
            time.sleep(parts.last_layer)
            return Made(proof_of(LAYER, parts.last_bytes), None, {}, 0)
        subject = subject.with_shards(shards) if shards else subject
        sizes = [(own.proof.size, LAYER_BYTES if own.accepted.children else BASE_BYTES) for own in subject.subjects]
        time.sleep(parts.layer(sum(size // each for size, each in sizes)))
        return Made(proof_of(LAYER, parts.layer_bytes), None, {}, 0)

    def record(self, request: Any) -> RecordedWindow:
        """Sleep for the record of a window, and for the run from the snapshot before it."""
        number, parts = request.number, self.parts
        time.sleep(parts.record(self.cycles / number.count) + parts.behind(self.cycles) * bool(number.index))
        none = np.zeros(0, np.uint32)
        return RecordedWindow(Accesses(none, none, np.zeros(0, np.uint64), np.zeros(REGISTERS, np.uint64)))

    def lay_out(self, request: Any) -> LaidOutWindow:
        """Sleep while the tables of a window would be laid out."""
        time.sleep(self.parts.lay_out(self.cycles / request.number.count))
        return LaidOutWindow([(number, (100, 1 << 20)) for number in range(TABLES)])

    def commit(self, request: Any) -> CommittedShard:
        """Sleep for the first graph of a shard."""
        number = request.number
        time.sleep(self.parts.commit(self.cycles / number.count))
        return CommittedShard(number.index.to_bytes(DIGEST_BYTES, "little"), proof_of(SHARD))

    def finish(self, request: Any, joint: Any, nonce: int) -> FinishedShard:
        """Sleep for the second graph of a shard."""
        count, own = request.number.count, (request.token, get_worker().address)
        with self.lock:
            before = self.finished[own]
            self.finished[own] += 1
        time.sleep(self.parts.finish(self.cycles / count, before < self.parts.keeps(count, self.cycles, self.workers)))
        made = proof_of(SHARD, self.parts.shard_bytes, nonce.to_bytes(NONCE_BYTES, "little"))
        return FinishedShard(made, made.size, nonce, ZERO, {}, False, None)


def serve(scheduler: str, number: int, sleeper: Sleeper) -> None:
    """Serve as some workers until the scheduler ends."""
    sleeper.replace_tasks()
    asyncio.run(_serve(scheduler, number))


async def _serve(scheduler: str, number: int) -> None:
    each = [Worker(scheduler, nthreads=1, memory_limit=0, dashboard=False, host="127.0.0.1") for _ in range(number)]
    await asyncio.gather(*each)
    await asyncio.gather(*(one.finished() for one in each))
