"""The prover process of a service: ``python -m`` of this module, which `supervisor` starts.

It reads its configuration, a line of JSON, from standard input, and ends when standard input ends. It writes a line to
standard output once it takes jobs, then a sign of life every second, and the names and numbers of `counted`. If the
executor fails, it ends; the service returns its jobs to the queue and starts another prover process.
"""

import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType

from graphprover.graphs.executor_names import AUTO, CLUSTERS, LOCAL
from graphprover.proving.settings import ProvingSettings, applied
from graphprover.runtime import background
from graphprover.runtime.errors import FAILED, OK, USAGE, UsageError
from graphprover.runtime.extras import install, needs_prover
from graphprover.service.config import ProverConfig
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
    config = ProverConfig.from_json(_line())
    threading.Thread(target=_watch, daemon=True).start()
    from graphprover.jobs.errors import message_of

    try:
        _prove(config)
        return OK
    except UsageError as error:
        _log.error("%s", error)
        return USAGE
    except Exception as error:
        if needs_prover(error):
            _log.error("the service needs the prover: %s", install("prover,serve"))
            return USAGE
        _log.error("%s", message_of(error), exc_info=not isinstance(error, RuntimeError | OSError))
        return FAILED


def _prove(config: ProverConfig) -> None:
    from graphprover.cluster.client import joined
    from graphprover.service.database import connect
    from graphprover.service.queue import Queue
    from graphprover.service.runner import Runner
    from graphprover.service.store import Store
    from graphprover.service.supervisor import ALIVE

    goes_on = _watcher(config.proving)
    inputs = Path(config.inputs)
    shutil.rmtree(inputs, ignore_errors=True)  # of a prover process that was killed
    inputs.mkdir(0o700, parents=True)
    os.umask(config.umask)
    settings, choice = config.proving.chosen()
    if choice:
        _log.info("%s", choice)
    with ExitStack() as stack:
        stack.enter_context(applied(settings))
        settings.check_device()
        if settings.executor not in (*LOCAL, *CLUSTERS):
            with joined(settings.executor):  # raises if its scheduler does not answer
                pass
        service = stack.enter_context(os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0))
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # no process reads the output of workers

        def tell(line: bytes) -> None:
            with suppress(OSError, ValueError):  # the service has ended, or this process ends
                service.write(line)

        def count(name: str, number: int) -> None:
            tell(f"{name} {number}\n".encode())

        def live() -> None:
            while True:
                time.sleep(ALIVE_SECONDS)
                tell(ALIVE)

        queue, store = Queue(connect(config.database)), Store(config.store)
        runner = Runner(queue, store, inputs, config.id, count, config.limits)
        service.write(READY)
        threading.Thread(target=live, name="graphprover-alive", daemon=True).start()
        runner.run(settings.executor, settings.device, goes_on)


def _watcher(settings: ProvingSettings) -> Callable[[], bool]:
    """Return a function that returns False once another executor is to prove: a background cluster came or went."""
    if settings.executor != AUTO or settings.for_dask:
        return lambda: True
    found, looked = background.usable(settings.device)[0], time.monotonic()

    def is_same() -> bool:
        nonlocal looked
        if time.monotonic() - looked < LOOK_SECONDS:
            return True
        looked = time.monotonic()
        return background.usable(settings.device)[0] == found

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
