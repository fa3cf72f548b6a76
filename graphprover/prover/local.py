"""Proofs by a device of this process: admitted to its memory, made, and verified before they are returned."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

from graphprover.admission.admission import admitted, check_fits
from graphprover.device import Device
from graphprover.device.choose import CPU, device_for
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.graphs.rounds.transcript import QUERIES, TRANSCRIPT
from graphprover.graphs.task_keys import Place, ShardNumber
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import Joint
from graphprover.protocol.proof import BatchProof, Cap, decode
from graphprover.protocol.security import QUERY_POW_BITS
from graphprover.prover.made import Made
from graphprover.prover.peak_memory import MemoryPlan, memory_plan
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.prover.sharded import prove_shards
from graphprover.runtime.deadline import check_deadline, has_deadline
from graphprover.runtime.display import notebook
from graphprover.telemetry.subscribe import clock
from graphprover.verifier.shards import check_in_common, check_shard

T = TypeVar("T")

_log = logging.getLogger(__name__)  # warnings go to stderr by default


def make(
    prepared: Prepared | PreparedShards,
    executor: str = THREADS,
    device: Device | str = "auto",
    progress: bool | Tell | None = False,
    verified: bool = True,
    waits: bool = True,
) -> Made:
    """Prove a statement by a device of this process, once its memory has room, and verify the proof.

    Several shards are verified one by one, as they are made.

    Args:
        prepared: The prepared statement.
        executor: ``"threads"`` or ``"sync"``.
        device: As in `graphprover.prove`.
        progress: As in `graphprover.prove`.
        verified: False leaves verification to the caller, such as one that knows more about the statement than its
            tables.
        waits: False does not wait for other proofs: the memory need only have room for this proof alone.

    Raises:
        MemoryError: before anything runs, if the proof can never fit the memory.
        VerificationError: if the proof does not convince.
        Exception: every exception of `graphprover.prove`.
    """

    def by(prepared: Prepared | PreparedShards, device: Device) -> Made:
        plan, began = memory_plan(prepared, device), clock()
        layouts, batches = [shard.layout for shard in prepared.shards], list[BatchProof]()

        def check_one(index: int, proof: Proof, joint: Joint | None, cap: Cap | None) -> None:
            with _named(joint, index):
                batches.append(decode(proof.payload, layouts[index]))
                check_shard(layouts[index], proof, batches[-1], cap, joint, index)

        with admitted(device, plan.bytes, str(plan.peak)) if waits else _fitting(device, plan):
            waited = clock()
            with told(progress, prepared) as tell:
                one_by_one = check_one if verified else None
                made = prove_shards(prepared, device, executor, plan.shards, tell, one_by_one, plan.holds, plan.bytes)
        if waits:
            made = made.with_stage("wait", began, waited)
        if not verified:
            return made
        proof, caps, began = made.proof, made.preprocessed_caps, clock()
        if isinstance(proof, Proof):
            assert caps
            check_one(0, proof, None, caps[0])
        else:
            check_in_common(layouts, batches[::-1])
        return made.with_stage("verify", began, clock())

    return on_device(prepared, device, by)


@contextmanager
def _fitting(device: Device, plan: MemoryPlan) -> Iterator[None]:
    """Raise MemoryError if a proof can never fit the device's memory."""
    check_fits(device, plan.bytes, str(plan.peak))
    yield


@contextmanager
def _named(joint: Joint | None, index: int) -> Iterator[None]:
    """Name the shard of several whose verification fails."""
    try:
        yield
    except VerificationError as error:
        if joint is None:
            raise
        raise error.refusal(f"{ShardNumber(index, len(joint.digests))}: {error}") from error


def on_device(
    prepared: Prepared | PreparedShards,
    device: Device | str,
    by: Callable[[Prepared | PreparedShards, Device], T],
) -> T:
    """Return the result of ``by`` for a device; for the CPU if ``"auto"`` has chosen a GPU that is too small."""
    chosen = device_for(device)
    try:
        return by(prepared, chosen)
    except MemoryError as error:
        cpu = device_for("cpu")
        if device != "auto" or type(chosen) is type(cpu):
            raise
        reason = str(error)
    _log.warning("graphprover: the GPU's memory does not suffice, so the CPU makes the proof: %s", reason)
    return by(prepared.on_host(), cpu)


@contextmanager
def told(progress: bool | Tell | None, prepared: Prepared | PreparedShards | None = None) -> Iterator[Tell | None]:
    """Yield the function that is called with a proof's progress, or None; it checks the deadline of the job.

    Args:
        progress: As in `graphprover.prove`.
        prepared: The prepared statement, if this process proves it. If its proof of work before the queries is more
            than the default, the name of that task has the expected number of hashes. Names of a layer's tasks begin
            with the layer.
    """
    shell = notebook.kernel()
    if progress is False or (progress is None and shell is None):
        yield _tell_deadline if has_deadline() else None
        return
    shown: AbstractContextManager[Tell]
    if callable(progress):
        shown = nullcontext(progress)
    elif shell is not None:
        shown = notebook.bar(shell)
    else:
        from graphprover.runtime.display.terminal import bar  # here, because nothing else needs it

        shown = bar()
    grinding = str(Place(TRANSCRIPT, QUERIES))
    pow_bits = prepared.shards[0].layout.parameters.query_pow_bits if prepared else 0
    of = f"{prepared.name}: " if prepared and prepared.shards[0].layer else ""
    with shown as tell:

        def tell_work(ended: int, total: int, task: str) -> None:
            _tell_deadline(ended, total, task)
            if pow_bits > QUERY_POW_BITS and task.endswith(grinding):
                task = f"{task}: proof of work, 2^{pow_bits} hashes on average"
            tell(ended, total, f"{of}{task}" if task else "")

        yield tell_work


def _tell_deadline(ended: int, total: int, task: str) -> None:
    """Check the deadline of the job as its next task starts; a proof without a next task is made."""
    if task:
        check_deadline()


def pays(device: Device | str) -> bool:
    """Return whether the host's work for several jobs is to run beside their proofs.

    On a CPU the proof itself takes all cores, so that the order makes no difference.
    """
    return device_for(device).kind != CPU
