"""Proofs repeat the launches of earlier ones of their shape: tested without a GPU, by what reaches its driver.

A launch of a repetition is right if it is the one that a recording with the same words would make, because a recording
calls the operations themselves, and both allocate at the same addresses.
"""

import ctypes
import itertools
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from threading import Thread
from typing import Any

import dask
import numpy as np
import pytest

from graphprover import Statement, prove
from graphprover.device import DeviceLost
from graphprover.field import P
from graphprover.graphs.observer import timed
from graphprover.protocol.parameters import Parameters
from graphprover.runtime.settings import TAPES
from tests import fake_cupy
from tests.random_statements import random_statement

_START = 5  # the parameter of a search that is its first nonce
LOG_BATCH_ROWS = 6  # so that some tables have their own tasks


class Gpu:
    """A device by the fake CuPy."""

    def __init__(self, state: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        from graphprover.device.cuda import CudaDevice
        from graphprover.kernels.cuda import faults, launch, warm

        address = ctypes.cast(fake_cupy.LAUNCH, ctypes.c_void_p).value
        monkeypatch.setattr(launch, "driver_s_launch", lambda: address)
        monkeypatch.setattr(warm, "expect", lambda *_, **__: None)
        self.state, self.faults, self.launch = state, faults, launch
        self.new_device = CudaDevice
        self.device = self.new()

    def new(self) -> Any:
        """Return another device, as of another process."""
        self.device = self.new_device()
        self.device.log_batch_rows = LOG_BATCH_ROWS
        return self.device

    def prove(self, statement: Statement, parameters: Parameters, seed: int) -> tuple[bytes, list[Any]]:
        """Return a proof whose words from the device come from this seed, and the launches and copies of the device."""
        self.state.begin(seed)
        proof = prove(statement, executor="sync", parameters=parameters, device=self.device)
        return proof.to_bytes(), self.state.done

    def counts(self) -> tuple[int, int, int]:
        """Return how many proofs were recorded, repeated, and others than the recorded one."""
        tapes = self.device.tapes
        return tapes.recorded, tapes.replayed, tapes.others


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Callable[[], AbstractContextManager[Gpu]]:
    """Return a context with a device as of a new process, whose addresses are the same each time."""
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))

    @contextmanager
    def gpu() -> Iterator[Gpu]:
        with fake_cupy.installed() as state, monkeypatch.context() as patch:
            yield Gpu(state, patch)

    return gpu


@pytest.fixture
def gpu(gpus: Callable[[], AbstractContextManager[Gpu]]) -> Iterator[Gpu]:
    with gpus() as made:
        yield made


def example(seed: int = 7, **size: Any) -> tuple[Parameters, Statement]:
    found: tuple[Parameters, Statement] = random_statement(seed, **{"tables": 3, "max_log_height": 9} | size)
    return found


def launches(gpu: Gpu, done: list[Any]) -> list[Any]:
    """Return the launches of taped operations: no proof repeats the rows it reads, or a second search for a nonce."""
    with gpu.device.task():
        gather = gpu.launch.kernels_of("gather.cu").kernel("gather", 0)
    taken = [one for one in done if one[0] == "launch" and one[1] != gather]
    return [one for one in taken if not (one[1] in gpu.state.grinding and one[-1][_START])]


def uploads(done: list[Any]) -> list[Any]:
    return [one for one in done if one[0] == "upload"]


@pytest.mark.parametrize("seed", range(12))
def test_a_repetition_launches_what_a_recording_would(
    seed: int, gpus: Callable[[], AbstractContextManager[Gpu]]
) -> None:
    parameters, statement = example(
        seed, tables=1 + seed % 4, max_log_height=3 + seed % 11, max_degree=1 + seed % 7, interactions=seed % 9
    )
    with gpus() as gpu:
        repeated = {words: gpu.prove(statement, parameters, words) for words in (1, 2, 3, 4)}
        assert gpu.counts() == (1, 2, 0)
    for words in (3, 4):
        with gpus() as gpu:
            gpu.prove(statement, parameters, 1)
            recorded, done = gpu.prove(statement, parameters, words)
            assert gpu.counts() == (1, 0, 0)
            proof, made = repeated[words]
            assert proof == recorded
            assert launches(gpu, made) == launches(gpu, done)
        again = set(uploads(made)) & set(uploads(done))
        assert len(again) > 1, "words are uploaded to the same addresses"


