"""Dask's servers without the HTTP server that each of them starts: they listen for Dask's messages alone.

A module of its own, since a process that becomes a worker imports it before its environment is set.
"""

from typing import Any

from distributed import Scheduler, Worker


class WithoutHttp:
    """Starts no HTTP server, which Dask does with and without a dashboard, for every user of this host."""

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Do nothing."""


class SchedulerWithoutHttp(WithoutHttp, Scheduler):
    """A scheduler with one port."""


class WorkerWithoutHttp(WithoutHttp, Worker):
    """A worker with one port."""
