"""prove(): from a statement with its traces to a proof, as one task graph."""

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeGuard, TypeVar

import numpy as np
from dask.delayed import Delayed

from graphprover.admission import admitted
from graphprover.air.description import AirDescription
from graphprover.checker import warn
from graphprover.device import Array, Device
from graphprover.device.choose import CPU, device_for
from graphprover.envelope import Proof
from graphprover.graphs import proof as proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.executor_names import LOCAL, THREADS
from graphprover.graphs.executors import executor_for
from graphprover.graphs.plan import Peak, peak_of
from graphprover.graphs.progress import Tell
from graphprover.graphs.query import Proven
from graphprover.graphs.tasks import Graph
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.parameters import RATES, Parameters
from graphprover.protocol.proof import Cap, decode, encode
from graphprover.protocol.security import JOHNSON_PROXIMITY, choose, shape_of
from graphprover.protocol.verification import check_batch
from graphprover.recipe import Recipe
from graphprover.statement import Statement, Table, as_columns, binding_digest
from graphprover.verifier import verify

T = TypeVar("T")

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


def prove(
    statement: Statement,
    executor: Any = THREADS,
    security: float = 128,
    rate: int = 2,
    parameters: Parameters | None = None,
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    progress: bool | Tell = False,
) -> Proof:
    """Prove ``statement``, whose tables all have traces.

    ``executor``: ``"threads"`` (default), ``"sync"``, a ``distributed.Client``, a scheduler's address or file,
    ``"cuda"`` or ``"processes"`` for a cluster on this host that lasts as long as this call: on a cluster one worker
    makes the whole proof on its own device, and it is verified here (docs/cluster.md).
    ``security``: provable bits, from which the parameters are chosen at rate 1/``rate`` (2, 4 or 8), unless
    ``parameters`` gives them; with ``proximity="unique"`` by unique decoding alone. ``device``: ``"cpu"``, ``"cuda"``,
    ``"cuda:1"``, a `Device`, or ``"auto"``, the first GPU where there is one. The bytes of the proof depend on neither
    executor nor device. Where ``"auto"`` has chosen a GPU whose memory does not suffice, a warning says so and the CPU
    makes the whole proof. ``progress``: True draws a bar on stderr, in a terminal or a notebook; a function is called
    with the tasks that have ended, those in all, and the one that begins.

    Raises ValueError for a malformed trace or a level that cannot be reached; MemoryError, naming round and table,
    where memory ends; `graphprover.device.DeviceLost` where a GPU fails, which this process must not use again;
    RuntimeError by threads in a process that was forked from one that had used them. A trace that does not satisfy its
    table gives a proof that does not verify: `graphprover.check` names the row. Columns and public values that nothing
    reads are told in warnings.
    """
    warn(statement)
    proof, _ = prove_prepared(prepare(statement, security, rate, parameters, proximity), executor, device, progress)
    if executor not in LOCAL:
        verify(proof, statement, security=0)  # by whom it was made does not matter
    return proof


@dataclass(frozen=True)
class Prepared:
    """A statement that is ready to be proved, as values and arrays, which travel to workers."""

    label: str
    layout: Layout  # the shape of the proof
    traces: tuple[Array | Recipe, ...]  # of each table, checked: uint64 (columns, rows), or how a device makes it
    preprocessed: Mapping[int, np.ndarray]  # the preprocessed columns, by table
    public_values: tuple[tuple[int, ...], ...]  # of each table


def prepare(
    statement: Statement,
    security: float = 128,
    rate: int = 2,
    parameters: Parameters | None = None,
    proximity: str = JOHNSON_PROXIMITY,
) -> Prepared:
    """Check the traces of a statement and choose the shape of its proof; arguments and errors are those of `prove`."""
    # 1. Traces: check every one against its table.
    traces = checked_traces(statement)
    # 2. Layout: heights and parameters give the shape of the proof.
    log_heights = [trace.shape[1].bit_length() - 1 for trace in traces]
    if parameters is None:
        if rate not in RATES:
            raise ValueError(f"rate 1/{rate}: choose 1/2, 1/4 or 1/8")
        parameters = choose(shape_of(statement.descriptions, log_heights), security, RATES[rate], proximity)
    layout = make_layout(statement.descriptions, log_heights, parameters)
    tables = enumerate(statement.tables)
    preprocessed = {i: table.preprocessed for i, table in tables if table.preprocessed is not None}
    public_values = tuple(tuple(int(value) for value in table.public_values or ()) for table in statement.tables)
    return Prepared(statement.label, layout, traces, preprocessed, public_values)


