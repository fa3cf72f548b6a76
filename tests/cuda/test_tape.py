"""Proofs that repeat an earlier one on a GPU have the bytes of other proofs."""

import gc
import itertools
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import dask
import numpy as np
import pytest

from graphprover import Statement, observed, prove, verify
from graphprover.device import CpuDevice, DeviceLost
from graphprover.examples import keccak, memory, synthetic
from graphprover.field import P
from graphprover.kernels.cuda import faults
from graphprover.runtime.settings import TAPES
from tests.graphs.test_proof_graph import FEW, example
from tests.random_statements import random_statement
from tests.test_counts import guest
from tests.trace_tasks import as_trace_tasks

pytestmark = pytest.mark.gpu

SHORT = replace(FEW, log_final_poly_len=0)  # for tables of any height
PROOFS = 4  # of a shape: without a tape, recorded, repeated, repeated
MIB = 1 << 20

STATEMENTS: dict[str, Callable[[], Statement]] = {
    "keccak": partial(example, keccak),
    "memory": partial(example, memory),
    "many tables": lambda: random_statement(3, tables=20)[1],
    "high degree": lambda: random_statement(5, tables=3, max_log_height=12, max_degree=7)[1],
    "trace tasks": lambda: as_trace_tasks(random_statement(7, tables=2)[1]),
    "a table with its own tasks": partial(synthetic.statement, 19, 40, 8),
    "fib": partial(guest, "fib_iterative", struct.pack("<Q", 300)),
    "sha256": partial(guest, "sha256", b"abc"),
    "keccak in a guest": partial(guest, "keccak", b"abc"),
}


@pytest.fixture
def device() -> Any:
    """Return a device of its own, whose tapes are empty."""
    from graphprover.device.cuda import CudaDevice

    return CudaDevice()


def made(statement: Statement, device: Any, **options: Any) -> bytes:
    return prove(statement, executor="sync", device=device, **({"parameters": SHORT} | options)).to_bytes()


def eager(statement: Statement, device: Any, **options: Any) -> bytes:
    """Return the proof that no tape makes, once all its kernels are compiled."""
    from graphprover.kernels.cuda import warm

    with dask.config.set({TAPES: 0}):
        proof = made(statement, device, **options)
    warm.ahead(device.number).wait()
    return proof


def counts(device: Any) -> tuple[int, int, int]:
    """Return how many proofs were recorded, repeated, and others than the recorded one."""
    return device.tapes.recorded, device.tapes.replayed, device.tapes.others


@pytest.mark.parametrize("name", STATEMENTS)
def test_bytes(name: str, device: Any) -> None:
    statement = STATEMENTS[name]()
    expected = eager(statement, device)
    with dask.config.set({TAPES: 0.5}):
        for _ in range(PROOFS):
            device.usage.clear()
            assert made(statement, device) == expected
    assert counts(device) == (1, 2, 0)
    assert device.usage["replay"].calls and "merkle_tree" not in device.usage
    verify(prove(statement, executor="sync", parameters=SHORT, device=device), statement, security=0)


@pytest.mark.parametrize("hash", ["keccak", "blake3"])
def test_parameters_of_a_level(hash: str, device: Any) -> None:
    """With the grinding and the folds of real proofs, which take the chosen hash."""
    statement = guest("fib_iterative", struct.pack("<Q", 10_000))
    level = {"parameters": None, "hash": hash}
    expected = eager(statement, device, **level)
    for _ in range(PROOFS):
        assert made(statement, device, **level) == expected
    assert counts(device) == (1, 2, 0)
    verify(prove(statement, executor="sync", device=device, hash=hash), statement)


def test_random_statements(device: Any) -> None:
    for seed in range(30):
        size = {"tables": 1 + seed % 4, "max_log_height": 3 + seed % 9, "max_degree": 1 + seed % 7}
        parameters, statement = random_statement(seed, **size)
        expected = made(statement, CpuDevice(1), parameters=parameters)
        assert eager(statement, device, parameters=parameters) == expected
        for _ in range(PROOFS):
            assert made(statement, device, parameters=parameters) == expected
    assert counts(device) == (30, 60, 0)


def test_runs_with_other_inputs(device: Any) -> None:
    runs = [guest("sha256", text) for text in (b"abc", b"bcd", b"xyz", b"xya", b"abc")]
    expected = [eager(run, device) for run in runs]
    assert [made(run, device) for run in runs] == expected and len(set(expected)) == 4
    assert counts(device) == (1, 3, 0)


def test_other_traces_and_public_values(device: Any) -> None:
    """The proofs do not verify, but have the bytes of those without a tape."""
    _, statement = random_statement(7, tables=3)

    def other(shift: int) -> Statement:
        tables = []
        for table in statement.tables:
            values = [(value + shift) % P for value in table.public_values or ()]
            main = np.roll(np.asarray(table.main), shift, axis=1)
            tables.append(replace(table, main=main, public_values=values))
        return Statement(tables, label=f"shifted by {shift}")

    others = [other(shift) for shift in range(5)]
    expected = [eager(one, device) for one in others]
    assert [made(one, device) for one in others] == expected
    assert counts(device) == (1, 3, 0)


