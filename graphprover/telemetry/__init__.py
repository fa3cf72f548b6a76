"""Observations of proofs: times and memory by stage, round, table and shard, as data that travels between processes.

- model.py has the parts of an `Observation` (stages, tasks, tables, shards), rounds.py their sums by round,
  observation.py the whole with its JSON, which ``--report out.json`` writes.
- subscribe.py has `observed`, which requests observations. ``graphs.observer`` records the tasks of a graph;
  ``graphprover.prover.observe`` builds the observation of a proof. merge.py builds it from several workers' telemetry.
- compare.py compares two observations. chrome_trace.py writes a time line, activities.py names the activities of
  Dask's dashboard. The HTML pages are in ``graphprover.reports``.
"""
