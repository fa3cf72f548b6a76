"""`graphprover jobs` with a service whose jobs are ended by the tests."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.service import client as of_client
from graphprover.service.tokens import digest_of
from tests.service.quiet import Quiet, config_in, served

GUEST = Path(__file__).parents[2] / "examples/guests/fib_iterative.elf"
TOKEN = "token of alice"
SAYS = {"output": {"hex": "6869", "bytes": 2}, "exit_code": 7, "cycles": 1234567, "input": None}
CLAIM = {"says": SAYS, "security_bits": 128, "parameters": {"log_blowup": 3, "hash": "blake3"}}
REPORT = {
    "seconds": {"prepare": 1.5, "prove": 0.5},
    "compile_seconds": 1.0,
    "cycles": 1234567,
    "cells": 4321,
    "cost": 98765,
    "peak_bytes": 5 << 20,
    "worker": None,
}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Quiet]:
    """Return a service with a token, which the command finds in the environment."""
    monkeypatch.chdir(tmp_path)
    with served(config_in(tmp_path / "service", tokens={"alice": digest_of(TOKEN)})) as found:
        monkeypatch.setenv("GRAPHPROVER_URL", f"http://127.0.0.1:{found.port}")
        monkeypatch.setenv("GRAPHPROVER_TOKEN", TOKEN)
        yield found


def submitted(service: Quiet, **options: Any) -> str:
    client = service.client(TOKEN)
    id: str = client.submit(client.upload_program(GUEST), **options)["id"]
    return id


def done(service: Quiet, **options: Any) -> str:
    """Return the id of a job that is done."""
    id = submitted(service, **options)
    row = service.queue.take("test")
    assert row and row.id == id
    service.store.save_proof(row.proof_key, b"proof", CLAIM, REPORT)
    assert service.queue.begin(row.number, "test", "") and service.queue.finish(row.number, "test")
    return id


def test_a_list_has_the_newest_jobs_of_many_answers(
    service: Quiet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_client, "MOST_LISTED", 2)
    assert main(["jobs", "list"]) == OK
    assert "no such job; all jobs: 0 queued" in capsys.readouterr().out
    ids = [submitted(service, name=f"job {number}", max_cycles=number + 1) for number in range(5)][::-1]
    for limit in (1, 4, 9):
        assert main(["jobs", "list", "--json", "--limit", str(limit)]) == OK
        found = json.loads(capsys.readouterr().out)
        assert [job["id"] for job in found["jobs"]] == ids[:limit] and found["counts"]["queued"] == 5
    assert main(["jobs", "list", "--name", "JOB 3", "--state", "queued", "--program", "fib"]) == OK
    _, row, total = capsys.readouterr().out.splitlines()
    assert row.split()[:4] == [ids[1], "queued", "job", "3"] and total.startswith("all jobs: 5 queued, 0 running")
    assert main(["jobs", "list", "--limit", "5"]) == OK and "--limit N lists more" in capsys.readouterr().out


def test_a_job_is_shown_fetched_and_reported(service: Quiet, capsys: pytest.CaptureFixture[str]) -> None:
    id = done(service, name="mine", rate=8)
    assert main(["jobs", "show", id]) == OK
    out = capsys.readouterr().out
    assert "state      done" in out and 'output     text "hi" (2 bytes)' in out and "exit code  7" in out
    assert "proof      5 bytes, 128 provable bits, rate 1/8, blake3" in out and "options    rate 8" in out
    assert main(["jobs", "show", id, "--json"]) == OK
    shown = json.loads(capsys.readouterr().out)
    assert shown["job"]["name"] == "mine" and shown["claim"]["says"] == SAYS and shown["jobs_before"] is None
    assert main(["jobs", "fetch", id, "-o", "proof"]) == OK and Path("proof").read_bytes() == b"proof"
    assert "not verified: graphprover verify proof GUEST.ELF" in capsys.readouterr().out
    assert main(["jobs", "fetch", id, "--json"]) == OK
    assert json.loads(capsys.readouterr().out) == {"job": id, "proof": {"file": "proof.bin", "bytes": 5}}
    assert main(["jobs", "report", id]) == OK
    out = capsys.readouterr().out
    assert "speed   1,234,567 cycles/s" in out and "memory  5 MiB" in out
    assert re.search(r"prepare +1\.500", out) and re.search(r"compiling kernels, once +1\.000", out)
    assert "cost    98,765" in out
    assert main(["jobs", "report", id, "--json"]) == OK
    assert json.loads(capsys.readouterr().out) == REPORT | {"cycles_per_second": 1234567.0}


def test_a_job_that_waits_is_shown_and_cancelled(service: Quiet, capsys: pytest.CaptureFixture[str]) -> None:
    submitted(service, max_cycles=1)
    id = submitted(service)
    assert main(["jobs", "show", id]) == OK and "queue     1 before it" in capsys.readouterr().out
    assert main(["jobs", "cancel", id]) == OK and capsys.readouterr().out == f"{id}: cancelled\n"
    assert main(["jobs", "fetch", id]) == FAILED
    assert capsys.readouterr().err == "graphprover: the job is cancelled (submit it again)\n"
    assert main(["jobs", "cancel", done(service, max_cycles=2, priority=9)]) == FAILED
    assert "the job is done already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "none"], FAILED, "there is no job none"),
        (["report", "0" * 32], FAILED, f"there is no job {'0' * 32}"),
        (["list", "--url", "nowhere"], USAGE, "--url: 'nowhere' is no URL"),
        (["list", "--token-file", "wrong"], FAILED, "no valid token (give the token with --token-file FILE"),
        (["list", "--token-file", "none"], USAGE, "none: No such file"),
        (["fetch", "0" * 32, "-o", "no/proof"], USAGE, "no/proof: "),
        (["list", "--url", "http://127.0.0.1:1"], FAILED, "is the service running?"),
    ],
)
def test_what_jobs_refuses(
    service: Quiet, arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("wrong").write_text("gp_wrong")
    assert main(["jobs", *arguments]) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["none"], ["show"], ["list", "--state", "no"], ["list", "--limit", "0"]])
def test_wrong_arguments_end_with_a_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["jobs", *arguments])
    assert ended.value.code == USAGE and capsys.readouterr().err.count("\n") == 1
