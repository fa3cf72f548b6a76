"""Settings of what makes proofs: the executor of auto, and the log of Dask's client."""

import logging

import pytest

from graphprover.graphs.executor_names import GROWING, THREADS
from graphprover.proving.settings import ProvingSettings, applied
from graphprover.runtime.errors import DEBUG


@pytest.mark.parametrize(
    "settings", [ProvingSettings(), ProvingSettings(pool=0.5), ProvingSettings(memory_limit=0.5)], ids=str
)
def test_auto_may_grow_by_itself_and_with_limits_of_memory(
    settings: ProvingSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphprover.runtime.background.usable", lambda device: (None, ""))
    for alone in (GROWING, THREADS):
        chosen, line = settings.chosen(alone)
        assert (chosen.executor, line) == (alone, "")


def test_auto_with_settings_of_workers_starts_no_processes() -> None:
    assert ProvingSettings(workers=2).chosen(GROWING)[0].executor == THREADS


def test_the_choice_of_auto_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphprover.runtime.background.usable", lambda device: ("cluster.json", ""))
    chosen, line = ProvingSettings().chosen()
    assert (chosen.executor, line) == ("cluster.json", "the running cluster proves (cluster.json)")
    monkeypatch.setattr("graphprover.runtime.background.usable", lambda device: (None, "it is old"))
    chosen, line = ProvingSettings().chosen()
    assert (chosen.executor, line) == (THREADS, "this process proves: it is old")
    assert ProvingSettings("sync").chosen() == (ProvingSettings("sync"), "")


def test_dask_logs_nothing_of_a_lost_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger("distributed.client")
    record = log.makeRecord(log.name, logging.ERROR, "", 0, "a traceback", (), None)
    settings = ProvingSettings("tcp://x:1")
    with applied(settings):
        assert not log.filter(record)
    assert log.filter(record)
    monkeypatch.setenv(DEBUG, "1")
    with applied(settings):
        assert log.filter(record)
