"""`graphprover warm` leaves nothing for a proof to compile, and a proof waits for the compiler where it must."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover import prove
from graphprover.device import CpuDevice
from graphprover.kernels.cuda.source_cache import quotient_program
from tests.random_statements import random_statement

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
GUEST = "examples/guests/fib_iterative.elf"


def test_a_proof_compiles_nothing_that_was_warmed(tmp_path):
    """But for the table of the output, which depends on its length, and CuPy's own kernels of single operations."""
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


def test_quotients_are_interpreted_until_their_kernels_are_there(device, monkeypatch):
    """The bytes are the same; lookups are waited for."""
    from graphprover.kernels.cuda import warm

    parameters, statement = random_statement(7002, tables=3, interactions=8)
    expected = prove(statement, executor="sync", parameters=parameters, device=CpuDevice(1))
    monkeypatch.setattr(warm, "expect", lambda *_, **__: None)
    monkeypatch.setattr(warm, "expects", lambda text: True)
    assert prove(statement, executor="sync", parameters=parameters, device=device) == expected
    texts = {text for air in statement.descriptions for text in quotient_program(air).texts}
    assert device.usage["quotient"].interpreted == len(statement.descriptions) <= len(texts)
    assert device.usage["lookup_columns"].missed and not device.usage["lookup_columns"].interpreted
    monkeypatch.setattr(warm, "expects", lambda text: False)
    device.usage.clear()
    assert prove(statement, executor="sync", parameters=parameters, device=device) == expected
    assert device.usage["quotient"].missed == len(texts) and not device.usage["quotient"].interpreted


def test_an_error_of_the_compiler_names_the_table(device):
    from graphprover.kernels.cuda.launch import CompileError, compiled

    with device.task():
        wrong = compiled("wrong text of a table", "lookups of add, 76 columns")
        for _ in range(2):
            with pytest.raises(CompileError, match=r"lookups of add, 76 columns does not compile: .*wrong"):
                wrong.load()


def names(file):
    """The words in a file of machine code."""
    return re.findall(rb"[a-z_]+", file.read_bytes())
