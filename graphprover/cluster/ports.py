"""Dask's scheduler and worker without their HTTP servers.

A module of its own, because a worker process imports it before its environment is set.
"""

from typing import Any

from distributed import Scheduler, Worker


class WithoutHttp:
    """A server without HTTP, which Dask opens to all users of this host even without a dashboard."""

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Do nothing."""


class SchedulerWithoutHttp(WithoutHttp, Scheduler):
    """A scheduler with one port."""


class WorkerWithoutHttp(WithoutHttp, Worker):
    """A worker with one port."""
