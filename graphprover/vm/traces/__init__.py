"""How the traces of a run are made, on whatever device proves it.

The functions whose first argument is `device` and which take keywords are tasks of round 0
(`graphprover.statement.trace_task`): they take what other trace tasks gave and what is known beforehand, and give a
table's trace or what several traces share. The others run on the host before that. run_statement.py says which of them
a run needs. The order to read in:

- run.py: the record on a device and what is replayed of it, which all chips' traces are made from;
- accesses.py: what a lane of a chip accesses;
- executing.py: what ``Step.witness`` asks of the cycles that a table proves; rows.py gives it as arrays, symbols.py as
  formulas (formulas.py), which assemble.py makes code for lanes of;
- chips.py: the trace of a chip, by the code of its cells, which the machine's own kernels run (``vm/kernels``);
- bumps.py: which accesses come too late, and the trace of their bumps;
- state.py: the traces of registers and memory; counts.py: those of the fixed tables and of the program;
- keccak.py: those of the permutation and of the even numbers it looks up.
"""
