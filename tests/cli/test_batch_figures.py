"""Figures of a batch: throughput, percentiles, retries and energy, in text and JSON."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphprover.cli import batch_figures, text_output
from graphprover.cli.batch_figures import ELSEWHERE, figures, metered_by
from graphprover.cli.main import main
from graphprover.device.energy import Energy, HostEnergy
from graphprover.runtime import background
from graphprover.runtime.errors import OK
from graphprover.runtime.files import FileError

NOTHING = HostEnergy(None, Energy(None, "no counters"))
UNKNOWN = HostEnergy(Energy(None, ELSEWHERE), Energy(None, ELSEWHERE))


def job(seconds: float, outcome: str = "made", attempts: int = 1) -> dict[str, Any]:
    return {"outcome": outcome, "attempts": attempts, "seconds": {"prepare": seconds / 4, "prove": seconds * 3 / 4}}


def report(found: dict[str, Any]) -> list[Any]:
    counts = {"jobs": 4, "made": 3, "kept": 0, "failed": 1}
    return text_output.batch_report(counts | found)


def test_throughput_and_percentiles_are_of_the_made_proofs() -> None:
    found = figures([*(job(n / 10) for n in range(21)), job(90, "kept", 0), job(90, "failed", 3)], 42.0, NOTHING)
    assert found["proofs_per_hour"] == 1800.0 and found["seconds_per_proof"] == 2.0
    assert found["proof_seconds"] == {"p50": pytest.approx(1.0), "p95": pytest.approx(1.9)}
    assert found["retries"] == 2 and found["seconds"] == 42.0


def test_energy_is_divided_by_the_proofs() -> None:
    energy = HostEnergy(Energy(900.0), Energy(None, "energy_uj: Permission denied"))
    found = figures([job(1.0), job(2.0), job(3.0), job(1.0, "failed", 2)], 7200.0, energy)
    assert found["energy"] == {
        "gpu": {"joules": 900.0, "problem": None, "joules_per_proof": 300.0},
        "cpu": {"joules": None, "problem": "energy_uj: Permission denied", "joules_per_proof": None},
    }
    assert report(found) == [
        "4 jobs: 3 made in 7200.0 s, 1 failed, 1 retries",
        "2 proofs an hour, 2400.00 s each; time of a proof: p50 2.00 s, p95 2.90 s",
        "energy: GPU 900 J, 300.0 J a proof; CPU not measured (energy_uj: Permission denied)",
    ]


def test_a_batch_without_a_proof_has_no_times() -> None:
    found = figures([job(1.0, "kept", 0)], 2.0, HostEnergy(None, Energy(50.0)))
    assert found["proofs_per_hour"] == 0.0 and found["seconds_per_proof"] is None
    assert found["proof_seconds"] == {"p50": None, "p95": None}
    assert found["energy"]["cpu"]["joules_per_proof"] is None and found["energy"]["gpu"] is None
    counts = {"jobs": 1, "made": 0, "kept": 1, "failed": 0}
    assert text_output.batch_report(counts | found) == ["1 jobs: 0 made in 2.0 s, 1 kept"]


@pytest.mark.parametrize(
    ("executor", "device", "gpus"),
    [
        ("threads", "auto", ["gpu 0"]),
        ("threads", "cuda:1", ["gpu 1"]),
        ("sync", "cpu", []),
        ("cuda", "auto", ["gpu 0", "gpu 1"]),
        ("growing", "auto", ["gpu 0", "gpu 1"]),  # its processes may use all
        ("growing", "cuda:1", ["gpu 1"]),
        ("growing", "cpu", []),
        ("processes", "auto", []),
        ("processes", "cuda:7", []),  # fails later, with the error of the device
        ("tls://127.0.0.1:1", "auto", ["gpu 0", "gpu 1"]),  # the background cluster of this host
        ("/run/cluster.json", "auto", ["gpu 0", "gpu 1"]),  # its file, which --executor auto finds
        ("tcp://127.0.0.2:1", "auto", None),
    ],
)
def test_the_gpus_that_prove_are_measured(
    executor: str, device: str, gpus: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    @contextmanager
    def metered(gpus: list[str]) -> Iterator[Callable[[], HostEnergy]]:
        asked.append(gpus)
        yield lambda: NOTHING

    here = SimpleNamespace(address="tls://127.0.0.1:1", kind="cuda")
    monkeypatch.setattr(background, "found", lambda: (background.BackgroundState.RUNNING, here))
    monkeypatch.setattr(background, "file", lambda: Path("/run/cluster.json"))
    for name, false in (("metered", metered), ("gpus", lambda: 2), ("gpu_address", "gpu {}".format)):
        monkeypatch.setattr(batch_figures, name, false)
    with metered_by(executor, device) as read:
        found = read()
    assert asked == ([] if gpus is None else [gpus])
    assert found == (UNKNOWN if gpus is None else NOTHING)


def test_workers_on_other_hosts_need_no_private_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise FileError("no folder is private")

    monkeypatch.setattr(background, "found", fail)
    with metered_by("tcp://127.0.0.2:1", "cuda") as read:
        assert read() == UNKNOWN
    with metered_by("tcp://127.0.0.2:1", "cpu") as read:
        assert read() == HostEnergy(None, Energy(None, ELSEWHERE))


def test_the_command_prints_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs.toml").write_text('[[job]]\nprogram = "examples/fibonacci"\noutput = "{number}.bin"\nsecurity = 30\n')
    command = ["batch", "jobs.toml", "--summary", "lines", "--device", "cpu"]
    assert main(command) == OK
    counts, times, energy = capsys.readouterr().out.splitlines()
    assert counts.startswith("1 jobs: 1 made in ") and " proofs an hour, " in times and ", p95 " in times
    assert energy.startswith("energy: CPU ")
    assert main([*command, "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert json.loads(Path("lines").read_text().splitlines()[-1]).items() <= found.items()
    assert found["proof_seconds"]["p50"] == pytest.approx(sum(found["results"][0]["seconds"].values()))
    cpu = found["energy"]["cpu"]
    assert (cpu["joules"] is None) == bool(cpu["problem"]) and found["energy"]["gpu"] is None
