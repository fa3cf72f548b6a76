"""The pool of a GPU's memory grows, caches blocks, stays below its limit, and returns memory that others need."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cuda.test_resident import SPIN

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join([str(ROOT), *sys.path])
MIB = 1 << 20
alone = pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="needs all memory of the GPU")


@pytest.fixture(params=["rmm", "cupy"])
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a new pool, by RMM and by CuPy."""
    import cupy

    from graphprover.kernels.cuda.memory import Pool

    if request.param == "cupy":
        monkeypatch.setitem(sys.modules, "rmm", None)
        before = None
    else:
        rmm = pytest.importorskip("rmm")
        before = rmm.mr.get_per_device_resource(0)
        rmm.mr.set_per_device_resource(0, rmm.mr.CudaMemoryResource())
    try:
        with cupy.cuda.Device(0), cupy.cuda.Stream(non_blocking=True):
            made = Pool(0)
            assert made.name == request.param
            yield made
    finally:
        if before is not None:
            rmm.mr.set_per_device_resource(0, before)


def python(text: str, *arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Start another process."""
    return subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": PATH} | environment,
        capture_output=True,
        text=True,
    )


def test_it_starts_empty_grows_and_keeps(pool: Any) -> None:
    import cupy

    assert pool.held() == pool.reserved() == 0
    blocks = [pool.allocate(100 * MIB) for _ in range(3)]
    assert 300 * MIB <= pool.held() < 301 * MIB and pool.reserved() >= pool.held()
    kept = pool.reserved()
    del blocks
    for _ in range(3):
        cupy.cuda.get_current_stream().synchronize()
    assert pool.held() == 0 and pool.reserved() == kept
    again = pool.allocate(100 * MIB)
    assert pool.reserved() == kept, "what is there is given again"
    del again


def test_trim_gives_back_what_is_not_in_use(pool: Any) -> None:
    blocks = [pool.allocate(128 * MIB) for _ in range(4)]
    del blocks[1:]
    pool.trim()
    assert 128 * MIB <= pool.reserved() <= 256 * MIB and pool.held() >= 128 * MIB
    blocks.append(pool.allocate(256 * MIB))
    del blocks[:]
    pool.trim(keep=pool.reserved())
    assert pool.reserved() >= 384 * MIB
    pool.trim()
    assert pool.reserved() == pool.held() == 0


def test_trim_waits_for_the_streams_on_which_memory_was_freed(pool: Any) -> None:
    import cupy

    kernel = cupy.RawKernel(SPIN, "spin")
    kernel((1,), (1,), (np.int64(1),))
    block = pool.allocate(64 * MIB)
    kernel((1,), (1,), (np.int64(1 << 30),))
    cupy.cuda.runtime.memsetAsync(block.ptr, 1, 64 * MIB, cupy.cuda.get_current_stream().ptr)
    written = cupy.cuda.get_current_stream().record()
    del block
    assert not written.done
    pool.trim()
    assert written.done and pool.reserved() == 0


def test_no_more_than_the_limit_is_in_use(pool: Any) -> None:
    pool.limit = 100 * MIB
    block = pool.allocate(60 * MIB)
    with pytest.raises(MemoryError) as caught:
        pool.allocate(41 * MIB)
    assert str(caught.value) == (
        f"no {41 * MIB:,} bytes on the device, with {pool.held():,} bytes held of at most {100 * MIB:,}"
    )
    del block
    assert pool.allocate(100 * MIB).ptr


def test_the_peak_is_of_what_was_in_use(pool: Any) -> None:
    first = pool.allocate(10 * MIB)
    second = pool.allocate(20 * MIB)
    del first, second
    third = pool.allocate(5 * MIB)
    assert 30 * MIB <= pool.peak < 31 * MIB
    pool.reset()
    assert 5 * MIB <= pool.peak < 6 * MIB
    del third


TAKE = "import sys, cupy; cupy.cuda.runtime.malloc(int(sys.argv[1]))"


@alone
def test_another_process_can_have_what_was_given_back(pool: Any) -> None:
    import cupy

    free, _ = cupy.cuda.runtime.memGetInfo()
    size = free * 7 // 10
    block = pool.allocate(size)
    del block
    cupy.cuda.get_current_stream().synchronize()
    assert "MemoryAllocation" in python(TAKE, size).stderr
    pool.trim()
    assert cupy.cuda.runtime.memGetInfo()[0] > free - 64 * MIB
    assert python(TAKE, size).returncode == 0


def test_what_the_process_was_started_with_is_kept() -> None:
    pytest.importorskip("rmm")
    found = python(
        """
import cupy, rmm
foreign = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), 64 << 20, 128 << 20)
rmm.mr.set_per_device_resource(0, foreign)
from graphprover.device.cuda import device
memory = device(0).memory
assert rmm.mr.get_per_device_resource(0).get_upstream() is foreign
with device(0).task():
    block = cupy.empty(32 << 20, dtype=cupy.uint8)
    assert memory.held() == block.nbytes and memory.reserved() == foreign.pool_size() == 64 << 20
    memory.trim()
    assert memory.reserved() == 64 << 20
    try:
        cupy.empty(100 << 20, dtype=cupy.uint8)
    except MemoryError as error:
        assert "bytes held" in str(error)
    else:
        raise AssertionError("more than the foreign pool has")
