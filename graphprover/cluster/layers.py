"""The layers of a tree on a Dask cluster: a task for each layer of a level, in parallel.

The shards of a proof by the same cluster are on their workers. A layer about some of them depends on their results, so
Dask runs it on a worker that has one of them, and moves the others there. Other proofs travel with the layer.
"""

import logging
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial

from graphprover.cluster import LostValue
from graphprover.cluster.client import Cluster, verified_observation
from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.results import expect_type, proof_in
from graphprover.cluster.sharded import Staying
from graphprover.cluster.tasks import ProvingTask, TaskResult
from graphprover.device import Device
from graphprover.graphs.progress import Tell
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.prover.layer_tree import LayerPlan, ProveLayers
from graphprover.prover.layers import LayerJob
from graphprover.prover.made import Made
from graphprover.telemetry.subscribe import clock, observing

MOST_RESTORED = 10  # times that the shards of one layer are lost

_log = logging.getLogger(__name__)


def layer_memory(cluster: Cluster, device: Device | str) -> int:
    """Return the bytes of memory that a proof may have on a worker, as one of them says.

    Raises:
        ClusterError: If no worker fits.
    """
    task = ProvingTask("layer memory", partial(pack, device), function="largest_proof")
    with closing(cluster.run([task], device)) as results:
        result = next(results)
    if result.error:
        raise result.error
    return expect_type(result.value, int)


def prove_layers(
    cluster: Cluster, device: Device | str, tell: Tell | None = None, staying: Staying | None = None
) -> ProveLayers:
    """Return the function that proves the layers of a level as tasks of workers.

    The worker verifies the proofs that a layer is about as it makes the layer, and the client verifies the layer. An
    invalid layer is retried once, on another worker if there is one. If shards are lost with their worker, they are
    proved again before their layer.

    Args:
        cluster: The cluster.
        device: The device of each worker.
        tell: Called with the progress of the tasks of a level.
        staying: The shards that stay on their workers for the layers about them.
    """

    def prove(parts: Sequence[LayerPlan]) -> Iterator[tuple[LayerJob, Made]]:
        tasks, done = _Tasks(parts, device, staying), dict[int, tuple[LayerJob, Made]]()
        told = tell or (lambda ended, total, task: None)

        def begun(task: ProvingTask, worker: str) -> None:
            told(len(done), len(parts), f"{tasks.layers[task].label} by {worker}")

        with closing(cluster.run(tasks, device, begun, tasks.more)) as results:
            for result in results:
                if found := tasks.checked(result):
                    number, proved = found
                    done[number] = proved
        told(len(parts), len(parts), "")
        return iter([done[number] for number in range(len(parts))])

    return prove


class _Tasks(Iterator[ProvingTask]):
    """The tasks of the layers of a level, the largest first, and the ones that are retried."""

    def __init__(self, parts: Sequence[LayerPlan], device: Device | str, staying: Staying | None) -> None:
        self.layers: dict[ProvingTask, LayerJob] = {}  # of the tasks that have not ended
        self._numbers: dict[ProvingTask, int] = {}
        self._parts, self._device, self._staying = parts, device, staying
        self._restored: Counter[int] = Counter()  # by number of the layer
        self._waiting = deque((number, frozenset[str]()) for number in range(len(parts)))

    def __next__(self) -> ProvingTask:
        if not self._waiting:
            raise StopIteration
        number, avoid = self._waiting.popleft()
        part = self._parts[number]
        layer = part.layer()
        payload = partial(pack, ProofRequest(layer, self._device, observing(), verify=False))
        weight, absent = sum(node.size for node in part.nodes), layer.absent
        held = tuple(self._staying.results[index] for index in absent) if self._staying else ()
        task = ProvingTask(layer.label, payload, weight, depends_on=held, needs_all=bool(absent), avoid=avoid)
        self.layers[task], self._numbers[task] = layer, number
        return task

    def more(self, seconds: float = 0) -> int:
        """Return how many tasks wait."""
        return len(self._waiting)

    def checked(self, result: TaskResult) -> tuple[int, tuple[LayerJob, Made]] | None:
        """Return the number of a task's layer, and the layer after its verification; None if it is retried.

        Raises:
            VerificationError: If a second worker's proof is invalid, too; it names the worker.
            Exception: The exception of the task.
        """
        number, layer, started = self._numbers[result.task], self.layers.pop(result.task), clock()
        if isinstance(result.error, LostValue) and self._staying and self._restored[number] < MOST_RESTORED:
            self._restored[number] += 1
            _log.warning("graphprover: %s: shards are lost with their worker; they are proved again", layer.label)
            self._staying.restore(layer.absent)
            self._waiting.append((number, result.task.avoid))
            return None
        if result.error:
            raise result.error
        try:
            proof = proof_in(result.value)
            layer.verify(proof)
        except VerificationError as error:
            if result.task.avoid:
                raise error.refusal(f"{error}, by {result.worker}") from error
            _log.warning("graphprover: %s: %s, by %s; it is retried", layer.label, error, result.worker)
            self._waiting.append((number, frozenset({result.worker})))
            return None
        assert isinstance(proof, Proof)
        return number, (layer, Made(proof, observation=verified_observation(result, started)))
