"""The process that verifies proofs beside another one that makes them: ``python -m`` of this module (`Checker`).

It ignores Ctrl-C, which its parent handles, and ends once its parent has closed the connection or ended.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from graphprover.protocol.errors import VerificationError


def main() -> None:
    """Verify proofs from the connection on the descriptor in ``argv[1]``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):  # the parent has closed the connection, or ended
        serve(Connection(int(sys.argv[1])))


def serve(connection: Connection) -> None:
    """Verify proofs until the parent closes the connection."""
    from graphprover.proof.compressed import any_proof_from_bytes

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
