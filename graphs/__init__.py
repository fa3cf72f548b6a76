"""The rounds of a proof as one Dask graph, and who runs it.

In go a `Layout`, a device, and the traces or trace tasks of the tables; out comes a task whose value is the proof.

Start with ``proof``, which is the whole graph on one page, and follow it into the rounds in their order: ``trace``,
``commit``, ``lookup``, ``quotient``, ``opening`` (rounds 4 and 5), ``fri``, ``query``; ``transcript`` stands between
all of them. A round's module has its build function, which makes tasks, and the functions that are those tasks. What
they are made of is in ``tasks``; what they are called, in ``keys``; which tables share one, in ``batches``; who runs
them, in ``executors`` and ``one_thread``.

``plan`` builds the same graph and runs nothing: ``costs`` says what each task does and holds, ``roofline`` how
long that takes at least; ``plan_text``, ``plan_svg`` and ``plan_html`` show it.

A round knows no array and no kernel: it asks its `Device` (``graphprover.device``) for everything.
"""
