"""Programs, and the jobs that prove their runs. A job knows no executor.

- programs.py: the interface of programs, and programs of tables; opening.py: opens programs; kinds.py: the kind of a
  file by its first bytes; errors.py: errors as messages.
- options.py: the table of the options of proofs, for the command line, batch files, the service and the documents;
  machine_options.py: the table of the options of the process that proves; option.py: a row of them.
- recipe.py: a program with the options of its proofs; job.py: `Job`; preparing.py: its run and statement; existing.py:
  the proof before; result.py: `Result`; upcoming.py: the jobs of a batch that are read ahead.
- on_workers.py: a job whose proof workers make; returned.py: checks of their proofs; made.py: proofs by workers.
- mocking.py: mock proofs, which prove nothing, for tests of applications.
- precompile.py: compiles a guest's host kernels in other processes; warmup.py: the proof that loads every kernel.
"""
