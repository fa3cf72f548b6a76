"""Shards by a worker at fault: made again by others and blamed, whether they hold alone or not at all."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client

from graphprover import Prover, ShardedProof, Statement, VerificationError, observed, prove
from graphprover.runtime import settings
from graphprover.vm.program.io import INPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from tests.cluster import bad_workers, faults
from tests.cluster.conftest import SINGLE
from tests.cluster.processes import pids, workers
from tests.graphs.test_proof_graph import FEW
from tests.slow import slow_after
from tests.vm.assemble import CODE, Segment, elf, leave, li, words
from tests.vm.assemble import X as EXECUTABLE
from tests.vm.programs import X, Y

SECRET, OTHER = b"8 bytes.", b"others.."


@pytest.fixture(scope="module", autouse=True)
def patience() -> Iterator[None]:
    """A machine may be slow."""
    with dask.config.set({settings.WAIT: 200}):
        yield


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    with workers(2) as client:
        yield client


@pytest.fixture
def pair(shared: Client) -> Iterator[Client]:
    """Two workers, of which tests change one or both."""
    shared.run(faults.restore)
    yield shared
    shared.run(faults.restore)


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A guest that keeps its input in a register, and whose proof says nothing of it."""
    code = [*li(X, INPUT_BASE), Instruction(Op.LD, Y, X, imm=8), *(Instruction(Op.ADDI, 13, Y) for _ in range(40))]
    path = tmp_path_factory.mktemp("guest") / "silent.elf"
    path.write_bytes(elf([Segment(CODE, words([*code, *leave()]), EXECUTABLE)]))
    return path


def spoil(client: Client, change: Callable[..., None], *arguments: Any) -> None:
    """Have one worker do what was not asked for."""
    client.run(change, *arguments, workers=sorted(pids(client))[:1])


def test_shards_of_another_input_hold_alone_only(pair: Client, silent: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the proof says is the same, and no shard is wrong by itself."""
    guest = Prover(silent, security=20, executor=pair, shards=4)
    expected = Prover(silent, security=20, executor="sync", device="cpu", shards=4).prove(SECRET)
    spoil(pair, bad_workers.on_input, OTHER)
    made = guest.prove(SECRET)
    others = Prover(silent, security=20, executor="sync", device="cpu", shards=4).prove(OTHER)
    # Of two workers that differ, both may be right: each proof is true, as the program's input is private.
    assert made in (expected, others)
    # Dask may have a small shard finished by another worker than the one that has committed.
    assert re.search("the buses do not balance|differs from the commitment of", caplog.text)
    assert "commitments differ; finishing without tcp://" in caplog.text


@pytest.mark.parametrize(
    ("change", "arguments"), [(bad_workers.of_other_joint, ()), (bad_workers.of_other_traces, (1,))]
)
def test_shards_that_one_worker_makes_otherwise(
    pair: Client, statement: Statement, proof: ShardedProof, change: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    """Of other challenges, or, with what they have committed to, of other traces."""
    spoil(pair, change, *arguments)
    with observed() as seen:
        assert prove(statement, pair, parameters=FEW, shards=SINGLE) == proof
    assert len(seen) == 1


def test_swapped_shards_are_made_again(pair: Client, silent: Path) -> None:
    expected = Prover(silent, security=20, executor="sync", device="cpu", shards=4).prove(SECRET)
    spoil(pair, bad_workers.swapped)
    assert Prover(silent, security=20, executor=pair, shards=4).prove(SECRET) == expected


def test_workers_that_all_differ_are_named(pair: Client, statement: Statement) -> None:
    for flip, worker in enumerate(sorted(pids(pair)), 1):
        pair.run(bad_workers.of_other_traces, flip, workers=[worker])
    with pytest.raises(VerificationError, match=r"shard \d: .*, by tcp://"):
        prove(statement, pair, parameters=FEW, shards=SINGLE)


@pytest.mark.parametrize("task", ["commit", "finish"])
@pytest.mark.parametrize("kind", slow_after(1, [faults.NOTHING, faults.TEXT, faults.OBJECT, faults.CORRUPT]))
def test_another_worker_makes_what_one_does_not_return(
    pair: Client, statement: Statement, proof: ShardedProof, tmp_path: Path, kind: str, task: str
) -> None:
    spoil(pair, faults.returns, kind, (task,), tmp_path / "marker", False)
    assert prove(statement, pair, parameters=FEW, shards=SINGLE) == proof


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("commit", r"shard \d: the worker returned NoneType, which holds no commitment of a shard, by tcp://"),
        ("finish", r"shard \d: the worker returned NoneType, which holds no proof, by tcp://\S+ and by tcp://"),
    ],
)
def test_workers_that_return_nothing_are_named(
    pair: Client, statement: Statement, tmp_path: Path, task: str, message: str
) -> None:
    pair.run(faults.returns, faults.NOTHING, (task,), tmp_path / "marker", False)
    with pytest.raises(VerificationError, match=message):
        prove(statement, pair, parameters=FEW, shards=SINGLE)
