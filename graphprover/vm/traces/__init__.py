"""Trace generation of a run, on the device that proves it.

Functions whose first argument is `device` and that take keywords are tasks of round 0
(`graphprover.statement.trace_task`): from the results of other trace tasks and from constants they make a table's
trace, or intermediate results that several traces share. The other functions run on the host before that.
run_statement.py chooses the tasks that a run needs. The order to read in:

- ways.py: the way an instruction went; partition.py: the chip that proves each cycle; cycle_ranges.py: a run cut into
  the ranges of its shards; possible.py: the tables that a program may need, before it runs;
- run.py: the record on a device and its replay, the source of all chips' traces;
- accesses.py: the accesses of a chip's lane;
- executing.py: the values that ``Step.witness`` reads of a table's cycles; rows.py gives them as arrays, symbolic.py
  as formulas (formulas.py), which assemble.py turns into code for lanes;
- chips.py: the trace of a chip, by the code of its cells, which the machine's own kernels run (``vm/kernels``);
  mixed.py: the trace of a table that chips share;
- bumps.py: late accesses and the trace of their bumps;
- state.py: the traces of registers and memory; counts.py: the traces of the fixed tables and of the program;
- the traces of host calls, and of the tables behind them: vm/accelerators/.
"""
