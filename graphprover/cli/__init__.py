"""The command line: a module for each command, whose ``add`` adds it and whose ``run`` runs it and gives its exit code.

main.py has them all, and what becomes of errors; parser.py parses arguments; ``graphprover.__main__`` makes a process
of it. Commands read what they are told with these:

- paths.py: names of files; options.py: options that several commands have; executor.py: who makes proofs, and by what;
  subject.py: the program that a command is about; demands.py: what ``verify`` demands of a proof; batch_file.py: the
  jobs of ``batch``.

And they tell what they find with these:

- facts.py: as ``--json`` has it; report.py: the same as text; observed_files.py: the files of ``--report`` and
  ``--trace``, whose pages are in ``graphprover.reports``.
"""
