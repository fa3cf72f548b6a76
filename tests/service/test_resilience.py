"""Queued jobs end once and in order although workers, the scheduler and the service are killed."""

from pathlib import Path

import pytest

from tests.service.resilience import run


@pytest.mark.slow
def test_many_jobs_survive_kills(tmp_path: Path) -> None:
    assert run(tmp_path, 400).kills == ("worker", "scheduler", "worker", "service", "worker")
