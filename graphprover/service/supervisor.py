"""The prover process of a service: started, restarted when it ends, and its jobs returned to the queue."""

import asyncio
import logging
import os
import sys
import time
import uuid
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from sqlalchemy.exc import SQLAlchemyError

from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.service.config import Config
from graphprover.service.counted import COUNTED
from graphprover.service.orphans import record
from graphprover.service.queue import Queue

MODULE = "graphprover.service.prover_process"
ALIVE = b"alive\n"  # a line by the prover process
END_SECONDS = 10.0  # in which a prover process ends by itself
LEAST_WAIT, MOST_WAIT = 0.5, 30.0  # seconds before a prover process that has ended is replaced
SILENT_SECONDS = 10.0  # without a sign of life, which comes every second, until the service is not ready
LASTING = 60.0  # seconds of a prover process after which the wait is the least again

_log = logging.getLogger(__name__)


class Supervisor:
    """Runs one prover process at a time.

    Args:
        config: The configuration of the service.
        queue: The queue.
        lock: The locked file of the service. The prover process inherits the lock, so that no other service starts a
            prover process before it has ended.
        give_up: Called if the first prover process refuses its options. A later one may lack a device for a while.
    """

    def __init__(self, config: Config, queue: Queue, lock: IO[str], give_up: Callable[[], None]) -> None:
        self.restarts = 0  # of prover processes that have failed
        self.counted = dict.fromkeys(COUNTED, 0)  # by the prover processes
        self._is_ready = False  # whether this prover process has accepted its options
        self._was_ready = False  # whether any has
        self._heard = 0.0  # time of the last sign of life of the prover process
        self._config, self._queue, self._lock, self._give_up = config, queue, lock, give_up
        self._process: Process | None = None

    @property
    def problem(self) -> str:
        """Why the prover process takes no jobs; empty if it does."""
        if not self._is_ready:
            return "the prover process is starting"
        silent = time.monotonic() - self._heard
        return f"the prover process has given no sign of life for {silent:.0f} s" if silent > SILENT_SECONDS else ""

    async def run(self) -> None:
        """Run prover processes until this task is cancelled."""
        wait = LEAST_WAIT
        await self._released()  # jobs of a service that was killed
        while True:
            started = time.monotonic()
            code = await self._run_one()
            await self._released()
            if code == USAGE and not self._was_ready:
                self._give_up()
                return
            if code == OK:  # another executor is to prove
                continue
            self.restarts += 1
            wait = LEAST_WAIT if time.monotonic() - started > LASTING else min(2 * wait, MOST_WAIT)
            _log.error("the prover process has ended with exit code %d; another one starts in %.1f s", code, wait)
            await asyncio.sleep(wait)

    async def stop(self) -> None:
        """End the prover process, and return its jobs to the queue; their attempts do not count.

        The caller cancels `run` before, so that no other prover process starts.
        """
        if self._process and self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), END_SECONDS)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        await self._release(crashed=False)

    async def _run_one(self) -> int:
        """Start a prover process, and return its exit code."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                MODULE,
                stdin=PIPE,
                stdout=PIPE,
                pass_fds=[self._lock.fileno()],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            )
        except OSError as error:  # such as too little memory
            _log.error("the prover process does not start: %s", error)
            return FAILED
        given = self._config.of_prover(uuid.uuid4().hex).to_json()
        record(self._lock, self._process.pid)
        assert self._process.stdin and self._process.stdout
        with suppress(ConnectionError):  # it has ended
            self._process.stdin.write(f"{given}\n".encode())
            await self._process.stdin.drain()
        self._is_ready = bool(await self._process.stdout.readline())
        self._heard = time.monotonic()
        if self._is_ready:
            self._was_ready = True
            _log.info("the prover process %d takes jobs", self._process.pid)
        listening = asyncio.create_task(self._listen(self._process.stdout))
        code = await self._process.wait()
        listening.cancel()  # a child of the process may have its output
        self._is_ready = False
        return code

    async def _listen(self, output: asyncio.StreamReader) -> None:
        """Read signs of life and counts."""
        while line := await output.readline():
            self._heard = time.monotonic()
            if line != ALIVE:
                name, _, number = line.decode().partition(" ")
                self.counted[name] += int(number)

    async def _released(self) -> None:
        """Release the jobs of a prover process that has died, once the database answers."""
        while True:
            try:
                return await self._release(crashed=True)
            except SQLAlchemyError:
                _log.exception("the database does not answer")
                await asyncio.sleep(MOST_WAIT)

    async def _release(self, *, crashed: bool) -> None:
        again = await asyncio.to_thread(self._queue.release, self._config.attempts, crashed=crashed)
        if again:
            _log.warning("%d jobs were running and are queued again", again)
