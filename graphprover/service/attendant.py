"""The regular work of a service: ends of jobs are logged and counted, callbacks sent, and old jobs removed."""

import asyncio
import logging
import time
from typing import Any

from sqlalchemy import Row

from graphprover.service.callbacks import call_back
from graphprover.service.metrics import Metrics
from graphprover.service.queue import Queue
from graphprover.service.store import Store
from graphprover.service.uploads import Uploads

LOOK_SECONDS = 0.5  # between two looks for jobs that have ended
CALLBACKS = 8  # at the same time
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

    def __init__(self, queue: Queue, store: Store, uploads: Uploads, metrics: Metrics, keep_days: float | None) -> None:
        self._queue, self._store, self._uploads, self._metrics = queue, store, uploads, metrics
        self._keep_days = keep_days

    async def run(self) -> None:
        """Work until this task is cancelled; an error of the database is logged, and the work goes on."""
        removed = 0.0
        while True:
            try:
                await asyncio.to_thread(self.notice)
                await self._call_back()
                if self._keep_days is not None and time.monotonic() - removed > RETENTION_SECONDS:
                    removed = time.monotonic()
                    await asyncio.to_thread(self.remove_old, time.time() - self._keep_days * DAY)
            except Exception:
                _log.exception("the regular work of the service has failed")
            await asyncio.sleep(LOOK_SECONDS)

    def notice(self) -> None:
        """Log and count jobs that have ended."""
        while rows := self._queue.notice():
            for row in rows:
                self._metrics.job_ended(row)
                facts = {"job": row.id, "state": row.state, "attempts": row.attempts, "owner": row.owner}
                _log.info("ended", extra=facts | ({"problem": row.problem} if row.problem else {}))

    async def _call_back(self) -> None:
        """Send the callbacks that are due."""
        rows = await asyncio.to_thread(self._queue.due_callbacks, CALLBACKS)
        await asyncio.gather(*(asyncio.to_thread(self._call_one, row) for row in rows))

    def _call_one(self, row: Row[Any]) -> None:
        taken, again = call_back(row)
        self._queue.called_back(row.number, again)
        self._metrics.callbacks.labels("taken" if taken else "failed").inc()
        if not taken:
            _log.warning(
                "the callback failed; %s",
                "it is sent again" if again else "it was the last attempt",
                extra={"job": row.id, "url": row.callback},
            )

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
