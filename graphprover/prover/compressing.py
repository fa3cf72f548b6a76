"""The compression of a proof by the device that has made it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.graphs.observer import timed
from graphprover.graphs.progress import Tell
from graphprover.proof.proof import Proof
from graphprover.protocol.level import Level
from graphprover.prover.join import joined, nodes_of, proved_here
from graphprover.prover.local import Made, make, pays, told
from graphprover.prover.prepare import Prepared
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock


def compress_made(
    made: Made,
    statement: Statement | ShardedStatement,
    levels: Sequence[Level],
    executor: str,
    device: Device | str,
    progress: bool | Tell,
    check_room: Callable[[Prepared], None],
) -> Made:
    """Compress a proof by a device of this process, once the device's memory has room.

    The result is not verified. It keeps the caps of the base.

    Args:
        made: The proof, which is verified and not compressed yet.
        statement: The statement that it proves.
        levels: As in `joined`.
        executor: ``"threads"`` or ``"sync"``.
        device: As in `graphprover.prove`.
        progress: As in `graphprover.prove`, of each layer.
        check_room: Called with each prepared layer before it is proved.

    Raises:
        Exception: Every exception of `compress`.
    """
    began = clock()
    results = list[Made]()
    own_device = device_for(device) if isinstance(device, str) else device

    def prove(prepared: Prepared, name: str) -> tuple[Proof, Observation | None]:
        check_room(prepared)
        with timed(lambda layout: False), told(progress) as tell:  # a caller's times are of the first proof's tasks
            results.append(make(prepared, executor, device, named(tell, name), verified=False))
        own = results[-1].proof
        assert isinstance(own, Proof)
        return own, results[-1].observation

    nodes = nodes_of([made.proof], [statement], levels[0], [""], made.preprocessed_caps)
    tree = joined(nodes, levels, proved_here(prove, pays(own_device)), largest(own_device))
    return replace(
        made,
        proof=tree.proof,
        seconds={**made.seconds, "compress": clock() - began},
        peak_bytes=max(made.peak_bytes, *(result.peak_bytes for result in results)),
        cells=made.cells + sum(result.cells for result in results),
        observation=tree.observation(made.observation),
        base_bytes=made.proof.size,
    )


def named(tell: Tell | None, name: str) -> Tell | bool:
    """Return the progress of a layer about some proofs, whose tasks have their names; False without any progress."""
    if not tell or not name:
        return tell or False
    return lambda ended, total, task: tell(ended, total, f"{name}, {task}" if task else "")
