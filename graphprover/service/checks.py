"""Checks of the database and the store, for the readiness of a service."""

import threading
import time
from collections.abc import Callable, Mapping

CHECK_SECONDS = 5.0  # between two checks: anybody may ask for them


class Checks:
    """Checks of a service, each at most once in CHECK_SECONDS."""

    def __init__(self, checks: Mapping[str, Callable[[], object]]) -> None:
        self._checks, self._lock = checks, threading.Lock()
        self._checked, self._problems = -CHECK_SECONDS, list[str]()

    def __call__(self) -> list[str]:
        """Return the errors of all checks."""
        with self._lock:
            if time.monotonic() - self._checked >= CHECK_SECONDS:
                self._problems = [problem for name in self._checks for problem in self._errors(name)]
                self._checked = time.monotonic()
            return list(self._problems)

    def _errors(self, name: str) -> list[str]:
        try:
            self._checks[name]()
        except Exception as error:
            return [f"{name}: {str(error).splitlines()[0]}"]
        return []
