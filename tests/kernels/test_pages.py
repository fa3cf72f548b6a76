"""Pages of freed arrays serve later arrays of any sizes; the process has only as many as its arrays had at once."""

import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Barrier

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.examples import synthetic
from graphprover.kernels.cpu import pages
from graphprover.kernels.cpu.pages import HUGE
from graphprover.proving.prove import prove

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot move pages")


class Mapped:
    """The bytes that the module maps and unmaps."""

    fresh = 0
    back = 0


@pytest.fixture(autouse=True)
def mapped(monkeypatch: pytest.MonkeyPatch) -> Mapped:
    """Count bytes from a state without free pages on."""
    pages.trim()
    count, map_fresh, unmap = Mapped(), pages._map_fresh, pages._unmap

    def count_fresh(piece: pages._Piece) -> None:
        count.fresh += piece.size
        map_fresh(piece)

    def count_back(piece: pages._Piece) -> None:
        count.back += piece.size
        unmap(piece)

    monkeypatch.setattr(pages, "_map_fresh", count_fresh)
    monkeypatch.setattr(pages, "_unmap", count_back)
    return count


def array(huge: float) -> np.ndarray:
    """Return an array of as many huge pages."""
    return pages.empty(int(huge * HUGE), np.uint8)


def test_arrays_have_their_shape_and_type(mapped: Mapped) -> None:
    for shape, dtype in (((3, 1 << 20), np.uint64), (1 << 21, np.uint32), ((1 << 19, 4), np.uint64)):
        found = pages.empty(shape, dtype)
        assert found.shape == (shape if isinstance(shape, tuple) else (shape,)) and found.dtype == dtype
        assert found.flags.c_contiguous and found.flags.writeable and found.flags.aligned
        assert found.ctypes.data % HUGE == 0
    before = mapped.fresh
    assert pages.empty((3, 100)).shape == (3, 100)
    assert mapped.fresh == before, "small arrays are NumPy's"


