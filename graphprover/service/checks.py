"""Checks of the database and the store, for the readiness of a service."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

CHECK_SECONDS = 5.0  # between two checks: anybody may ask for them
ANSWER_SECONDS = 3.0  # for a check, as probes wait a few seconds; a library of an object store tries for a minute

_log = logging.getLogger(__name__)


class ReadinessChecks:
    """Checks of a service, each by one thread at a time, and at most once in CHECK_SECONDS."""

    def __init__(self, checks: Mapping[str, Callable[[], object]]) -> None:
        self._checks = checks
        self._threads = ThreadPoolExecutor(len(checks), "check")  # slow callbacks may occupy the loop's own threads
        self._newest: dict[str, tuple[float, asyncio.Future[None]]] = {}  # by name, with the time of its start

    async def __call__(self) -> dict[str, str]:
        """Return the errors of the checks that fail, by their names."""
        errors = await asyncio.gather(*map(self._error, self._checks))
        return {name: error for name, error in zip(self._checks, errors, strict=True) if error}

    async def _error(self, name: str) -> str:
        """Return the error of the newest check of this name; empty without one."""
        started, check = self._newest.get(name, (0.0, None))
        if check is None or (check.done() and time.monotonic() - started >= CHECK_SECONDS):
            running = asyncio.get_running_loop().run_in_executor(self._threads, self._check, name)
            started, check = self._newest[name] = time.monotonic(), running
        await asyncio.wait({check}, timeout=max(0.0, started + ANSWER_SECONDS - time.monotonic()))
        if not check.done():
            return f"no answer for {time.monotonic() - started:.0f} s"
        error = check.exception()
        return (str(error) or type(error).__name__).splitlines()[0] if error else ""

    def _check(self, name: str) -> None:
        try:
            self._checks[name]()
        except Exception as error:
            _log.warning("the check of the %s has failed: %s: %s", name, type(error).__name__, error)
            raise