def test_traces_on_the_host_and_on_the_device(device: Any) -> None:
    import cupy

    _, here = random_statement(7, tables=3)
    there = Statement([replace(table, main=cupy.asarray(np.asarray(table.main))) for table in here.tables], here.label)
    cupy.cuda.get_current_stream().synchronize()
    expected = eager(here, device)
    assert [made(one, device) for one in (here, there, here, there, here)] == [expected] * 5
    assert counts(device) == (1, 3, 0)


def test_other_shapes_between(device: Any) -> None:
    some = [random_statement(seed, tables=3)[1] for seed in range(5)]
    expected = [eager(one, device) for one in some]
    for _ in range(PROOFS):
        assert [made(one, device) for one in some] == expected
    assert counts(device) == (5, 10, 0)


def test_observed_proofs_have_all_tasks(device: Any) -> None:
    statement = example(keccak)
    expected = eager(statement, device)
    assert [made(statement, device) for _ in range(PROOFS)] == [expected] * PROOFS
    device.usage.clear()
    with observed() as seen:
        assert made(statement, device) == expected
    (one,) = seen
    assert {"extend_main", "tree", "fri_tree", "quotient"} <= {task.round for task in one.tasks}
    assert sum(task.launches for task in one.tasks) == sum(usage.launches for usage in device.usage.values()) > 0
    assert counts(device) == (1, 3, 0)


def test_memory_that_others_need(device: Any) -> None:
    """An allocation without memory drops the tapes, and so does a trimmed pool; both are recorded again."""
    statement = example(keccak)
    expected = eager(statement, device)
    assert [made(statement, device) for _ in range(3)] == [expected] * 3
    pool, shapes = device.memory, device.tapes._shapes
    (known,) = shapes.values()
    arena = known.bytes
    assert arena > MIB and pool.held() >= arena
    pool.limit = pool.held() + MIB
    with device.task():
        block = pool.allocate(MIB + arena // 2)
    assert known.tape is None
    del block
    pool.limit = pool.total
    assert [made(statement, device) for _ in range(3)] == [expected] * 3
    assert known.tape is not None
    pool.trim()
    assert known.tape is None
    assert [made(statement, device) for _ in range(3)] == [expected] * 3
    assert counts(device) == (3, 5, 0)


def test_a_pool_without_room_for_tapes(device: Any) -> None:
    statement = example(keccak)
    with dask.config.set({TAPES: MIB}):
        assert len({made(statement, device) for _ in range(PROOFS)}) == 1
    with dask.config.set({TAPES: 0}):
        assert len({made(statement, device) for _ in range(PROOFS)}) == 1
    assert counts(device) == (0, 0, 0)


def test_threads_that_prove_at_the_same_time(device: Any) -> None:
    some = [random_statement(seed, tables=3)[1] for seed in (1, 2)]
    expected = [eager(one, device) for one in some]

    def one(number: int) -> bool:
        return made(some[number % 2], device) == expected[number % 2]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(40)))
    assert counts(device)[1] > 0 and counts(device)[2] == 0


def test_a_device_is_lost_at_any_launch(device: Any) -> None:
    _, statement = random_statement(7, tables=2)
    expected = eager(statement, device)
    for call in itertools.count(1, 31):
        gpu = type(device)()
        assert [made(statement, gpu) for _ in range(2)] == [expected] * 2
        with faults.launch.at(call):
            try:
                proof = made(statement, gpu)
            except DeviceLost as error:
                message = str(error)
            else:
                assert proof == expected and counts(gpu) == (1, 1, 0)
                break
        place, _, rest = message.partition(": ")
        assert " of " in place and rest.startswith("GPU 0 failed and is lost to this process"), message
        with pytest.raises(DeviceLost, match="lost to this process"):
            made(statement, gpu)
    assert call > 40


@pytest.mark.parametrize("before", [0, 1], ids=["recorded", "repeated"])
def test_no_memory_at_any_allocation(before: int, device: Any) -> None:
    """A tape gives its memory up for an allocation of the proof, which otherwise fails as without a tape."""
    _, statement = random_statement(7, tables=2)
    expected = eager(statement, device)
    for call in itertools.count(1):
        device.tapes.drop()
        for _ in range(before):
            made(statement, device)
        with faults.allocation.at(call):
            try:
                proof = made(statement, device)
            except MemoryError as error:
                place, _, rest = str(error).partition(": ")
                assert " of " in place and rest.startswith("no ") and rest.endswith(" bytes held"), str(error)
            else:
                assert proof == expected
            unreached = faults.allocation.armed
        gc.collect()
        if unreached:
            break
    assert counts(device)[2] == 0
    assert made(statement, device) == expected
