"""Hazards of memory and streams: many proofs at once, little memory, garbage in every block, random frees.

In every case the bytes are the CPU's.
"""

import random
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import dask
import numpy as np
import pytest

from graphprover import Statement, prove
from graphprover.device import CpuDevice
from graphprover.examples.synthetic import table
from graphprover.field import P
from graphprover.graphs.planner.plan import make_plan
from graphprover.kernels.operands import Height
from graphprover.proof.proof import Proof
from graphprover.protocol.parameters import Parameters
from graphprover.prover.prepare import prepare
from graphprover.runtime.settings import TAPES
from tests.graphs.test_proof_graph import FEW
from tests.kernels.words import random_words
from tests.naive_device import NaiveDevice
from tests.random_statements import random_statement

THREADS = 8
MANY_TABLES = -1  # instead of a seed: 16 tables, small and large
SEEDS = (*range(20), MANY_TABLES)  # seeds of random statements
SPARE = (1.1, 1.25, 1.5, 2.0)  # multiples of the planned memory; the first sufficient one is used


@cache
def stated(seed: int) -> tuple[Parameters, Statement]:
    if seed == MANY_TABLES:
        return FEW, Statement([table(4 + height % 12, 15, 12, f"t{height}") for height in range(16)])
    return random_statement(seed, tables=1 + seed % 2, max_log_height=3 + seed % 8, max_width=8)


def proved(seed: int, device: Any) -> Proof:
    parameters, statement = stated(seed)
    return prove(statement, executor="sync", parameters=parameters, device=device)


@cache
def expected(seed: int) -> Proof:
    """Return the CPU's proof."""
    return proved(seed, CpuDevice(1))


@cache
def _device() -> Any:
    from graphprover.device.cuda import CudaDevice

    return CudaDevice(0)


@pytest.fixture
def device() -> Any:
    """Return a GPU for these tests only."""
    return _device()


@contextmanager
def memory(device: Any, other: Any) -> Iterator[None]:
    """Let the device allocate memory from another source."""
    before, device.memory = device.memory, other
    try:
        yield
    finally:
        device.memory = before


class Elsewhere:
    """A stand-in for the device's memory in admission, with enough memory."""

    identity, keeps, total = "elsewhere", False, 1 << 40


class Limited(Elsewhere):
    """A separate pool of at most ``limit`` bytes."""

    def __init__(self, kind: str, limit: int) -> None:
        if kind == "cupy":
            import cupy

            pool = cupy.cuda.MemoryPool()
            pool.set_limit(size=limit)
            self.allocate, self.held = pool.malloc, pool.used_bytes
        else:
            rmm = pytest.importorskip("rmm")
            from rmm.allocators.cupy import rmm_cupy_allocator

            size = -(-limit // 256) * 256
            resource = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), size, size)
            counting = rmm.mr.StatisticsResourceAdaptor(resource)
            self.held = lambda: counting.allocation_counts.current_bytes

            def allocate(size: int) -> Any:
                before = rmm.mr.get_per_device_resource(0)
                rmm.mr.set_per_device_resource(0, counting)
                try:
                    return rmm_cupy_allocator(size)
                finally:
                    rmm.mr.set_per_device_resource(0, before)

            self.allocate = allocate


