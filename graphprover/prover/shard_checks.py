"""The verification of the shards that workers make, of several at a time if they are many.

Verification holds Python's lock, so that threads alone verify no faster. All threads but one have a process of their
own (`graphprover.prover.checking`). The processes start with the proof. Until they are ready, this process verifies.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.proof import BatchProof
from graphprover.prover.checking import Checker, Lost
from graphprover.telemetry.model import Stage
from graphprover.telemetry.subscribe import clock
from graphprover.verifier.shards import Expected, ShardCheck

FEWEST_SHARDS = 8  # for which the start of a process takes less time than it saves
SHARDS_EACH = 4  # of a process, at least
MOST_PROCESSES = 8

R = TypeVar("R")


def processes_for(shards: int, cores: int) -> int:
    """Return how many processes verify shards; 0 if that does not pay.

    They use at most half of the cores. Windows passes no pipe to a process by its number, as `Checker` does it.
    """
    if shards < FEWEST_SHARDS or sys.platform == "win32":
        return 0
    return min(shards // SHARDS_EACH, cores // 2, MOST_PROCESSES)


class ShardChecks:
    """A context with threads and processes that verify shards. Threads may share it."""

    def __init__(self, processes: int) -> None:
        """Begin without the processes, which a thread starts."""
        self._pool = ThreadPoolExecutor(1 + processes, "shards")
        self._checkers = [Checker() for _ in range(processes)]
        self._idle: list[Checker] = []
        self._lock, self._here = threading.Lock(), threading.Lock()
        self._started = ExitStack()

    def __enter__(self) -> "ShardChecks":
        self._pool.submit(self._start)
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._started.close()

    def submit(self, function: Callable[..., R], *arguments: Any) -> "Future[R]":
        """Run a function in a thread, such as one that verifies a shard."""
        return self._pool.submit(function, *arguments)

    def check(self, expected: Expected, index: int, proof: Proof) -> tuple[BatchProof, Stage]:
        """Verify a shard as `Expected.check`, by an idle process or by this one.

        Args:
            expected: The verification of all shards.
            index: The index of the shard.
            proof: The shard.

        Returns:
            The decoded payload, and the time of the verification.

        Raises:
            VerificationError: If the shard does not hold by itself.
        """
        task = expected.shard_check(index)
        with self._taken(task) as checker:
            if checker:
                started = clock()
                batch = expected.opened(index, proof)
                checker.send(task, proof, None)
                try:
                    checker.answer()
                except VerificationError as error:
                    raise shard_error(index, error) from None
                except Lost:
                    pass
                else:
                    return batch, Stage("verify", started, clock())
        with self._here:
            started = clock()
            return expected.check(index, proof), Stage("verify", started, clock())

    def _start(self) -> None:
        for checker in self._checkers:
            self._started.enter_context(checker)
            with self._lock:
                self._idle.append(checker)

    @contextmanager
    def _taken(self, task: ShardCheck) -> Iterator[Checker | None]:
        """Yield an idle process, which is idle again afterwards; None if none is ready."""
        with self._lock:
            checker = next((one for one in self._idle if one.takes(task)), None)
            if checker:
                self._idle.remove(checker)
        try:
            yield checker
        finally:
            if checker:
                with self._lock:
                    self._idle.append(checker)
