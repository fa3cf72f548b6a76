"""Verification by other processes of this host, while this one makes proofs.

Verification is Python and NumPy, which hold Python's lock, so that a thread would delay the proof beside it. A process
is started as ``python -m`` of this module. It ignores Ctrl-C, which its parent handles, and ends once its parent has
closed the connection or ended. Processes of `concurrent.futures` run the user's script again, unless it has a guard.
Those of loky outlive a parent that is killed, and the loss of one breaks all.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from graphprover.proof.compressed import AnyProof, any_proof_from_bytes
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.proof import BatchProof, Caps
from graphprover.telemetry.model import Stage
from graphprover.telemetry.subscribe import clock
from graphprover.verifier.shards import Expected, ShardCheck

FEWEST_SHARDS = 8  # for which the start of a process takes less time than it saves
SHARDS_EACH = 4  # of a process, at least
MOST_PROCESSES = 8

_MODULE = "graphprover.verifier.pool"
_EXIT_SECONDS = 5.0  # within which a process that has closed its connection ends

_log = logging.getLogger(__name__)  # warnings go to stderr by default

R = TypeVar("R")


class Check(Protocol):
    """The verification of proofs of one program, which travels to another process."""

    def load(self) -> None:
        """Load the program."""

    def __call__(self, proof: AnyProof, caps: Caps) -> object:
        """Raise VerificationError if a proof, made with these commitments, does not convince."""


class Lost(Exception):
    """The process has ended before its answer."""


class Checker:
    """A context with a process that verifies one proof at a time, while this process makes another.

    The process starts beside the first proofs, and verifies none before it is ready. It gets a program with the first
    proof of it. A warning reports an early end, and another one at the end the number of proofs that this process has
    verified in its place.
    """

    def __init__(self) -> None:
        self._numbers: dict[Check, int] = {}  # of the checks that the process has
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._thread = ThreadPoolExecutor(1, "proof")  # writes, because a write waits for its reader
        self._sending: Future[None] | None = None
        self._ready = False
        self.lost = False
        self.in_its_place = 0  # proofs that this process verified because the other one was lost

    def __enter__(self) -> "Checker":
        try:
            self._start()
        except OSError as error:
            self._lose(f"did not start: {error}")
        return self

    def __exit__(self, *raised: object) -> None:
        self._end()
        if self.in_its_place:
            _log.warning(
                "graphprover: this process has verified %d proofs itself, because the process for it had ended",
                self.in_its_place,
            )

    def _start(self) -> None:
        ours, theirs = Pipe()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
        with theirs:
            self._connection = ours
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=(theirs.fileno(),),
                process_group=0,  # so that Ctrl-C in a terminal does not reach it before it ignores the signal
            )

    def knows(self, check: Check | None) -> bool:
        """Return whether the process can verify a proof by this check, at the latest once it has started."""
        return self._connection is not None and check is not None

    def takes(self, check: Check | None) -> bool:
        """Return whether the process can verify a proof by this check now; it must be idle."""
        if self._connection is None or not self.knows(check):
            return False
        if not self._ready:
            try:
                self._ready = self._connection.poll() and bool(self._connection.recv())
            except (EOFError, OSError):
                self._lose()
        return self._ready

    def send(self, check: Check, proof: AnyProof, caps: Caps) -> None:
        """Begin to send a proof; the process must be idle. If it is lost, `answer` raises."""
        assert self._connection
        new = None if check in self._numbers else check
        number = self._numbers.setdefault(check, len(self._numbers))
        self._sending = self._thread.submit(_write, self._connection, (number, new, caps), proof)

    def has_answer(self) -> bool:
        """Return whether `answer` need not wait, because the proof is verified or the process is lost."""
        assert self._connection
        try:
            return self._connection.poll()
        except OSError:
            return True

    def answer(self) -> float:
        """Wait until the sent proof is verified, and return the seconds of the verification.

        Raises:
            VerificationError: if the proof does not convince.
            Lost: if the process has ended before.
        """
        error, seconds = self._answer()
        if error:
            raise error
        return seconds

    def _answer(self) -> tuple[VerificationError | None, float]:
        assert self._connection
        try:
            found: Any = self._connection.recv()
        except (EOFError, OSError):
            self._lose()
            self.in_its_place += 1
            raise Lost from None
        return found

    def _lose(self, why: str = "") -> None:
        """End the rest of the process, and warn that it is lost."""
        code = self._end(_EXIT_SECONDS)
        self.lost = True
        _log.warning(
            "graphprover: a process that verifies proofs %s; another process verifies them from now on",
            why or f"has ended with exit code {code}",
        )

    def _end(self, wait: float = 0.0) -> int | None:
        """End the process and return its exit code; ``wait``: seconds that it has to end by itself."""
        connection, process = self._connection, self._process
        self._connection, self._process, self._ready = None, None, False
        if process and self._sending and not self._sending.done():
            process.kill()  # it may never read the rest, for which the thread would wait
        self._thread.shutdown()
        if connection:
            connection.close()
        if not process:
            return None
        try:
            return process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()  # it has nothing to clean up
            return process.wait()


def _write(connection: Connection, request: tuple[int, Check | None, Caps], proof: AnyProof) -> None:
    """Send a proof; a lost process is noticed by the missing answer."""
    with suppress(OSError):
        connection.send(request)
        connection.send_bytes(proof.to_bytes())


def processes_for(shards: int, cores: int) -> int:
    """Return how many processes verify shards; 0 if that does not pay.

    They use at most half of the cores. Windows passes no pipe to a process by its number, as `Checker` does it.
    """
    if shards < FEWEST_SHARDS or sys.platform == "win32":
        return 0
    return min(shards // SHARDS_EACH, cores // 2, MOST_PROCESSES)


class ShardChecks:
    """A context with threads and processes that verify shards, several at a time if they are many.

    All threads but one have a process of their own. The processes start with the proof. Until they are ready, this
    process verifies. Threads may share the context.
    """

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


def main() -> None:
    """Verify proofs from the connection on the descriptor in ``argv[1]``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):  # the parent has closed the connection, or ended
        _serve(Connection(int(sys.argv[1])))


def _serve(connection: Connection) -> None:
    """Verify proofs until the parent closes the connection."""
    _load_kernels()
    connection.send(os.getpid())
    checks: list[Any] = []
    while True:
        number, new, caps = connection.recv()
        data = connection.recv_bytes()
        if new:
            new.load()
            checks.append(new)
        began, answer = time.perf_counter(), None
        try:
            checks[number](any_proof_from_bytes(data), caps)
        except VerificationError as error:
            answer = error
        connection.send((answer, time.perf_counter() - began))


def _load_kernels() -> None:
    """Load the compiled hashes, with which a verification takes a third of the time, and call one of them."""
    import numpy as np

    from graphprover.kernels.cpu import hashes  # noqa: F401
    from graphprover.protocol.hashing import hash_rows
    from graphprover.protocol.parameters import DEFAULT_HASH

    hash_rows(DEFAULT_HASH, np.zeros((1, 8), dtype=np.uint64))


if __name__ == "__main__":
    main()
