"""graph(): a proof as a Dask collection, to look at or to run with any scheduler."""

import uuid
from functools import partial

from dask import delayed
from dask.delayed import Delayed

from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.graphs.task_keys import key_of
from graphprover.protocol.parameters import DEFAULT_HASH, Parameters
from graphprover.protocol.security import JOHNSON_PROXIMITY, QUERY_POW_BITS
from graphprover.prover.prepare import Prepared, prepare, wrapped
from graphprover.prover.sharded import proof_task
from graphprover.statement.check import warn
from graphprover.statement.shards import expect_statement
from graphprover.statement.statement import Statement


def graph(
    statement: Statement,
    security: float = 128,
    rate: int | None = None,
    parameters: Parameters | None = None,
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    hash: str = DEFAULT_HASH,
    pow_bits: int = QUERY_POW_BITS,
) -> Delayed:
    """Return the proof of ``statement`` as a Dask collection, whose value is the `Proof` that `prove` returns.

    ``graph(statement).compute(scheduler="threads")`` proves, and ``.visualize()`` draws the graph. ``dask.optimize``
    and schedulers take it. The tasks call one device of this process and pass each other arrays of that device. Keys
    are tuples ``(group, round, name, token)``, with another token for each call. The proof is not verified, and it is
    not retried on the CPU if a GPU is too small.

    Args:
        statement: The statement, with traces.
        security: Provable bits, as in `graphprover.prove`.
        rate: The rate is 1/``rate``, as in `graphprover.prove`.
        parameters: All parameters of the proof, instead of its level.
        device: The device of the tasks, as in `graphprover.prove`.
        proximity: The soundness analysis, as in `graphprover.prove`.
        hash: The hash of the proof, as in `graphprover.prove`.
        pow_bits: The proof of work, as in `graphprover.prove`.

    Raises:
        Exception: as `graphprover.prove`.
    """
    expect_statement(statement, "graph")
    warn(statement)
    level = {"security": security, "rate": rate, "proximity": proximity, "hash": hash, "pow_bits": pow_bits}
    return graph_of(prepare(statement, parameters, **level), device)


def graph_of(prepared: Prepared, device: Device | str) -> Delayed:
    """Return the proof of a prepared statement as a Dask collection.

    Args:
        prepared: The prepared statement.
        device: The device of the tasks.
    """
    token = uuid.uuid4().hex[:8]
    task = proof_task(prepared, device_for(device), token)
    # Bound before, because Dask looks for tasks in all arguments.
    last = partial(wrapped, header=prepared.header)
    return delayed(last, pure=False)(task, dask_key_name=key_of("query_envelope", "proof", token))
