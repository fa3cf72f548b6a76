"""The command line.

Each command has a module: ``add`` defines its arguments, ``run`` executes it and returns the exit code. main.py
lists the commands, imports the module of the one that is used and reports errors, which errors.py defines; parser.py
parses arguments, and ``graphprover.__main__`` handles signals.

Input of the commands:

- args.py: options that several commands share; executor.py: applies the options of the machine
- paths.py and files.py: file names; program_args.py: PROGRAM and its input
- expectations.py: the expectations of ``verify``; batch_file.py, batch_keys.py and patterns.py: the jobs of ``batch``

Output of the commands:

- json_output.py: JSON objects; text_output.py: text reports of the same values
- man_page.py: the manual page; fish.py: completion for fish, which ``completion`` prints
- report_files.py: files of ``--report`` and ``--trace``, whose pages are in ``graphprover.reports``
"""