def test_tasks_without_words_are_not_run_again(gpu: Gpu) -> None:
    parameters, statement = example()
    for words in range(3):
        gpu.device.usage.clear()
        gpu.prove(statement, parameters, words)
        if words == 1:
            recorded = dict(gpu.device.usage)
    usage = gpu.device.usage
    assert "merkle_tree" in recorded and not {"merkle_tree", "fold_tree"} & set(usage)
    assert usage["replay"].calls > 5
    assert sum(one.launches for one in usage.values()) == sum(one.launches for one in recorded.values())


def test_observed_tasks_run_and_their_operations_are_repeated(gpu: Gpu) -> None:
    parameters, statement = example()
    device = gpu.device
    device.spans = lambda tasks: [(start, start) for start, _ in tasks]
    for words in range(2):
        gpu.prove(statement, parameters, words)
    expected, done = gpu.prove(statement, parameters, 5)
    with timed() as times:
        proof, seen = gpu.prove(statement, parameters, 5)
    assert proof == expected and gpu.counts() == (1, 2, 0)
    assert launches(gpu, seen) == launches(gpu, done)
    assert {"tree", "fri_tree", "quotient"} <= {one.round for one in times}


def test_traces_and_public_values_may_differ(gpu: Gpu) -> None:
    parameters, statement = example()
    for words in range(3):
        gpu.prove(statement, parameters, words)
    tables = [
        replace(
            table,
            main=np.roll(table.main, 1, axis=1),
            public_values=None if table.public_values is None else [(value + 1) % P for value in table.public_values],
        )
        for table in statement.tables
    ]
    other = Statement(tables, label="another")
    proof, done = gpu.prove(other, parameters, 9)
    assert gpu.counts() == (1, 2, 0)
    copies = {target for kind, target, *_ in done if kind == "copy"}
    assert len(copies) >= len(tables), "traces are at the addresses of the tape"
    with dask.config.set({TAPES: 0}):
        assert gpu.prove(other, parameters, 9)[0] == proof


def test_another_shape_between(gpu: Gpu) -> None:
    first, second = example(7), example(8, tables=2)
    expected = [gpu.prove(statement, parameters, 5)[0] for parameters, statement in (first, second)]
    for _ in range(3):
        found = [gpu.prove(statement, parameters, 5)[0] for parameters, statement in (first, second)]
        assert found == expected
    assert gpu.counts() == (2, 4, 0)


def test_a_proof_that_differs_goes_on_without_a_tape(gpu: Gpu, caplog: pytest.LogCaptureFixture) -> None:
    parameters, statement = example()
    expected = gpu.prove(statement, parameters, 5)[0]
    gpu.prove(statement, parameters, 5)
    (known,) = gpu.device.tapes._shapes.values()
    tape = known.tape
    place = next(i for i, one in enumerate(tape._operations) if one.function.__name__ == "_of_extensions")
    tape._operations[place] = replace(tape._operations[place], arguments=[1])
    with caplog.at_level(logging.WARNING):
        caplog.clear()
        proofs = [gpu.prove(statement, parameters, 5)[0] for _ in range(3)]
    assert proofs == [expected] * 3 and gpu.counts() == (1, 0, 1)
    warnings = [record.getMessage() for record in caplog.records if "repeats no earlier" in record.getMessage()]
    assert warnings == [
        f"graphprover: a proof repeats no earlier proof of its shape: operation {place}, _of_extensions, is another one"
    ]


