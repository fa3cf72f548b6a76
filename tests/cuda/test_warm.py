"""After `graphprover warm` a proof compiles nothing, and a proof waits for the compiler only where necessary."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover import prove
from graphprover.device import CpuDevice
from graphprover.kernels.cuda.source_cache import lookup_program, quotient_program
from tests.random_statements import random_statement

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
GUEST = "examples/guests/fib_iterative.elf"


def test_a_proof_compiles_nothing_that_was_warmed(tmp_path):
    """Except the table of the output, which depends on its length, and CuPy's kernels of single operations."""
    kept = tmp_path / "kept"
    environment = os.environ | {"CUPY_CACHE_DIR": str(kept), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}

    def run(*arguments):
        command = [sys.executable, "-m", "graphprover", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout

    assert "kernels for the GPU compiled" in run("warm", GUEST, "--device", "cuda")
    warmed = set(kept.iterdir())
    assert len(warmed) > 100
    assert "all kernels for the GPU were cached" in run("warm", GUEST, "--device", "cuda")
    assert set(kept.iterdir()) == warmed
    (tmp_path / "turns").write_bytes((1000).to_bytes(8, "little"))
    run("prove", GUEST, "--input", str(tmp_path / "turns"), "--device", "cuda", "-o", str(tmp_path / "proof"))
    ours = [file for file in set(kept.iterdir()) - warmed if {b"lookups", b"quotient"} & set(names(file))]
    assert len(ours) <= 2


@pytest.fixture
def device():
    from graphprover.device import cuda

    device = cuda.device(0)
    device.usage.clear()
    return device


def test_a_proof_whose_kernels_were_compiled_ahead_compiles_none(device):
    from graphprover.kernels.cuda import warm

    parameters, statement = random_statement(7001, tables=3)
    device.expect(statement.descriptions)
    warm.ahead(0).wait()
    prove(statement, executor="sync", parameters=parameters, device=device)
    assert device.usage["quotient"].launches
    assert not any(usage.missed or usage.interpreted for usage in device.usage.values())


def test_tables_are_interpreted_until_their_kernels_are_there(device, monkeypatch):
    """The bytes are equal, and the proof waits for no table's kernel."""
    from graphprover.kernels.cuda import warm

    parameters, statement = random_statement(7002, tables=3, interactions=8)
    expected = prove(statement, executor="sync", parameters=parameters, device=CpuDevice(1))
    monkeypatch.setattr(warm, "expect", lambda *_, **__: None)
    monkeypatch.setattr(warm, "expects", lambda text: True)
    assert prove(statement, executor="sync", parameters=parameters, device=device) == expected
    programs = {"quotient": quotient_program, "lookup_columns": lookup_program}
    tables = {
        "quotient": statement.descriptions,
        "lookup_columns": [air for air in statement.descriptions if air.lookups],
    }
    texts = {name: {text for air in tables[name] for text in program(air).texts} for name, program in programs.items()}
    for name, found in texts.items():
        assert device.usage[name].interpreted == len(tables[name]) <= len(found)
    monkeypatch.setattr(warm, "expects", lambda text: False)
    device.usage.clear()
    assert prove(statement, executor="sync", parameters=parameters, device=device) == expected
    for name, found in texts.items():
        assert device.usage[name].missed >= len(found) and not device.usage[name].interpreted


def test_an_error_of_the_compiler_names_the_table(device):
    from graphprover.kernels.cuda.launch import CompileError, compiled

    with device.task():
        wrong = compiled("wrong text of a table", "lookups of add, 76 columns")
        for _ in range(2):
            with pytest.raises(CompileError, match=r"lookups of add, 76 columns does not compile: .*wrong"):
                wrong.load()


def names(file):
    """Return the words in a file of machine code."""
    return re.findall(rb"[a-z_]+", file.read_bytes())
