"""Proofs on a Dask cluster: each whole, by one worker, on that worker's device, or in shards by several.

Each worker is asked for its versions and devices before it gets anything. Those that do not fit get nothing, and
warnings name them (workers.py). What a task takes is bytes, which it unpacks itself: what cannot be imported fails the
task and not its worker.

- The client: joining.py joins a cluster and proves on it; local.py starts one on this host, for GPUs with mps.py.
  run.py gives errands (errands.py) to workers, and gives again what is lost; bundles.py says which jobs of a batch go
  together, and shards.py shares a sharded proof out. payloads.py is what travels.
- The worker: ``graphprover.cluster.worker`` does what is asked, so that Dask finds it by a short name; one_shard.py
  makes one shard, and meters.py tells the dashboard and Prometheus what it did.
"""


class ClusterError(RuntimeError):
    """A cluster cannot make proofs: the message names the worker, and says what to do."""
