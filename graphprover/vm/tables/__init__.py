"""The tables of the machine: for each its columns, what its rows must fulfil, and what they send and receive.

Begin with step.py: ``Step`` is a chip of instructions, ``Lane`` what its rule is written with. A chip has three
parts that belong together: ``cells``, the columns of a lane; ``rule``, what holds among them; and ``witness``, what
they are, from what was executed. Where a chip proves only some cases of an instruction, ``fits`` says which.

- The chips: moves.py (constants, copies, jumps), arithmetic.py, logic.py, shifts.py, compare.py (with branches),
  multiply.py (with division), load_store.py (aligned accesses), unaligned.py, host_calls.py. In mixed.py those that
  prove little share a table.
- Where a run begins and ends: state.py (the first and the last cycle, registers, and each region of memory).
- What chips draw on: program.py (all instructions of the program), fixed.py (tables that lookups are answered from:
  numbers of 16 bits with their bytes, all or few of them, powers of two), bump.py (brings values nearer that were not
  accessed for long), keccak_f.py (the permutation that a host call asks for).

docs/vm.md says why the rules suffice; what is bounded over all tables together is in docs/security.md.
"""
