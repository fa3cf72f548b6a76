"""A process of this host that verifies proofs while this one makes others: the maker's side.

Verification is Python and NumPy, which hold Python's lock, so that a thread would delay the proof beside it.
"""

import logging
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Protocol

from graphprover.proof.compressed import AnyProof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.proof import Caps

PROCESS = "graphprover.prover.checking_process"

_EXIT_SECONDS = 5.0  # within which a process that has closed its connection ends

_log = logging.getLogger(__name__)  # warnings go to stderr by default


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
            # Not by `multiprocessing`, which would run the user's script in the process again.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", PROCESS, str(theirs.fileno())],
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
