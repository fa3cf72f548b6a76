"""``--cost`` and ``--max-cost``: one number in all commands, and runs above a limit are not proved."""

import json
from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import FAILED, OK, USAGE

GUEST = str(Path(__file__).parents[2] / "examples/guests/json.elf")


@pytest.fixture
def value(capsys: pytest.CaptureFixture[str]) -> int:
    """Return the cost of the guest without input, which ends with exit code 1."""
    assert main(["execute", GUEST, "--cost", "--json"]) == FAILED
    cost: int = json.loads(capsys.readouterr().out)["cost"]["value"]
    return cost


def test_the_cost_is_named_with_its_classes(value: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", GUEST, "--cost"]) == FAILED
    *_, title, heads, cells, cycles, words, tables, proof = capsys.readouterr().out.splitlines()
    assert title.startswith(f"cost {value:,} (graphprover cost 2), about ") and title.endswith(" ms on one NVIDIA H200")
    assert heads.split() == ["class", "count", "weight", "cost", "share"]
    shares = [line.split() for line in (cells, cycles, words, tables, proof)]
    assert [share[0] for share in shares] == ["cells", "cycles", "words", "tables", "proof"]
    assert sum(int(share[3].replace(",", "")) for share in shares) == value


def test_a_run_above_the_limit_ends_the_command(value: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof"
    prove = ["prove", GUEST, "--exit-code", "any", "-o", str(proof)]
    for command in (["execute", GUEST], ["plan", GUEST], ["plan", GUEST, "--rate", "16"], prove):
        assert main([*command, "--max-cost", str(value - 1)]) == FAILED
        captured = capsys.readouterr()
        assert f"cost {value:,} (graphprover cost 2), and the limit is {value - 1:,}: not proven" in captured.err
        assert f"raise --max-cost to {value} or more" in captured.err
        assert captured.err.count("\n") == 1 and not captured.out
    assert not proof.exists()
    assert main([*prove, "--max-cost", str(value)]) == OK
    assert proof.exists()


def test_a_job_above_the_limit_fails_alone(value: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = tmp_path / "jobs.toml"
    jobs.write_text(
        f'[defaults]\nprogram = "{GUEST}"\nexit_code = "any"\noutput = "{{name}}"\n'
        f'[[job]]\nname = "low"\nmax_cost = {value - 1}\n[[job]]\nname = "high"\nmax_cost = {value}\n'
    )
    assert main(["batch", str(jobs), "--json"]) == FAILED
    found = {job["name"]: job for job in json.loads(capsys.readouterr().out)["results"]}
    assert found["high"]["outcome"] == "made" and (tmp_path / "high").exists()
    assert found["low"]["outcome"] == "failed" and not (tmp_path / "low").exists()
    assert f"and the limit is {value - 1:,}" in found["low"]["error"]


def test_tables_have_no_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "examples/memory", "-o", str(tmp_path / "proof"), "--max-cost", "1"]) == USAGE
    assert "--max-cost: only for guests, and examples/memory is no guest" in capsys.readouterr().err
    jobs = tmp_path / "jobs.toml"
    jobs.write_text('[[job]]\nprogram = "examples/memory"\noutput = "proof"\nmax_cost = 1\n')
    assert main(["batch", str(jobs)]) == USAGE
    assert "max_cost: only for guests" in capsys.readouterr().err
