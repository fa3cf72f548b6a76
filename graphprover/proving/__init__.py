"""The functions of users that prove, with an executor: the threads of this process, or the workers of a cluster.

- prove.py: prove(); prover.py: Prover; batch.py: prove_many(); compress.py, aggregate.py, delayed.py: compress(),
  aggregate() and graph().
- executor.py: chooses the threads of this process or the workers of a cluster; growth.py starts processes for a batch.
- settings.py: the executor, device, memory and workers that a command or a service gives.
- pipeline.py: the proofs of a batch on a GPU, with run_ahead.py, the next job's guest, and `verifier.pool`, the
  verification by another process, beside each proof.
"""
