"""`report diff`: two reports side by side, as text, JSON and a page; other files are refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import OK, USAGE
from graphprover.telemetry.compare import compare
from graphprover.telemetry.model import GuestRun
from tests.reports.observations import compressed, on_cpu, slow

FIRST, SECOND = "first.json", "second.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create the reports of two proofs, the second with a slow quotient of table 1."""
    monkeypatch.chdir(tmp_path)
    run = GuestRun(1000, 0, cost=77)
    replace(on_cpu(), run=run).save(FIRST)
    other = replace(slow(on_cpu(), "quotient", 1, 100.0), run=replace(run, cycles=2000))
    replace(other, device="cuda", machine=replace(other.machine, cpu="another CPU")).save(SECOND)
    return tmp_path


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["report", "diff", *arguments, "--json"]) == OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def row(found: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    (own,) = [row for row in found[section] if row["name"] == name]
    return dict(own)


def test_figures_and_their_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    found = said([FIRST, SECOND], capsys)
    own = row(found, "rounds", "quotient")
    before = next(one.seconds for one in on_cpu().rounds if one.round == "quotient")
    assert own["first"] == before and own["second"] == pytest.approx(100) and own["ratio"] == own["second"] / before
    assert found["rounds"][0]["name"] == "quotient"  # the largest change comes first
    slowest = on_cpu().tables[1].name.partition(".")[2]
    assert found["tables"][0]["name"] == slowest
    cells = row(found, "cells", slowest)
    table = on_cpu().tables[1]
    assert cells["first"] == cells["second"] == table.rows * table.columns and cells["ratio"] == 1
    assert row(found, "run", "cycles") == {"name": "cycles", "first": 1000, "second": 2000, "ratio": 2}
    assert row(found, "run", "cost")["ratio"] == 1
    assert {one["name"]: one["first"] for one in found["sizes"]} == on_cpu().sizes
    assert row(found, "memory", "peak")["first"] == on_cpu().memory.peak
    assert {one["name"] for one in found["stages"]} == {stage.name for stage in on_cpu().stages}


def test_what_differs_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    found = said([FIRST, SECOND], capsys)
    assert [one["name"] for one in found["differs"]] == ["device", "machine: cpu"]
    assert found["differs"][0] == {"name": "device", "first": "cpu", "second": "cuda"}
    assert said([FIRST, FIRST], capsys)["differs"] == []
    assert main(["report", "diff", FIRST, SECOND]) == OK
    text = capsys.readouterr().out
    assert "differs" in text and "another CPU" in text and "rounds (s)" in text and "quotient" in text


def test_python_compares_observations() -> None:
    one, two = on_cpu(), slow(on_cpu(), "quotient", 1, 100.0)
    found = compare(one, two)
    assert found == compare(one.to_json(), two.to_json()) and found["rounds"][0]["name"] == "quotient"
    layered = compare(one, compressed())
    assert row(layered, "rounds", "layer 1: quotient")["first"] is None
    assert row(layered, "rounds", "layer 1: quotient")["ratio"] is None
    with pytest.raises(ValueError, match="not a report of a proof or a batch"):
        compare([], one)


def test_batches_are_summed(capsys: pytest.CaptureFixture[str]) -> None:
    for name, times in (("few.json", 1), ("many.json", 3)):
        Path(name).write_text(json.dumps([on_cpu().summary()] * times))
    found = said(["few.json", "many.json"], capsys)
    assert row(found, "rounds", "quotient")["ratio"] == pytest.approx(3)
    assert found["differs"] == [{"name": "proofs", "first": 1, "second": 3}]
    assert found["cells"] == found["sizes"] == [] and row(found, "memory", "peak")["ratio"] == 1


@pytest.mark.parametrize(
    ("contents", "error"),
    [
        (b"graphprover proof\x02...", "a proof, not a report"),
        (b"no report", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"valid": true}', "not a report of a proof or a batch"),
        (b"[]", "not a report of a proof or a batch"),
        (b'[{"name": 1}]', "not a report of a proof or a batch"),
    ],
)
def test_other_files_are_refused(contents: bytes, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other").write_bytes(contents)
    for files in (["other", FIRST], [FIRST, "other"]):
        assert main(["report", "diff", *files]) == USAGE
        remedy = "give a file of `graphprover prove --report FILE.json`"
        assert capsys.readouterr().err == f"graphprover: other: {error}: {remedy}\n"


def test_a_report_with_other_values_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    good = json.loads(Path(FIRST).read_text())
    for change in ({"stages": [1]}, {"rounds": {}, "table_times": [{"table": 99}]}, {"memory": {"peak": "much"}}):
        Path("bad.json").write_text(json.dumps(good | change))
        assert main(["report", "diff", "bad.json", FIRST]) == USAGE
        assert "not a report of this version" in capsys.readouterr().err
    Path("bad.json").write_text(json.dumps(good | {"format": 99}))
    assert main(["report", "diff", "bad.json", FIRST]) == USAGE
    assert "a report of another format than 1" in capsys.readouterr().err
    assert main(["report", "diff", FIRST, "none.json"]) == USAGE
    assert main(["report", "diff", FIRST, SECOND, "--html", "/nowhere/page.html"]) == USAGE


def test_the_page_has_all_sections() -> None:
    assert main(["report", "diff", FIRST, SECOND, "--html", "page.html"]) == OK
    page = Path("page.html").read_text()
    for part in (
        "Not the same",
        "another CPU",
        "<h2>Rounds (s)</h2>",
        "<h2>Sizes (B)</h2>",
        ">quotient<",
        "first.json",
    ):
        assert part in page, part
    assert "http" not in page
