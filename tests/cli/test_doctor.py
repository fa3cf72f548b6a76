"""What a host has for proofs and guests."""

import json
from importlib import util
from typing import Any

import distributed
import pytest

from graphprover.cli import doctor
from graphprover.cli.main import main
from graphprover.runtime.errors import FAILED, OK
from graphprover.runtime.extras import install

Capture = pytest.CaptureFixture[str]


def found(arguments: list[str], capsys: Capture, code: int = OK) -> dict[str, dict[str, Any]]:
    """Return the findings by subject."""
    assert main(["doctor", "--json", *arguments]) == code
    said = json.loads(capsys.readouterr().out)
    assert said["proves"] == (code == OK)
    return {one["subject"]: one for one in said["findings"]}


def test_this_host_proves(capsys: Capture) -> None:
    here = found([], capsys)
    assert not any(one["remedy"] for one in here.values() if one["needed"])
    assert {"Python", "prover", "kernels", "GPU", "guests in C", "guests in Rust", "memory", "disk"} <= here.keys()
    assert main(["doctor"]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert sum("  ok: " in line or "  missing: " in line for line in lines) == len(here)
    wrong = sum(bool(one["remedy"]) for one in here.values())
    assert sum("  remedy: " in line for line in lines) == wrong == len(lines) - len(here)


def test_without_compilers_it_still_proves(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    here = found([], capsys)
    assert here["guests in C"]["remedy"].startswith("apt-get install gcc")
    assert here["guests in Rust"]["found"] == "no rustc and cargo" and "rust-src" in here["guests in Rust"]["remedy"]


def test_without_a_package_or_memory_it_does_not_prove(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    find = util.find_spec
    with monkeypatch.context() as patch:
        patch.setattr(doctor.util, "find_spec", lambda name: None if name == "numba" else find(name))
        here = found([], capsys, FAILED)
    assert here["prover"] == {"subject": "prover", "found": "no numba", "remedy": install("prover"), "needed": True}
    monkeypatch.setitem(doctor.LEAST_BYTES, "memory", 1 << 60)
    assert "--shards" in found([], capsys, FAILED)["memory"]["remedy"]


def test_the_versions_of_a_cluster(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(dask: str) -> dict[str, Any]:
        packages = {"python": "3.11", "dask": dask, "distributed": "1", "numpy": "2", "numba": None}
        return {"host": {}, "packages": packages}

    versions = {"client": answer("1"), "scheduler": answer("1"), "workers": {"tcp://a:1": answer("1")}}

    class Client:
        def __init__(self, address: str, timeout: int) -> None:
            assert address == "tcp://s:1"

        def __enter__(self) -> "Client":
            return self

        def __exit__(self, *of: object) -> None:
            pass

        def get_versions(self) -> dict[str, Any]:
            return versions

    monkeypatch.setattr(distributed, "Client", Client)
    assert (
        found(["--cluster", "tcp://s:1"], capsys)["cluster"]["found"]
        == "1 workers and the scheduler have equal versions"
    )
    versions["workers"]["tcp://a:1"] = answer("2")
    wrong = found(["--cluster", "tcp://s:1"], capsys)["cluster"]
    assert (wrong["found"], wrong["remedy"]) == ("tcp://a:1 has dask 2, not 1", "install equal versions")
