"""graph(): a proof as a Dask collection, for those who look at it or run it themselves."""

import uuid
from functools import partial

from dask import delayed
from dask.delayed import Delayed

from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.graphs.task_keys import key_of
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.prover.prepare import prepare, wrapped
from graphprover.prover.sharded import proof_task
from graphprover.statement.check import warn
from graphprover.statement.statement import Statement


def graph(
    statement: Statement,
    security: float = 128,
    rate: int | None = None,
    parameters: Parameters | None = None,
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
) -> Delayed:
    """The tasks of a proof of ``statement``, whose value is the `Proof` that `prove` gives, with the same bytes.

    It is a Dask collection: ``graph(statement).compute(scheduler="threads")`` proves, ``.visualize()`` draws it,
    ``dask.optimize`` and schedulers take it. The tasks call one device of this process and hand each other arrays that
    lie there. Keys are tuples ``(group, round, name, token)``, another token for each call. Nothing is verified, and
    there is no way back to the CPU where a GPU is too small: that is what `prove` adds. Arguments and errors are those
    of `prove`.
    """
    warn(statement)
    prepared = prepare(statement, security, rate, parameters, proximity)
    token = uuid.uuid4().hex[:8]
    task = proof_task(prepared, device_for(device) if isinstance(device, str) else device, token)
    # Bound before, for Dask looks for tasks in whatever it is given.
    last = partial(wrapped, header=prepared.header)
    return delayed(last, pure=False)(task, dask_key_name=key_of("query_envelope", "proof", token))