@dataclass(frozen=True)
class Made:
    """A proof that its maker has verified, and what it took."""

    proof: Proof
    preprocessed_cap: Cap | None  # the maker's own commitment to the preprocessed columns
    seconds: Mapping[str, float]  # by stage: "wait" for memory, "prove", "verify"; a job adds "prepare" before
    peak_bytes: int  # of the device's memory, as planned
    kept: bool = False  # it was there before, and nothing was made


def make(
    prepared: Prepared,
    executor: str = THREADS,
    device: Device | str = "auto",
    progress: bool | Tell = False,
    check: Callable[[Proof, Cap | None], object] | None = None,
) -> Made:
    """A proof by a device of this process, once its memory has room, verified before anyone sees it.

    ``check`` verifies it, given the commitment that it was made with, where the caller knows more about it than its
    tables. Raises what `prove` raises; MemoryError, before anything runs, where the proof can never fit;
    VerificationError where it does not convince.
    """

    def by(prepared: Prepared, device: Device) -> Made:
        peak = _peak(prepared, device)
        times = [time.perf_counter()]
        with admitted(device, peak.bytes, str(peak)):
            times.append(time.perf_counter())
            proof, cap = _prove(prepared, device, executor, progress)
            times.append(time.perf_counter())
        if check:
            check(proof, cap)
        else:
            _check(prepared.layout, proof, cap)
        times.append(time.perf_counter())
        stages = zip(("wait", "prove", "verify"), pairwise(times), strict=True)
        return Made(proof, cap, {stage: end - start for stage, (start, end) in stages}, peak.bytes)

    return _on_device(prepared, device, by)


def _peak(prepared: Prepared, device: Device) -> Peak:
    """What a proof takes of a device's memory; on a CPU with the arrays that it proves, of which a GPU gets copies."""
    peak = peak_of(prepared.layout, device, prepared.traces)
    arrays = [*prepared.traces, *prepared.preprocessed.values()] if device.kind == CPU else []
    return replace(peak, bytes=peak.bytes + sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)))


def _check(layout: Layout, proof: Proof, cap: Cap | None) -> None:
    """Raises VerificationError where a proof does not prove the tables of its layout."""
    batch, binding = decode(proof.payload, layout), binding_digest(layout, proof.label, cap)
    check_batch(layout, batch, proof.public_values, cap, binding)


def prove_prepared(
    prepared: Prepared, executor: Any = THREADS, device: Device | str = "auto", progress: bool | Tell = False
) -> tuple[Proof, Cap | None]:
    """The proof, and the commitment to the preprocessed columns that it has made, if any, for `verify`.

    Nothing of a cluster's is a commitment to rely on: there is none then. Arguments and errors are those of `prove`.
    """
    if executor not in LOCAL:
        from graphprover.cluster import joined  # which loads Dask's distributed

        with _told(progress) as tell, joined(executor) as cluster:
            return cluster.prove(_on_host(prepared), device, tell), None
    return _on_device(prepared, device, lambda prepared, device: _prove(prepared, device, executor, progress))


def _on_device(prepared: Prepared, device: Device | str, by: Callable[[Prepared, Device], T]) -> T:
    """What ``by`` makes by the device, and once more by the CPU where ``"auto"`` has chosen a GPU that is too small."""
    chosen = device_for(device) if isinstance(device, str) else device
    try:
        return by(prepared, chosen)
    except MemoryError as error:
        cpu = device_for("cpu")
        if device != "auto" or type(chosen) is type(cpu):
            raise
        reason = str(error)
    _log.warning("graphprover: the GPU's memory does not suffice, so the CPU makes the proof: %s", reason)
    return by(_on_host(prepared), cpu)