from graphprover.kernels.cuda.memory import Pool
assert Pool(0).held() == block.nbytes, "another pool in this process has the same memory"
"""
    )
    assert found.returncode == 0, found.stderr


def test_a_gpu_that_fails_is_no_lack_of_memory() -> None:
    found = python(
        """
import time
import cupy
from graphprover.device import DeviceLost
from graphprover.device.cuda import device
bad = cupy.RawKernel('extern "C" __global__ void bad() { *(volatile int*)8 = 1; }', "bad")
try:
    with device(0).task():
        bad((1,), (1,), ())
        while True:
            time.sleep(0.1)
            cupy.empty(1 << 30, dtype=cupy.uint8)
except DeviceLost:
    print("lost")
"""
    )
    assert found.stdout.strip() == "lost", found.stderr


IDENTITY = "from graphprover.device.cuda import device; print(device(0).memory.identity)"


def test_a_gpu_is_the_same_by_any_number() -> None:
    import cupy

    from graphprover.device.choose import identities
    from graphprover.kernels.cuda.memory import identity

    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    numbers = range(cupy.cuda.runtime.getDeviceCount())
    names = visible.split(",") if visible else [str(number) for number in numbers]
    found = [python(IDENTITY, CUDA_VISIBLE_DEVICES=name).stdout.strip() for name in names]
    assert found == identities() == [identity(number) for number in numbers] and len(set(found)) == len(found)


KEEPER = """
import cupy
from graphprover.admission.admission import admitted
from graphprover.device.cuda import device
gpu = device(0)
with admitted(gpu, 1 << 20), gpu.task():
    cupy.empty(512 << 20, dtype=cupy.uint8)
print(gpu.memory.reserved(), flush=True)
input()
print(gpu.memory.reserved(), flush=True)
"""
WAITER = """
import dask
from graphprover.admission import admission, ledger
from graphprover.device.cuda import device
ledger.PATIENCE = 1e9
with dask.config.set({"graphprover.pool": 1 << 30}), admission.admitted(device(0), 800 << 20):
    print("admitted")
"""


def test_an_idle_process_gives_its_memory_to_one_that_waits(tmp_path: Path) -> None:
    """By the ledger: an idle process holds memory, and the other is admitted before its patience ends."""
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER],
        env=os.environ | {"PYTHONPATH": PATH, "TMPDIR": str(tmp_path), "XDG_RUNTIME_DIR": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert keeper.stdout is not None and keeper.stdin is not None
    try:
        assert int(keeper.stdout.readline()) >= 512 * MIB
        found = python(WAITER, TMPDIR=str(tmp_path), XDG_RUNTIME_DIR="")
        assert found.stdout.strip() == "admitted", found.stderr
        keeper.stdin.write("\n")
        keeper.stdin.flush()
        assert int(keeper.stdout.readline()) == 0
    finally:
        keeper.kill()
