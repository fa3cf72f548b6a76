"""Proofs on a Dask cluster: one worker makes a whole proof on its own device, or several workers make its shards.

The client asks each worker for its versions and devices before it sends tasks, and sends none to workers that do not
fit (`workers`). The argument of a task is bytes that the task unpickles itself, so a failed import ends the task and
not the worker.

Client:

- `client` connects to a cluster and proves on it; `local` starts one on this host, and `mps` NVIDIA's service for it;
  `processes` has the number of its processes.
- `background` is the process of a cluster that stays when the command has ended.
- `dispatcher` submits tasks (`tasks`) with their messages (`messages`), and resubmits lost ones.
- `batching` groups the jobs of a batch into tasks, and `batch_check` verifies their results.
- `sharded` proves a statement in shards, each by two tasks (`shard_tasks`); `commitments` compares workers' shards.
- `results` checks the types of results.

Worker:

- `worker` has the functions of tasks; `shard_worker` makes one shard.
- `metrics` reports figures to Dask's dashboard and to Prometheus.
- `ports` has Dask's servers without HTTP.
"""


class ClusterError(RuntimeError):
    """An error of the cluster, not of the proof. The message names the worker and the remedy."""


class LostValue(ClusterError):
    """The error of a task that needs a value of another task, which is lost with its worker."""
