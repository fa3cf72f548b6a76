"""The layers of a tree on a Dask cluster: a task for each layer of a level, in parallel.

The shards of a proof by the same cluster are on their workers. A layer about some of them depends on their results, so
Dask runs it on a worker that has one of them, and moves the others there. Other proofs travel with the layer.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count

from graphprover.cluster import LostValue
from graphprover.cluster.client import Cluster
from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.results import expect_type, verified
from graphprover.cluster.sharded import Staying
from graphprover.cluster.tasks import ProvingTask
from graphprover.device import Device
from graphprover.graphs.planner.layers import Target
from graphprover.graphs.progress import Tell
from graphprover.prover.layer_tree import LayerPlan, ProveLayers
from graphprover.prover.layers import LayerJob
from graphprover.prover.made import Made
from graphprover.telemetry.subscribe import observing

MOST_LOSSES = 10  # times that shards are lost with their workers

_log = logging.getLogger(__name__)


def layer_target(cluster: Cluster, device: Device | str) -> Target:
    """Return the workers as a search for trees has them, by the device and the memory of one of them.

    Raises:
        ClusterError: If no worker fits.
    """
    task = ProvingTask(
        "layer target",
        partial(pack, device),
        function="target",
        check=lambda value, worker: expect_type(value, Target),
    )
    with closing(cluster.run([task], device)) as results:
        result = next(results)
    if result.error:
        raise result.error
    found: Target = result.value
    return replace(found, workers=cluster.workers(device))


def prove_layers(
    cluster: Cluster, device: Device | str, tell: Tell | None = None, staying: Staying | None = None
) -> ProveLayers:
    """Return the function that proves the layers of a level as tasks of workers.

    The worker verifies the proofs that a layer is about as it makes the layer, and the client verifies the layer. If
    shards are lost with their worker, they are proved again before their layer, once the other layers have ended.

    Args:
        cluster: The cluster.
        device: The device of each worker.
        tell: Called with the progress of the tasks of a level.
        staying: The shards that stay on their workers for the layers about them.
    """
    told = tell or (lambda ended, total, task: None)

    def prove(plans: Sequence[LayerPlan]) -> Iterator[tuple[LayerJob, Made]]:
        done = dict[int, tuple[LayerJob, Made]]()
        open_layers = dict[ProvingTask, tuple[int, LayerJob]]()

        def tasks(numbers: Iterable[int]) -> Iterator[ProvingTask]:
            for number in numbers:
                layer = plans[number].layer()
                task = _task(layer, device, sum(node.size for node in plans[number].nodes), staying)
                open_layers[task] = number, layer
                yield task

        def begun(task: ProvingTask, worker: str) -> None:
            told(len(done), len(plans), f"{task.name} by {worker}")

        for losses in count():
            lost = set[int]()
            left = [number for number in range(len(plans)) if number not in done]
            with closing(cluster.run(tasks(left), device, begun)) as results:
                for result in results:
                    number, layer = open_layers.pop(result.task)
                    if staying and isinstance(result.error, LostValue) and losses < MOST_LOSSES:
                        _log.warning(
                            "graphprover: %s: shards are lost with their worker; they are proved again", layer.label
                        )
                        lost.update(layer.absent)
                    elif result.error:
                        raise result.error
                    else:
                        done[number] = layer, result.value[0]
            if not staying or not lost:
                break
            staying.restore(sorted(lost))
        told(len(plans), len(plans), "")
        return iter([done[number] for number in range(len(plans))])

    return prove


def _task(layer: LayerJob, device: Device | str, weight: int, staying: Staying | None) -> ProvingTask:
    """Return the task of a layer, on a worker that has some of its shards if these stay on workers."""
    payload = partial(pack, ProofRequest(layer, device, observing(), verify=False))
    held = tuple(staying.results[index] for index in layer.absent) if staying else ()
    check, absent = verified(layer.verify), bool(layer.absent)
    return ProvingTask(layer.label, payload, weight, check=check, depends_on=held, needs_all=absent)