def _on_host(prepared: Prepared) -> Prepared:
    """The same, with no trace on a GPU: so it travels."""
    return replace(prepared, traces=tuple(trace.get() if _is_on_gpu(trace) else trace for trace in prepared.traces))


def _prove(prepared: Prepared, device: Device, executor: Any, progress: bool | Tell) -> tuple[Proof, Cap | None]:
    """The proof by one device."""
    # 3. Graph: one task for each round and batch of tables, the transcript between the rounds.
    layout = prepared.layout
    task = proof_task(prepared, device, uuid.uuid4().hex[:8])
    # 4. Run it.
    _log.debug("%d tables of up to 2^%d rows on %s", len(layout.tables), max(layout.log_heights), device)
    with _told(progress) as tell:
        proven = executor_for(executor, device.threads, tell)(task)
    # 5. Wrap it for the user.
    return wrapped(proven, prepared.label, layout, prepared.public_values), proven.preprocessed_cap


def proof_task(prepared: Prepared, device: Device, token: str) -> Delayed:
    """The graph whose value is `query.Proven`; ``token`` tells its keys from those of other proofs."""
    layout, traces, fixed = prepared.layout, dict(enumerate(prepared.traces)), dict(prepared.preprocessed)
    graph = Graph(device, token, batches(layout, device.log_batch_rows))
    return proof_graph.build(graph, layout, prepared.label, traces, fixed, prepared.public_values)


def wrapped(proven: Proven, label: str, layout: Layout, public_values: tuple[tuple[int, ...], ...]) -> Proof:
    """What the graph gives, for the user."""
    return Proof(label, layout.parameters, layout.log_heights, public_values, encode(proven.proof))


def _told(progress: bool | Tell) -> AbstractContextManager[Tell | None]:
    """Who follows a proof, if anyone."""
    if progress is True:
        from graphprover.terminal import bar  # which nobody else needs

        return bar()
    return nullcontext(progress or None)


def checked_traces(statement: Statement) -> tuple[Array | Recipe, ...]:
    """The traces, uint64 (columns, rows), or their recipes; raises ValueError where one is missing or malformed."""
    traces: list[Array | Recipe] = []
    for table, air in zip(statement.tables, statement.descriptions, strict=True):
        if table.main is None:
            raise ValueError(f"table {air.name}: no trace to prove")
        columns = _columns(table, air)
        values = table.public_values or ()
        if len(values) != air.num_public_values:
            raise ValueError(f"table {air.name}: {len(values)} public values instead of {air.num_public_values}")
        if table.preprocessed is not None and table.preprocessed.shape[1] != columns.shape[1]:
            raise ValueError(
                f"table {air.name}: {columns.shape[1]} rows, but {table.preprocessed.shape[1]} preprocessed rows"
            )
        traces.append(columns)
    return tuple(traces)


def _columns(table: Table, air: AirDescription) -> Array | Recipe:
    """A table's trace. One that lies on a GPU stays there, and its words, as a recipe's, are taken to be below p."""
    what, main = f"trace of table {air.name}", table.main
    assert main is not None
    if isinstance(main, Recipe):
        columns, rows = main.shape
        if columns != air.main_width or rows & (rows - 1) or not rows:
            raise ValueError(f"{what}: its recipe gives {main.shape}; expected ({air.main_width}, a power of two)")
        return main
    if not _is_on_gpu(main):
        return as_columns(main, air.main_width, what)
    if main.dtype != np.uint64 or main.ndim != 2 or main.shape[0] != air.main_width or not main.flags.c_contiguous:
        raise ValueError(f"{what}: {main.dtype} {main.shape}; expected contiguous uint64 ({air.main_width}, rows)")
    if main.shape[1] & (main.shape[1] - 1) or not main.shape[1]:
        raise ValueError(f"{what}: {main.shape[1]} rows; the number of rows must be a power of two")
    return main


def _is_on_gpu(array: Any) -> TypeGuard[Any]:
    return hasattr(array, "__cuda_array_interface__")
