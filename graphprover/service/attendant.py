"""The regular work of a service: ends of jobs are logged and counted, callbacks sent, and old jobs removed."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from graphprover.service.callbacks import Callbacks
from graphprover.service.metrics import ServiceMetrics
from graphprover.service.queue import Queue
from graphprover.service.store import Store
from graphprover.service.uploads import Uploads

LOOK_SECONDS = 0.5  # between two looks for jobs that have ended, and for callbacks that are due
RETENTION_SECONDS = 600.0  # between two removals of old jobs
DAY = 86400.0

_log = logging.getLogger(__name__)


class Attendant:
    """Does the regular work of a service.

    Args:
        queue: The queue.
        store: The store.
        uploads: The uploads.
        metrics: The metrics, which count.
        keep_days: How long ended jobs, their proofs and unused uploads stay; None: for ever.
    """

    def __init__(
        self, queue: Queue, store: Store, uploads: Uploads, metrics: ServiceMetrics, keep_days: float | None
    ) -> None:
        self._queue, self._store, self._uploads, self._metrics = queue, store, uploads, metrics
        self._keep_days = keep_days
        self._callbacks = Callbacks(queue, metrics)
        self._threads = ThreadPoolExecutor(2, "attendant")  # requests may occupy the loop's own threads

    async def run(self) -> None:
        """Work until this task is cancelled. No kind of work waits for another one, or ends with its error."""
        kinds = [_repeated(LOOK_SECONDS, partial(self._in_thread, self.notice))]
        kinds.append(_repeated(LOOK_SECONDS, self._callbacks.send_due))
        if self._keep_days is not None:
            kinds.append(_repeated(RETENTION_SECONDS, partial(self._in_thread, self._remove_older)))
        try:
            await asyncio.gather(*kinds)
        finally:
            await self._callbacks.stop()

    async def _in_thread(self, work: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def notice(self) -> None:
        """Log and count jobs that have ended."""
        while rows := self._queue.notice():
            for row in rows:
                self._metrics.job_ended(row)
                facts = {"job": row.id, "state": row.state, "attempts": row.attempts, "owner": row.owner}
                _log.info("ended", extra=facts | ({"problem": row.problem} if row.problem else {}))

    def _remove_older(self) -> None:
        assert self._keep_days is not None
        self.remove_old(time.time() - self._keep_days * DAY)

    def remove_old(self, before: float) -> None:
        """Remove jobs that ended before a time, with their proofs, and uploads that no job has."""
        number = 0
        while keys := self._queue.old_proofs(before):
            for key in keys:
                self._store.remove_proof(key)
            number += self._queue.remove_old(before, keys)
        number += self._queue.remove_old(before, ())
        uploads = self._uploads.remove_old(before)
        if number or uploads:
            _log.info("%d old jobs and %d uploads were removed", number, uploads)


async def _repeated(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do some work again and again, this number of seconds apart; its errors are logged."""
    while True:
        try:
            await work()
        except Exception:
            _log.exception("the regular work of the service has failed")
        await asyncio.sleep(seconds)
