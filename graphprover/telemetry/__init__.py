"""What was seen while a proof was made, as data that travels from a worker.

- parts.py: stages, tasks, tables, shards; rounds.py: what the tasks of a round come to; observation.py: all of it, of
  one proof, and its JSON, which ``--report out.json`` writes.
- watching.py: who asks for it, and gets it. ``graphs.observe`` looks at the tasks, and ``graphprover.prover.observe``
  puts an observation together once the proof is made; workers.py does where several workers have made its shards.
- chrome_trace.py: a time line of it. The pages are in ``graphprover.reports``.
"""