def test_pages_of_freed_arrays_serve_smaller_and_larger_ones(mapped: Mapped) -> None:
    first = [array(3), array(5), array(0.9), array(1.5)]
    assert mapped.fresh == 10 * HUGE
    for some in first:
        some[:] = 1
    del first, some
    assert pages.kept() == 10 * HUGE
    for sizes in ((10,), (1, 9), (4, 4, 2), (2,) * 5, (7.5, 1.5)):
        now = [array(size) for size in sizes]
        for i, some in enumerate(now):
            some[:] = i
        assert [set(some[:: HUGE // 4].tolist()) for some in now] == [{i} for i in range(len(now))]
        del now, some
    assert (mapped.fresh, pages.kept()) == (10 * HUGE, 10 * HUGE)
    whole = array(12)
    assert (mapped.fresh, pages.kept()) == (12 * HUGE, 0), "fresh pages are only what the free ones lack"
    whole[:] = 1


def test_a_view_keeps_the_memory_of_its_array(mapped: Mapped) -> None:
    view = array(2).reshape(2, -1)[1, 5:7]
    view[:] = 7
    array(2)[:] = 9
    assert view.tolist() == [7, 7] and mapped.fresh == 4 * HUGE


def take_and_free(seed: int, steps: int, begin: Callable[[], object]) -> int:
    """Make and free arrays in a random order, and check what is in them; return the most huge pages at once."""
    random, live, most = Random(seed), list[tuple[np.ndarray, int]](), 0
    begin()
    for step in range(steps):
        if random.random() < 0.55 or not live:
            one = array(random.choice((1, 1, 2, 3, 5, 8)))
            one[:: HUGE // 8] = number = (64 * seed + step) % 256
            live.append((one, number))
            most = max(most, sum(len(one) // HUGE for one, _ in live))
        else:
            one, number = live.pop(random.randrange(len(live)))
            assert set(one[:: HUGE // 8].tolist()) == {number}
        del one
    assert all(set(one[:: HUGE // 8].tolist()) == {number} for one, number in live)
    return most


def test_fresh_pages_are_as_many_as_all_arrays_had_at_once(mapped: Mapped) -> None:
    most = take_and_free(0, 400, lambda: None)
    assert mapped.fresh == pages.kept() == most * HUGE


def test_threads_share_the_pages() -> None:
    barrier = Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        most = sum(pool.map(lambda seed: take_and_free(seed, 100, barrier.wait), range(4)))
    assert 0 < pages.kept() <= most * HUGE


def test_a_second_proof_takes_no_fresh_pages(mapped: Mapped) -> None:
    statement = synthetic.statement(14, width=20, interactions=4)
    device = CpuDevice(1)
    proofs, fresh = [], []
    for _ in range(3):
        proofs.append(prove(statement, executor="sync", device=device).payload)
        fresh.append(mapped.fresh)
    assert fresh[0] > 4 * HUGE and fresh[2] == fresh[1] == fresh[0]
    assert proofs[0] == proofs[1] == proofs[2]


def test_the_system_may_take_free_pages() -> None:
    """They are lazily freed: memory that the system takes when it needs some."""
    rollup = Path("/proc/self/smaps_rollup")
    if not rollup.exists():
        pytest.skip("this system does not tell")

    def lazily_freed() -> int:
        return 1024 * int(re.findall(r"LazyFree:\s+(\d+) kB", rollup.read_text())[0])

    whole, before = array(16), lazily_freed()
    whole[:] = 1
    del whole
    assert lazily_freed() - before == 16 * HUGE
    again = array(16)
    again[:] = 1
    assert lazily_freed() == before


def test_free_pages_count_as_free() -> None:
    memory = CpuDevice.memory
    whole = array(64)
    whole[:] = 1
    used = memory.held()
    del whole
    assert memory.held() <= used - 60 * HUGE


def test_trimmed_pages_go_back(mapped: Mapped) -> None:
    used, free = array(3), [array(4), array(5)]
    free.clear()
    used[:] = 1
    mapped.back = 0
    CpuDevice.memory.trim()
    assert (pages.kept(), mapped.back) == (0, 9 * HUGE)
    assert used.all() and array(9).size == 9 * HUGE


def test_the_smallest_pieces_beyond_a_number_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST", 2)
    several = [array(size) for size in (4, 2, 1, 3)]
    several.clear()
    assert pages.kept() == 7 * HUGE


def mapped_addresses() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * 4096


def test_without_memory_for_an_array_all_free_pages_go_back(monkeypatch: pytest.MonkeyPatch, mapped: Mapped) -> None:
    def fail(*arguments: object) -> None:
        raise MemoryError("none")

    before = mapped_addresses()
    several = [array(size) for size in (2, 2, 2)]
    several.clear()
    with monkeypatch.context() as patch:
        patch.setattr(pages, "_move", fail)
        whole = array(5)
        whole[:] = 1
    assert (pages.kept(), mapped.fresh) == (0, 11 * HUGE)
    del whole
    with monkeypatch.context() as patch:
        patch.setattr(pages, "_map_fresh", fail)
        with pytest.raises(MemoryError):
            array(6)
    assert pages.kept() == 0 and mapped_addresses() - before < HUGE


CHILD = """
import os, resource, sys
from graphprover.kernels.cpu import pages
used, free = pages.empty(1 << 21), pages.empty(1 << 20)
used[:] = 1
del free
pages._lock.acquire()  # as a thread of the parent may have it
child = os.fork()
if not child:
    os._exit(pages.kept() != 0 or not used.all() or pages.empty(1 << 20).size != 1 << 20)
pages._lock.release()
print(os.waitpid(child, 0)[1], pages.kept())
resource.setrlimit(resource.RLIMIT_AS, (1 << 40, resource.RLIM_INFINITY))
other = pages.empty(1 << 22)
del other
print(pages.kept())
LAST = pages.empty(1 << 20)  # there at the process's end
"""


def test_forked_processes_start_anew_and_addresses_with_a_limit_are_not_kept() -> None:
    run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == (f"0 {4 * HUGE}\n{4 * HUGE}\n", "")
