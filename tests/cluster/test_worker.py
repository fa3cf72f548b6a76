"""Tasks of a worker in its process."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from graphprover.admission.admission import limit_process
from graphprover.cluster import worker as workers
from graphprover.kernels.cpu import pages


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot move pages")
@pytest.mark.parametrize(("limit", "kept"), [(None, 2 * pages.HUGE), (1 << 40, 0)])
def test_a_worker_with_a_limit_of_memory_gives_free_pages_back(
    limit: int | None, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask counts free pages as used, and would give no more tasks to the worker."""
    task, manager = SimpleNamespace(state="executing"), SimpleNamespace(memory_limit=limit)
    worker: Any = SimpleNamespace(nanny="tcp://nanny", memory_manager=manager, address="tcp://worker")
    worker.state, worker.log_event = SimpleNamespace(tasks={"key": task}), lambda *event: None
    worker.get_current_task = lambda: "key"
    monkeypatch.setattr(workers, "get_worker", lambda: worker)
    monkeypatch.setattr(workers, "install", lambda worker: None)
    pages.trim()
    try:
        with workers._task():
            pages.empty(2 * pages.HUGE, "uint8")
            assert pages.kept() == 2 * pages.HUGE
    finally:
        limit_process(None)
    assert pages.kept() == kept