class Garbage(Elsewhere):
    """The device's memory, with every block filled with garbage at its allocation and again when it is freed.

    Both fills are enqueued on the stream of the allocation, on which the block's next owner may begin to write. Some
    blocks are freed late and out of order, and unused blocks are allocated in between, so that addresses change owners.
    """

    KEPT = 40

    def __init__(self, device: Any, seed: int) -> None:
        self._device, self._inner = device.number, device.memory
        self._random = random.Random(seed)
        self._late: list[Any] = []

    def held(self) -> int:
        return self._inner.held()

    def allocate(self, size: int) -> Any:
        import cupy

        if self._random.random() < 0.2:
            self._inner.allocate(self._random.randrange(1, 1 << 16))
        block = self._inner.allocate(size)
        if not size:
            return block
        stream = cupy.cuda.get_current_stream().ptr
        cupy.cuda.runtime.memsetAsync(block.ptr, self._random.randrange(256), size, stream)
        owner = _Owner()
        weakref.finalize(owner, self._give_back, block, size, stream).atexit = False
        return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(block.ptr, size, owner, self._device), 0)

    def _give_back(self, block: Any, size: int, stream: int) -> None:
        import cupy

        cupy.cuda.runtime.memsetAsync(block.ptr, self._random.randrange(256), size, stream)
        if self._random.random() < 0.5:
            self._late.append(block)
        if len(self._late) > self.KEPT:
            del self._late[self._random.randrange(self.KEPT // 2)]


class _Owner:
    """The owner of an array's block: its end frees the block."""


@pytest.fixture
def no_tapes() -> Iterator[None]:
    """Turn off tapes, whose memory is another pool's."""
    with dask.config.set({TAPES: 0}):
        yield


@pytest.mark.gpu
def test_many_proofs_at_once(device: Any) -> None:
    seeds = random.Random(1).sample(SEEDS * 2, 2 * len(SEEDS))
    with ThreadPoolExecutor(THREADS) as pool:
        proofs = list(pool.map(lambda seed: proved(seed, device), seeds))
    assert [seed for seed, proof in zip(seeds, proofs, strict=True) if proof != expected(seed)] == []


@pytest.mark.gpu
@pytest.mark.usefixtures("no_tapes")
@pytest.mark.parametrize("kind", ["cupy", "rmm"])
def test_hardly_more_memory_than_planned(kind: str, device: Any) -> None:
    parameters, statement = stated(MANY_TABLES)
    assert proved(MANY_TABLES, device) == expected(MANY_TABLES)  # the limit does not include tables cached by size
    planned = make_plan(prepare(statement, parameters=parameters).layout, device.log_batch_rows).peak_bytes(1)
    with memory(device, Limited(kind, planned // 4)), pytest.raises(MemoryError, match=r"^\w+ of "):
        proved(MANY_TABLES, device)
    for spare in SPARE:
        with memory(device, Limited(kind, int(planned * spare))):
            try:
                proof = proved(MANY_TABLES, device)
            except MemoryError:
                continue
            assert proof == expected(MANY_TABLES)
            assert proved(MANY_TABLES, device) == proof, "with memory that was used before"
            return
    pytest.fail(f"{SPARE[-1]} times the planned {planned:,} bytes do not suffice")


@pytest.mark.gpu
@pytest.mark.usefixtures("no_tapes")
def test_garbage_is_there(device: Any) -> None:
    import cupy

    with memory(device, Garbage(device, 1)), device.task():
        filled = {bytes(cupy.empty(64, dtype=cupy.uint8).get()) for _ in range(40)}
    assert all(len(set(bytes_)) == 1 for bytes_ in filled) and len(filled) > 10


@pytest.mark.gpu
@pytest.mark.usefixtures("no_tapes")
@pytest.mark.parametrize("seed", SEEDS)
def test_garbage_in_every_block(seed: int, device: Any) -> None:
    for garbage in range(3):
        with memory(device, Garbage(device, garbage)):
            assert proved(seed, device) == expected(seed), f"statement {seed}, garbage {garbage}"


@pytest.mark.gpu
@pytest.mark.usefixtures("no_tapes")
def test_garbage_in_every_block_of_many_proofs_at_once(device: Any) -> None:
    with memory(device, Garbage(device, 7)), ThreadPoolExecutor(THREADS) as pool:
        proofs = list(pool.map(lambda seed: proved(seed, device), SEEDS))
    assert [seed for seed, proof in zip(SEEDS, proofs, strict=True) if proof != expected(seed)] == []


def operations(device: Any, seed: int, max_log_height: int = 10) -> list[tuple[str, np.ndarray]]:
    """Return the results of a device's operations for random shapes and words, on the host."""
    rng = random.Random(seed)
    found: list[tuple[str, np.ndarray]] = []

    def words(*shape: int) -> Any:
        return device.load(random_words(rng.randrange(1 << 32), *shape))

    def element() -> tuple[int, int, int]:
        return rng.randrange(P), rng.randrange(P), rng.randrange(P)

    def note(name: str, value: Any) -> None:
        found.append((name, np.array(value.get() if hasattr(value, "get") else value)))

    with device.task():
        log_blowup = rng.randint(1, 3)
        log_heights = sorted(rng.choices(range(max_log_height + 1), k=4), reverse=True)
        matrices = device.extend([words(rng.randint(1, 40), 1 << log) for log in log_heights], log_blowup)
        log_chunks = [rng.randint(0, 3) for _ in log_heights]
        quotients = [words(3, 1 << log + more) for log, more in zip(log_heights, log_chunks, strict=True)]
        matrices += device.extend_chunks(quotients, log_chunks, log_blowup)
        for matrix in matrices:
            note("extension", matrix)
        hash = rng.choice(("keccak", "blake3"))
        tree = device.merkle_tree(matrices, rng.randint(0, log_heights[-1] + log_blowup), hash)
        leaves = 1 << log_heights[0] + log_blowup
        note("cap", list(b"".join(device.cap(tree))))
        indices = np.array([rng.randrange(leaves) for _ in range(rng.randint(1, 20))])
        blocks = [[(matrix, indices % matrix.shape[1]) for matrix in matrices]]
        (rows,), (nodes,) = device.gather(blocks, [(tree, leaves + indices)])
        note("rows", rows)
        note("nodes", nodes)

        matrix, log_height, points = matrices[0], log_heights[0], [element() for _ in range(rng.randint(1, 2))]
        weights = device.interpolation_weights([(log_height, point) for point in points])
        values = device.evaluate([matrix], [weights])
        note("values", values[0])
        inverses = device.inverse_denominators([(log_height, point) for point in points])
        quotients = device.reduced_openings([Height([matrix], values, [rng.randint(0, 9)], inverses)], element())
        quotients += [words(3, 1 << log_height) for _ in range(rng.randint(0, 2))]
        [codeword] = device.extend_chunks([device.sum_vectors(quotients)], [0], log_blowup)
        note("codeword", codeword)

        log_arity = rng.randint(1, min(4, log_height + log_blowup - 1))
        groups = device.fold_tree(codeword, log_arity, rng.randint(0, log_height + log_blowup - log_arity), hash)
        note("cap of groups", list(b"".join(device.cap(groups))))
        joining = words(3, leaves >> log_arity) if rng.random() < 0.5 else None
        note("fold", device.fold(codeword, log_arity, element(), joining))
        short = words(3, 1 << rng.randint(log_blowup, log_blowup + max_log_height // 2))
        note("final polynomial", device.final_polynomial(short, short.shape[1].bit_length() - 1 - log_blowup))
        note("nonce", device.grind(rng.randbytes(32), rng.randint(0, 12), hash))
    return found


def differing(ours: list[tuple[str, np.ndarray]], theirs: list[tuple[str, np.ndarray]]) -> list[str]:
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    return [name for (name, a), (_, b) in zip(ours, theirs, strict=True) if not np.array_equal(a, b)]


def test_operations_of_the_cpu_are_those_of_the_definitions() -> None:
    for seed in range(4):
        assert differing(operations(CpuDevice(2), seed, 3), operations(NaiveDevice(), seed, 3)) == [], f"seed {seed}"


@pytest.mark.gpu
@pytest.mark.usefixtures("no_tapes")
def test_operations_while_others_prove(device: Any) -> None:
    stop, wrong = threading.Event(), []

    def others() -> None:
        while not stop.is_set():
            seed = random.choice(SEEDS)
            if proved(seed, device) != expected(seed):
                wrong.append(seed)

    with memory(device, Garbage(device, 3)), ThreadPoolExecutor(2) as pool:
        running = [pool.submit(others) for _ in range(2)]
        try:
            for seed in range(60):
                assert differing(operations(device, seed), operations(CpuDevice(1), seed)) == [], f"seed {seed}"
        finally:
            stop.set()
        for future in running:
            future.result()
    assert wrong == []
