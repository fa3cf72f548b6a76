"""prove(): from a statement with its traces to a proof, as one task graph."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn, overload

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.jobs.returned import check_kind
from graphprover.proof.compressed import AnyProof, CompressedProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import DEFAULT_HASH, Parameters
from graphprover.protocol.proof import Caps
from graphprover.protocol.security import JOHNSON_PROXIMITY, QUERY_POW_BITS
from graphprover.prover.assign import deal
from graphprover.prover.local import make
from graphprover.prover.made import Made
from graphprover.prover.prepare import Prepared, PreparedShards, check_headers, ready
from graphprover.proving.executor import executor_of
from graphprover.statement.check import warn, warn_of_false
from graphprover.statement.shards import ShardedStatement, expect_statement, shards_of
from graphprover.statement.statement import Statement
from graphprover.telemetry.subscribe import publish, stage
from graphprover.verifier import Verdict, expect
from graphprover.verifier.shards import Expected

Expect = Callable[[Proof | ShardedProof], Expected]  # verifies headers, and returns the verification of the shards

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


@overload
def prove(
    statement: Statement,
    executor: Any = ...,
    security: float = ...,
    rate: int | None = ...,
    parameters: Parameters | None = ...,
    device: Device | str = ...,
    proximity: str = ...,
    progress: bool | Tell | None = ...,
    *,
    hash: str = ...,
    pow_bits: int = ...,
) -> Proof: ...
@overload
def prove(
    statement: Statement | ShardedStatement,
    executor: Any = ...,
    security: float = ...,
    rate: int | None = ...,
    parameters: Parameters | None = ...,
    device: Device | str = ...,
    proximity: str = ...,
    progress: bool | Tell | None = ...,
    shards: int | Sequence[Sequence[int]] = ...,
    *,
    hash: str = ...,
    pow_bits: int = ...,
) -> Proof | ShardedProof: ...
def prove(
    statement: Statement | ShardedStatement,
    executor: Any = THREADS,
    security: float = 128,
    rate: int | None = None,
    parameters: Parameters | None = None,
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    progress: bool | Tell | None = None,
    shards: int | Sequence[Sequence[int]] = 1,
    *,
    hash: str = DEFAULT_HASH,
    pow_bits: int = QUERY_POW_BITS,
) -> Proof | ShardedProof:
    """Prove ``statement``, whose tables all have traces.

    On a cluster one worker makes the whole proof, or each shard of it, on its own device, and it is verified here
    (docs/cluster.md). A local proof is not verified. The bytes of the proof depend on neither executor nor device. A
    trace that does not satisfy its table gives a proof that does not verify: `graphprover.check` names the row, and a
    warning does if the trace is small. Columns and public values that no constraint reads are reported in warnings.

    Args:
        statement: The statement.
        executor: ``"threads"`` (default) or ``"sync"`` in this process; a ``distributed.Client``, or a scheduler's
            address or file; ``"cuda"`` or ``"processes"`` for a cluster on this host for the time of the call;
            ``"auto"`` for the cluster of `graphprover cluster start` if it runs, else ``"threads"``.
        security: The provable bits, from which the parameters are chosen.
        rate: The rate is 1/``rate``, with a power of two from 2 to 64; by default 2, and 8 for few committed cells. A
            lower rate gives a smaller proof; halving it about doubles time and memory.
        parameters: The parameters, instead of ``security``, ``rate``, ``proximity``, ``hash`` and ``pow_bits``.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, a `Device`, or ``"auto"``, the first GPU if there is one. If
            ``"auto"`` has chosen a GPU with too little memory, the CPU makes the proof, and a warning says why.
        proximity: ``"unique"`` counts unique decoding alone.
        progress: True draws a bar on stderr in a terminal, or below the cell of a notebook; by default only the latter;
            False nothing. A function is called with the number of tasks that have ended, the number of all tasks, and
            the name of the task that begins.
        shards: The number of shards, or the indices of the tables of each, rising (docs/architecture.md#shards); a
            sharded statement has its own.
        hash: ``"keccak"`` or ``"blake3"``: the hash of Merkle trees, transcript and proof of work.
        pow_bits: The proof of work before the queries takes 2^``pow_bits`` hashes on average, and in one of twenty
            proofs more than three times as many; at most 28. More bits save queries, and so bytes.

    Returns:
        The proof.

    Raises:
        ValueError: for a malformed trace, an option that is not offered, or a level that cannot be reached.
        MemoryError: before anything runs, if the plan exceeds the memory that proofs may have; or if memory ends. It
            names round and table.
        graphprover.device.DeviceLost: if a GPU fails, which this process must not use again.
        RuntimeError: by threads in a process that was forked from one that had used them.
    """
    expect_statement(statement, "prove")
    for part in statement.statements:
        warn(part)
    if not statement.heads:
        statement = in_shards(statement.statements[0], shards)
    with stage("prepare"):
        prepared = ready(statement, Level(security, rate, proximity, hash, pow_bits), parameters)
        warn_of_false(statement)
    level = 0 if parameters else security  # with its own parameters, the caller has chosen the level

    def expected(headers: Proof | ShardedProof) -> Expected:
        check_headers(headers, prepared)
        return expect(headers, statement, level, proximity)

    return prove_prepared(prepared, executor, device, progress, expected)[0]


def in_shards(statement: Statement, shards: int | Sequence[Sequence[int]]) -> Statement | ShardedStatement:
    """Return the statement in this number of shards, or with these tables in each.

    Raises:
        ValueError: if the statement has no such shards.
    """
    if shards == 1:
        return statement
    return deal(statement, shards) if isinstance(shards, int) else shards_of(statement, shards)


def prove_prepared(
    prepared: Prepared | PreparedShards,
    executor: Any = THREADS,
    device: Device | str = "auto",
    progress: bool | Tell | None = None,
    expected: Expect | None = None,
) -> tuple[Proof | ShardedProof, Caps]:
    """Prove a statement that is prepared; a cluster's proof is verified here, one by this process is not.

    Args:
        prepared: The prepared statement.
        executor: As in `prove`.
        device: As in `prove`.
        progress: As in `prove`.
        expected: Verifies the headers of a cluster's proof, and returns the verification of its shards.

    Returns:
        The proof, and each shard's commitment to its preprocessed columns; None of a cluster's proof, because a
        worker's commitment must not be relied on.

    Raises:
        Exception: as `prove`.
    """
    made, _ = executor_of(executor, device).prove(_Statement(prepared, expected), progress)
    assert not isinstance(made.proof, CompressedProof)
    return made.proof, made.preprocessed_caps


@dataclass(frozen=True)
class _Statement:
    """A prepared statement as an executor's subject."""

    prepared: Prepared | PreparedShards
    expected: Expect | None

    @property
    def label(self) -> str:
        return self.prepared.name

    def make(self, executor: str, device: Device | str, progress: bool | Tell | None, verified: bool) -> Made:
        """Prove it by a device of this process, without waiting for other proofs."""
        made = make(self.prepared, executor, device, progress, verified=False, waits=False)
        if made.observation:
            publish(made.observation)
        return made

    def for_workers(self) -> AbstractContextManager["_OnWorkers"]:
        """Return it as workers prove it."""
        assert self.expected
        return nullcontext(_OnWorkers(self.prepared.on_host().shards, self.expected))


@dataclass(frozen=True)
class _OnWorkers:
    """A prepared statement as workers prove it (`graphprover.proving.executor.OnWorkers`)."""

    shards: Sequence[Prepared]
    expect: Expect
    shared = None
    compresses = False

    def run(self) -> None:
        """Return nothing: no guest runs in this process."""

    def verify(self, proof: AnyProof) -> Verdict:
        """Verify a proof that one worker has made."""
        check_kind(proof, compressed=False)
        assert not isinstance(proof, CompressedProof)
        expected = self.expect(proof)
        return expected.verdict([expected.check(index, own) for index, own in enumerate(proof.proofs)])

    def compress(self, made: Made, prove: Any, target: Any) -> NoReturn:
        """Raise an error: `compress` is another call."""
        raise NotImplementedError
