"""From a statement to a proof. Start with prove.py, which has the stages in their order.

- prepare.py: the statement's layout, parameters and security; peak_memory.py: the device memory that a proof needs.
- executor.py: chooses the threads of this process or the workers of a cluster.
- upcoming.py: the jobs of a batch that are read ahead.
- local.py: a proof by a device of this process, admitted to its memory and verified.
- pipeline.py: the proofs of a batch on a GPU, with run_ahead.py, the next job's guest, and checking.py and
  checking_process.py, the verification by another process, beside each proof.
- shard_checks.py: the verification of shards that workers of a cluster make, by several such processes.
- sharded.py: the graphs of a proof, one for a single shard, two for each of several.
- smallest.py: the expected cost at each rate, and the choice of the smallest proof within a time.
- assign.py: assigns tables to shards; autoshard.py: finds the number of shards that fit a device.
- observe.py: assembles the observation of a proof; delayed.py: the proof's graph as a Dask ``Delayed``.
"""
