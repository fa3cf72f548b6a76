"""Shards of a worker at fault are retried on other workers, and the worker is named."""

import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from graphprover import Prover, ShardedProof, Statement, VerificationError, observed, prove
from graphprover.vm.program.io import INPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from tests.cluster import bad_workers, faults
from tests.cluster.conftest import SINGLE
from tests.cluster.processes import ROOT, pids
from tests.cluster.test_sharded import await_both
from tests.graphs.test_proof_graph import FEW
from tests.slow import slow_after
from tests.vm.assemble import CODE, Segment, elf, leave, li, words
from tests.vm.assemble import X as EXECUTABLE
from tests.vm.programs import X, Y

pytestmark = pytest.mark.usefixtures("patience")

GUEST, INPUT = ROOT / "examples/guests/fib_iterative.elf", bytes([0, 8, *6 * [0]])
SECRET, OTHER = b"8 bytes.", b"others.."


@pytest.fixture
def pair(pair: Client) -> Iterator[Client]:
    """Give two workers without faults, of which tests change one or both."""
    await_both(pair)
    pair.run(faults.restore)
    yield pair
    pair.run(faults.restore)


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a guest that has its input in a register, and whose proof does not state the input."""
    code = [*li(X, INPUT_BASE), Instruction(Op.LD, Y, X, imm=8), *(Instruction(Op.ADDI, 13, Y) for _ in range(40))]
    path = tmp_path_factory.mktemp("guest") / "silent.elf"
    path.write_bytes(elf([Segment(CODE, words([*code, *leave()]), EXECUTABLE)]))
    return path


def spoil(client: Client, change: Callable[..., None], *arguments: Any) -> None:
    """Make one worker faulty."""
    client.run(change, *arguments, workers=sorted(pids(client))[:1])


def test_shards_of_another_input_hold_alone_only(pair: Client, silent: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The proof's statement is the same, and each shard is valid by itself."""
    guest = Prover(silent, security=20, executor=pair, shards=4)
    expected = Prover(silent, security=20, executor="sync", device="cpu", shards=4).prove(SECRET)
    spoil(pair, bad_workers.on_input, OTHER)
    made = guest.prove(SECRET)
    others = Prover(silent, security=20, executor="sync", device="cpu", shards=4).prove(OTHER)
    # Of two workers that differ, either may be right: each proof is valid, as the program's input is private.
    assert made in (expected, others)
    # Dask may assign a small shard's second task to another worker than the first.
    assert re.search("the buses do not balance|differs from the commitment of", caplog.text)
    assert "commitments differ; finishing without tcp://" in caplog.text


@pytest.mark.parametrize(
    ("change", "arguments"), [(bad_workers.of_other_joint, ()), (bad_workers.of_other_traces, (1,))]
)
def test_shards_that_one_worker_makes_otherwise(
    pair: Client, statement: Statement, proof: ShardedProof, change: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    """The challenges are wrong, or the traces, also in the commitment."""
    spoil(pair, change, *arguments)
    with observed() as seen:
        assert prove(statement, pair, parameters=FEW, shards=SINGLE) == proof
    assert len(seen) == 1


def test_swapped_shards_are_made_again(pair: Client, silent: Path) -> None:
    expected = Prover(silent, security=20, executor="sync", device="cpu", shards=4).prove(SECRET)
    spoil(pair, bad_workers.swapped)
    # With a highest cost each worker runs the whole guest.
    made = Prover(silent, security=20, executor=pair, shards=4).prove(SECRET, max_cost=1 << 40)
    assert made == expected


@pytest.mark.parametrize(
    ("kind", "task"),
    slow_after(
        2,
        [
            (faults.NOTHING, "record"),
            (faults.CORRUPT, "lay_out"),
            *product((faults.NOTHING, faults.CORRUPT), ("commit", "finish")),
            (faults.CORRUPT, "record"),
            (faults.NOTHING, "lay_out"),
            *product((faults.TEXT, faults.OBJECT), faults.TASKS[2:]),
        ],
    ),
)
def test_another_worker_makes_what_one_does_not_return_of_a_run(
    pair: Client, tmp_path: Path, kind: str, task: str
) -> None:
    expected = Prover(GUEST, security=20, executor="sync", device="cpu", shards=4).prove(INPUT)
    spoil(pair, faults.returns, kind, (task,), tmp_path / "marker", False)
    assert Prover(GUEST, security=20, executor=pair, shards=4).prove(INPUT) == expected


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("record", r"shard \d: the worker returned NoneType, not Accesses, by tcp://"),
        ("lay_out", r"shard \d: the worker returned NoneType, which has no tables, by tcp://"),
    ],
)
def test_workers_that_return_no_window_are_named(
    pair: Client, silent: Path, tmp_path: Path, task: str, message: str
) -> None:
    pair.run(faults.returns, faults.NOTHING, (task,), tmp_path / "marker", False)
    with pytest.raises(VerificationError, match=message):
        Prover(silent, security=20, executor=pair, shards=4).prove(SECRET)


def test_wrong_times_of_one_worker(pair: Client, caplog: pytest.LogCaptureFixture) -> None:
    """Other workers' shards depend on them, so each worker runs the whole guest then."""
    expected = Prover(GUEST, security=20, executor="sync", device="cpu", shards=4).prove(INPUT)
    spoil(pair, bad_workers.of_other_times)
    assert Prover(GUEST, security=20, executor=pair, shards=4).prove(INPUT) == expected
    assert "the buses do not balance" in caplog.text and "; each worker runs the whole guest" in caplog.text


def test_workers_that_all_differ_are_named(pair: Client, statement: Statement) -> None:
    for flip, worker in enumerate(sorted(pids(pair)), 1):
        pair.run(bad_workers.of_other_traces, flip, workers=[worker])
    with pytest.raises(VerificationError, match=r"shard \d: .*, by tcp://"):
        prove(statement, pair, parameters=FEW, shards=SINGLE)


@pytest.mark.parametrize(
    ("kind", "task"),
    slow_after(
        2,
        [
            (faults.CORRUPT, "commit"),
            (faults.NOTHING, "finish"),
            (faults.NOTHING, "commit"),
            (faults.CORRUPT, "finish"),
            *product((faults.TEXT, faults.OBJECT), ("commit", "finish")),
        ],
    ),
)
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
