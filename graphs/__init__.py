"""The rounds of a proof as one Dask graph, its plan, and its executors.

The input is a `Layout`, a device, and the traces or trace tasks of the tables. The output is a task whose value is the
proof.

Start with ``proof_graph``, the whole graph on one page, and follow it into ``rounds``: ``trace``, ``commit``,
``lookup``, ``quotient``, ``opening`` (rounds 4 and 5), ``fri``, ``query``, with ``transcript`` between them. The module
of a round has its build function, which adds tasks, and the functions of those tasks. ``builder`` makes the Dask tasks,
``task_keys`` names them, ``batches`` groups tables that share tasks. ``executors`` and ``one_thread`` run a graph,
``observer`` measures its tasks, ``progress`` reports them.

``planner`` builds the same graph without running it: ``costs`` has the operations and bytes of each task, ``roofline``
lower bounds of their time. ``graphprover.reports`` shows a plan (``plan_text``, ``plan_svg``, ``plan_html``).

A round contains no array code and no kernels: it calls its `Device` (``graphprover.device``).
"""
