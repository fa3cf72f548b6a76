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
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from graphprover.proof.compressed import AnyProof, any_proof_from_bytes
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.proof import BatchProof, Caps
from graphprover.telemetry.model import Stage
from graphprover.telemetry.subscribe import clock
from graphprover.verifier.shards import Expected

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
    proof of it. A thread writes proofs and waits for answers. A warning reports an early end.
    """

    def __init__(self) -> None:
        self._numbers: dict[Check, int] = {}  # of the checks that the process has
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._thread = ThreadPoolExecutor(1, "proof")
        self._last: Future[Any] | None = (
            None  # the start, or the last verification; the process is idle once it is done
        )
        self.lost = False

    def __enter__(self) -> "Checker":
        try:
            self._start()
        except OSError as error:
            self._lose(f"did not start: {error}")
        else:
            self._last = self._thread.submit(self._receive)
        return self

    def __exit__(self, *raised: object) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()  # it has nothing to clean up
            process.wait()
        self._thread.shutdown()
        if self._connection:
            self._connection.close()

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

    def start(self, check: Check, proof: AnyProof, caps: Caps) -> "Future[Stage] | None":
        """Begin to verify a proof, as `Checkers.start`; None unless the process is ready and idle."""
        if self.lost or not self._last or not self._last.done():
            return None
        new = None if check in self._numbers else check
        number = self._numbers.setdefault(check, len(self._numbers))
        self._last = self._thread.submit(self._verify, (number, new, caps), proof)
        return self._last

    def _verify(self, request: tuple[int, Check | None, Caps], proof: AnyProof) -> Stage:
        assert self._connection
        began = clock()
        with suppress(OSError):  # of a lost process, whose answer is missing
            self._connection.send(request)
            self._connection.send_bytes(proof.to_bytes())
        error, seconds = self._receive()
        if error:
            raise error
        return Stage("verify", began, began + seconds)

    def _receive(self) -> Any:
        assert self._connection
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            self._lose()
            raise Lost from None

    def _lose(self, why: str = "") -> None:
        """Warn that the process is lost, unless this process has ended it."""
        self.lost, process = True, self._process
        if process:
            try:
                code = process.wait(_EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            why = f"has ended with exit code {code}"
        if why:
            _log.warning(
                "graphprover: a process that verifies proofs %s; another process verifies them from now on", why
            )


class Checkers:
    """A context with processes that verify proofs beside this one. Threads may share it.

    A warning at the end has the number of proofs that this process has verified in the place of lost processes.
    """

    def __init__(self, processes: int) -> None:
        self.processes, self._checkers = processes, [Checker() for _ in range(processes)]
        self._lock = threading.Lock()
        self._in_their_place = 0

    def __enter__(self) -> "Checkers":
        for checker in self._checkers:
            checker.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        for checker in self._checkers:
            checker.__exit__()
        if self._in_their_place:
            _log.warning(
                "graphprover: this process has verified %d proofs itself, because the process for it had ended",
                self._in_their_place,
            )

    @property
    def is_alive(self) -> bool:
        """Whether a process verifies proofs, or is about to start."""
        return not all(checker.lost for checker in self._checkers)

    def start(self, check: Check, proof: AnyProof, caps: Caps) -> "Future[Stage] | None":
        """Begin to verify a proof by an idle process.

        Args:
            check: The verification.
            proof: The proof.
            caps: The maker's commitments to the preprocessed columns.

        Returns:
            The time of the verification, later; None if no process is ready and idle. The future raises
            VerificationError if the proof does not convince, and `Lost` if the process has ended before its answer.
        """
        with self._lock:
            started = (checker.start(check, proof, caps) for checker in self._checkers)
            return next(filter(None, started), None)

    def stand_in(self) -> None:
        """Count a proof that this process is about to verify, if a process is lost."""
        with self._lock:
            self._in_their_place += any(checker.lost for checker in self._checkers)


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
        self._threads = ThreadPoolExecutor(1 + processes, "shards")
        self._pool, self._here = Checkers(processes), threading.Lock()

    def __enter__(self) -> "ShardChecks":
        self._pool.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._pool.__exit__()

    def submit(self, function: Callable[..., R], *arguments: Any) -> "Future[R]":
        """Run a function in a thread, such as one that verifies a shard."""
        return self._threads.submit(function, *arguments)

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
        batch = expected.opened(index, proof)
        if answer := self._pool.start(expected.shard_check(index), proof, None):
            try:
                return batch, answer.result()
            except VerificationError as error:
                raise shard_error(index, error) from None
            except Lost:
                self._pool.stand_in()
        with self._here:
            started = clock()
            expected.check_decoded(index, batch)
            return batch, Stage("verify", started, clock())


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
