"""Settings of an operator: the executor and the device of proofs, their memory, and the workers that are started."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from graphprover.graphs.executor_names import AUTO, CLUSTERS, CUDA, HERE, LOCAL, THREADS
from graphprover.runtime import background
from graphprover.runtime.errors import DEBUG, UsageError


@dataclass(frozen=True)
class ProvingSettings:
    """The makers of proofs. ``graphprover prove --help`` describes the options of these names."""

    executor: str = AUTO
    device: str = "auto"
    pool: str | float | None = None
    memory_limit: str | float | None = None
    workers: int | None = None
    mps: bool | None = None
    dashboard: str | None = None

    @property
    def for_dask(self) -> dict[str, Any]:
        """The given settings of memory and workers, by their names in Dask's configuration."""
        from graphprover.runtime.settings import DASHBOARD, MEMORY_LIMIT, MPS, POOL, WORKERS

        of = {POOL: self.pool, MEMORY_LIMIT: self.memory_limit, WORKERS: self.workers}
        of |= {MPS: self.mps, DASHBOARD: self.dashboard}
        return {name: value for name, value in of.items() if value is not None}

    def chosen(self, alone: str = THREADS) -> tuple["ProvingSettings", str]:
        """Choose the executor of auto.

        Args:
            alone: The executor of auto without a background cluster.

        Returns:
            The settings with an executor, and a line if it is the background cluster, or why it is not.
        """
        if self.executor != AUTO:
            return self, ""
        from graphprover.runtime.settings import MEMORY_LIMIT, POOL

        if given := self.for_dask:  # of this process, and of processes that it starts
            return replace(self, executor=alone if {POOL, MEMORY_LIMIT}.issuperset(given) else THREADS), ""
        found, reason = background.usable(self.device)
        line = f"the running cluster proves ({found})" if found else reason and f"this process proves: {reason}"
        return replace(self, executor=found or alone), line

    def check_device(self) -> None:
        """Raise UsageError for an unknown device, or one that this host lacks if this process is to prove."""
        from graphprover.device.choose import device_for, profile_of

        try:
            if self.executor in HERE:
                device_for(self.device)
            else:
                profile_of(self.device)
        except ValueError as error:
            raise UsageError(f"--device: {error}") from error


@contextmanager
def applied(settings: ProvingSettings) -> Iterator[None]:
    """Apply settings with a chosen executor as Dask's configuration.

    Raises:
        UsageError: A setting does not fit the executor, or its value is invalid.
    """
    import dask

    from graphprover.runtime.settings import MEMORY_LIMIT, POOL, bytes_of

    given = settings.for_dask
    for name in given:
        _check_fits(name, settings.executor)
    with dask.config.set(given), _quiet(settings.executor):
        for name in given.keys() & {POOL, MEMORY_LIMIT}:
            try:
                bytes_of(name, 1 << 62)
            except ValueError as error:
                raise UsageError(f"{_option(name)}: {str(error).removeprefix(f'{name}: ')}") from error
        yield


def _option(name: str) -> str:
    """Return the option for a setting of Dask's configuration."""
    return f"--{name.partition('.')[2]}"


def _check_fits(name: str, executor: str) -> None:
    """Raise UsageError if a setting of Dask's configuration does not fit an executor."""
    from graphprover.runtime.settings import DASHBOARD, MPS, WORKERS

    option = _option(name)
    if name == DASHBOARD and executor not in CLUSTERS:
        state = "has no dashboard" if executor in HERE else "has its own dashboard, at its scheduler"
        raise UsageError(f"{option}: {executor} {state}; the option is for {' and '.join(CLUSTERS)}")
    if executor not in (*HERE, *CLUSTERS):
        variable = f"DASK_GRAPHPROVER__{option[2:].replace('-', '_').upper()}"
        remedies = {WORKERS: "start more workers", MPS: "start NVIDIA's service before them, see docs/cluster.md"}
        remedy = remedies.get(name, f"set {variable} in their environment")
        raise UsageError(f"{option}: the workers of {executor} are already running: {remedy}")
    if name == WORKERS and executor not in CLUSTERS:
        raise UsageError(f"{option}: {executor} starts no workers; {' and '.join(CLUSTERS)} do")
    if name == MPS and executor != CUDA:
        raise UsageError(f"{option}: {executor} starts no GPU processes; {CUDA} does")


@contextmanager
def _quiet(executor: str) -> Iterator[None]:
    """Suppress the tracebacks that Dask's client logs if its scheduler is lost; the caller reports this error."""
    if executor in LOCAL or DEBUG in os.environ:
        yield
        return

    def nothing(record: logging.LogRecord) -> bool:
        return False

    log = logging.getLogger("distributed.client")
    log.addFilter(nothing)  # a log level would be overwritten by the import of Dask's client
    try:
        yield
    finally:
        log.removeFilter(nothing)
