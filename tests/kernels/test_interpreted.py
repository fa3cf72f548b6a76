"""A proof whose tables' kernels are still compiled launches the interpreters: tested without a GPU, by its launches."""

import ctypes
import hashlib
from collections import Counter
from typing import Any

import pytest

from graphprover import prove
from graphprover.kernels.cuda.sources import source
from tests import fake_cupy
from tests.random_statements import random_statement


def number_of(kernel: str) -> int:
    """Return the function of a kernel of bytecode.cu, as of the fake CuPy."""
    return int.from_bytes(hashlib.sha256(f"{kernel}\n{source('bytecode.cu')}".encode()).digest()[:6], "big")


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """Return a function that makes a proof, as in a new process; it returns the launches by function, and usage."""
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))

    def made(statement: Any, parameters: Any, *, expected: bool, steps: int) -> tuple[Counter[int], dict[str, Any]]:
        with fake_cupy.installed() as state, monkeypatch.context() as patch:
            from graphprover.device.cuda import CudaDevice
            from graphprover.kernels.cuda import bytecode, launch, warm

            address = ctypes.cast(fake_cupy.LAUNCH, ctypes.c_void_p).value
            patch.setattr(launch, "driver_s_launch", lambda: address)
            patch.setattr(warm, "expect", lambda *_, **__: None)
            patch.setattr(warm, "expects", lambda text: expected)
            patch.setattr(bytecode, "_WORTH_WAITING", steps)
            device = CudaDevice()
            prove(statement, executor="sync", parameters=parameters, device=device)
            return Counter(entry[1] for entry in state.done if entry[0] == "launch"), device.usage

    return made


def test_lookups_and_quotients_are_interpreted_while_their_kernels_are_compiled(proved: Any) -> None:
    parameters, statement = random_statement(7002, tables=3, interactions=8)
    tables = len(statement.descriptions)
    with_lookups = sum(bool(air.lookups) for air in statement.descriptions)
    assert with_lookups
    for expected, steps in ((True, 1 << 34), (True, 0), (False, 1 << 34)):  # not if it is faster to wait
        interpreted = expected and steps > 0
        launched, usage = proved(statement, parameters, expected=expected, steps=steps)
        assert launched[number_of("interpret_lookups")] == with_lookups * interpreted
        assert launched[number_of("interpret")] == tables * interpreted
        assert usage["lookup_columns"].interpreted == with_lookups * interpreted
        assert usage["quotient"].interpreted == tables * interpreted
