"""The prover process of a service: ``python -m`` of this module, which `supervisor` starts.

It reads its configuration, a line of JSON, from standard input, and ends when standard input ends. It writes a line to
standard output once it takes jobs, then a sign of life every second, and the number of repeated attempts of each proof
that workers had to repeat. If the executor fails, it ends; the service returns its jobs to the queue and starts another
prover process.
"""

import argparse
import io
import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from graphprover.service.json_log import log_as_json

READY = b"ready\n"
ALIVE_SECONDS = 1.0  # between two signs of life
LOOK_SECONDS = 2.0  # between two looks for a background cluster
END_SECONDS = 5.0  # in which this process ends by itself when its service has ended

_log = logging.getLogger("graphprover.service.prover_process")  # also if this module is __main__


def main() -> int:
    """Prove the queue's jobs, and return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the service's terminal
    signal.signal(signal.SIGTERM, _end)
    log_as_json()
    given = json.loads(_line())
    threading.Thread(target=_watch, daemon=True).start()
    from graphprover.jobs.programs import message_of
    from graphprover.runtime.errors import FAILED, OK, USAGE, UsageError
    from graphprover.runtime.extras import INSTALL_SERVE, needs_prover

    try:
        _prove(given)
        return OK
    except UsageError as error:
        _log.error("%s", error)
        return USAGE
    except Exception as error:
        if needs_prover(error):
            _log.error("the service needs the prover: %s", INSTALL_SERVE)
            return USAGE
        _log.error("%s", message_of(error), exc_info=not isinstance(error, RuntimeError | OSError))
        return FAILED


def _prove(given: dict[str, Any]) -> None:
    from graphprover.cli.executor import check_device, configured
    from graphprover.cluster.client import joined
    from graphprover.graphs.executor_names import CLUSTERS, LOCAL
    from graphprover.service.config import Limits
    from graphprover.service.database import connect
    from graphprover.service.queue import Queue
    from graphprover.service.runner import Runner
    from graphprover.service.store import Store
    from graphprover.service.supervisor import ALIVE

    options = argparse.Namespace(**given["prover"])
    goes_on = _watcher(options)
    inputs = Path(given["inputs"])
    shutil.rmtree(inputs, ignore_errors=True)  # of a prover process that was killed
    inputs.mkdir(0o700, parents=True)
    os.umask(given["umask"])
    said = io.StringIO()
    with ExitStack() as stack:
        with redirect_stderr(said):  # which has the choice of the executor as a line for people
            stack.enter_context(configured(options))
        for line in said.getvalue().splitlines():
            _log.info("%s", line)
        check_device(options)
        if options.executor not in (*LOCAL, *CLUSTERS):
            with joined(options.executor):  # raises if its scheduler does not answer
                pass
        service = stack.enter_context(os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0))
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # no process reads the output of workers

        def tell(line: bytes) -> None:
            with suppress(OSError, ValueError):  # the service has ended, or this process ends
                service.write(line)

        def live() -> None:
            while True:
                time.sleep(ALIVE_SECONDS)
                tell(ALIVE)

        queue, store = Queue(connect(given["database"])), Store(given["store"])
        limits = Limits(**given["limits"])
        runner = Runner(queue, store, inputs, given["id"], lambda attempts: tell(b"%d\n" % attempts), limits)
        service.write(READY)
        threading.Thread(target=live, name="graphprover-alive", daemon=True).start()
        runner.run(options.executor, options.device, goes_on)


def _watcher(options: argparse.Namespace) -> Callable[[], bool]:
    """Return a function that returns False once another executor is to prove: a background cluster came or went."""
    from graphprover.graphs.executor_names import AUTO
    from graphprover.runtime import background

    settings = (options.pool, options.memory_limit, options.workers, options.mps, options.dashboard)
    if options.executor != AUTO or any(value is not None for value in settings):
        return lambda: True
    found, looked = background.usable(options.device)[0], time.monotonic()

    def is_same() -> bool:
        nonlocal looked
        if time.monotonic() - looked < LOOK_SECONDS:
            return True
        looked = time.monotonic()
        return background.usable(options.device)[0] == found

    return is_same


def _end(number: int, frame: FrameType | None) -> None:
    """End by an exception, which ends the workers; a second signal does not disturb that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def _line() -> bytes:
    """Return the first line of standard input; a buffer with `_watch` would disturb the end of the interpreter."""
    line = b""
    while not line.endswith(b"\n") and (part := os.read(0, 1 << 16)):
        line += part
    return line


def _watch() -> None:
    """End this process when its service has ended."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
