"""Connections to the scheduler of a cluster that others started."""

import asyncio
from typing import Any

from distributed import Client

from graphprover.cluster import ClusterError
from graphprover.cluster.workers import without_delay

CONNECT = 10.0  # seconds in which a scheduler must answer


class _Client(Client):
    """A client that fails if its scheduler accepts the connection and then says nothing; Dask would wait for ever."""

    def start(self, **options: Any) -> None:
        """Connect; after a failure, end the client's thread, which the caller cannot reach."""
        try:
            super().start(**options)
        except BaseException:
            self._loop_runner.stop()
            raise

    async def _ensure_connected(self, timeout: float | None = None) -> None:
        try:
            await asyncio.wait_for(super()._ensure_connected(timeout), timeout)
        except TimeoutError as error:
            raise OSError(f"no answer in {timeout:g} s") from error
        except (OSError, ImportError):  # which Dask handles
            raise
        except Exception as error:  # another service answers, in another protocol
            raise OSError("something else than a Dask scheduler answers") from error


def connected(executor: str, address: str, **options: Any) -> Client:
    """Return a client of a scheduler.

    Args:
        executor: The executor that errors name.
        address: The scheduler's address.
        options: More options of Dask's client.

    Raises:
        ClusterError: If no scheduler answers.
    """
    try:
        return without_delay(_Client(address, timeout=CONNECT, **options))
    except OSError as error:
        raise ClusterError(
            f"executor {executor}: no scheduler answers there: {error}; start it, or correct the address"
        ) from error
