"""Programs, and the jobs that prove their runs.

- programs.py: opens programs of tables and guests; jobs.py: `Prover` and `Job`; batch.py: many jobs.
- options.py: the table of the options of proofs, for the command line, batch files, the service and the documents.
- made_check.py: the maker's verification of a proof, in this process or another one.
- precompile.py: compiles a guest's host kernels in other processes; warmup.py: the proof that loads every kernel.
"""