def test_kernels_that_were_not_there_are_not_recorded(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphprover.kernels.cuda import bytecode

    parameters, statement = example()
    gpu.prove(statement, parameters, 1)
    evaluate = bytecode.evaluate

    def late(*arguments: Any) -> None:
        gpu.launch.count_interpreted()
        evaluate(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(bytecode, "evaluate", late)
        gpu.prove(statement, parameters, 2)
    assert gpu.counts() == (0, 0, 0)
    for words in (3, 4):
        gpu.prove(statement, parameters, words)
    assert gpu.counts() == (1, 1, 0)


def test_tapes_end_where_memory_does(gpu: Gpu) -> None:
    """An allocation for which there is no memory drops the tapes that no proof uses."""
    parameters, statement = example()
    expected = [gpu.prove(statement, parameters, words)[0] for words in (1, 2, 3)]
    memory = gpu.device.memory
    (known,) = gpu.device.tapes._shapes.values()
    arena = known.tape.arena
    assert arena.total_bytes() > 0 and arena.used_bytes() == 0
    memory.limit = memory.held() + (1 << 20)
    with gpu.device.task():
        assert memory.allocate((1 << 20) + arena.total_bytes() // 2)
    assert known.tape is None and arena.total_bytes() == 0
    memory.limit = memory.total
    assert [gpu.prove(statement, parameters, words)[0] for words in (1, 2, 3)] == expected
    assert gpu.counts() == (2, 3, 0)
    memory.trim(memory.total)
    assert known.tape is not None
    memory.trim()
    assert known.tape is None


def test_no_memory_for_a_recording(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof goes on without one."""
    parameters, statement = example()
    expected = gpu.prove(statement, parameters, 5)[0]
    for call in itertools.count(1, 7):
        left = call

        def limited(pool: Any, size: int, malloc: Any = fake_cupy.MemoryPool.malloc) -> Any:
            nonlocal left
            (known,) = gpu.device.tapes._shapes.values()
            if known.tape is not None and pool is known.tape.arena:
                left -= 1
                if not left:
                    raise MemoryError
            return malloc(pool, size)

        gpu.device.tapes.drop()
        with monkeypatch.context() as patch:
            patch.setattr(fake_cupy.MemoryPool, "malloc", limited)
            assert gpu.prove(statement, parameters, 5)[0] == expected
        if left > 0:
            break
        assert gpu.counts() == (0, 0, 0)
    assert gpu.counts() == (1, 0, 0) and call > 20


def test_a_launch_that_fails_names_its_task(gpu: Gpu) -> None:
    parameters, statement = example()
    places = set()
    for call in itertools.count(1, 5):
        gpu.new()
        for words in (1, 2):
            gpu.prove(statement, parameters, words)
        with gpu.faults.launch.at(call):
            try:
                gpu.prove(statement, parameters, 3)
            except DeviceLost as error:
                message = str(error)
            else:
                break
        place, _, rest = message.partition(": ")
        assert " of " in place and rest.startswith("GPU 0 failed and is lost to this process"), message
        places.add(place.partition(" of ")[0])
        with pytest.raises(DeviceLost, match="lost to this process"):
            gpu.prove(statement, parameters, 3)
    assert call > 50 and {"tree", "fri_tree", "quotient", "transcript"} <= places


@pytest.mark.parametrize("share", [0, 0.0, 1])
def test_no_tapes_without_room(share: float, gpu: Gpu) -> None:
    """A share of 1 is all memory; the integer 1 is one byte."""
    parameters, statement = example()
    with dask.config.set({TAPES: share}):
        proofs = {gpu.prove(statement, parameters, 5)[0] for _ in range(3)}
    assert len(proofs) == 1 and gpu.counts() == (0, 0, 0)


def test_the_tape_that_was_unused_for_longest_makes_room(gpu: Gpu) -> None:
    statements = [example(7), example(8, tables=2)]
    sizes = []
    for parameters, statement in statements:
        for words in range(2):
            gpu.prove(statement, parameters, words)
        sizes.append(gpu.device.tapes._shapes.copy().popitem()[1].bytes)
    gpu.new()
    with dask.config.set({TAPES: max(sizes) + min(sizes) // 2}):
        for parameters, statement in statements:
            for words in range(3):
                gpu.prove(statement, parameters, words)
        first, second = gpu.device.tapes._shapes.values()
    assert first.tape is None and second.tape is not None and gpu.counts() == (2, 2, 0)


def test_a_tape_is_one_proof_s_at_a_time(gpu: Gpu) -> None:
    tapes, seen = gpu.device.tapes, []
    for _ in range(2):
        with tapes.proof("shape", 1):
            pass

    def other() -> None:
        with tapes.proof("shape", 1) as found:
            seen.append(found)

    with tapes.proof("shape", 1) as found:
        thread = Thread(target=other)
        thread.start()
        thread.join()
        assert not tapes.drop(), "a tape in use stays"
    assert found is not None and seen == [None]


def test_a_proof_that_fails_is_not_repeated(gpu: Gpu) -> None:
    tapes = gpu.device.tapes
    with tapes.proof("shape", 1):
        pass
    with pytest.raises(KeyError), tapes.proof("shape", 1) as found:
        assert found is not None
        raise KeyError
    (known,) = tapes._shapes.values()
    assert known.tape is None and not known.busy and gpu.counts() == (0, 0, 0)
