"""The tables of the machine (chips): their columns, constraints and messages.

Begin with step.py: ``Step`` is a chip of instructions, and its rule is written with ``Lane``. A chip has three parts
that belong together: ``cells``, the columns of a lane; ``rule``, their constraints and messages; and ``witness``, their
values, computed from the executed instructions. If a chip proves only some cases of an instruction, ``fits`` selects
them.

- The chips: moves.py (constants, copies, jumps), arithmetic.py, logic.py, shifts.py, compare.py (with branches),
  multiply.py (with division), load_store.py (aligned accesses), unaligned.py, halt.py. In mixed.py chips with few
  instructions share a table. chips.py finds the chips that can prove an instruction.
- The chips of host calls, and the tables behind them: vm/accelerators/.
- The begin and end of a run: state.py (the first and the last cycle, registers, and each region of memory),
  public_words.py (regions with public words).
- Tables that chips look up: program.py (all instructions of the program; entries.py makes its rows), fixed.py (numbers
  of 16 bits with their bytes, all or a sparse range of them; powers of two), bump.py (accesses in between two that are
  far apart).
- Shared definitions: clock.py (time), limbs.py (the parts of a word), buses.py (messages).

docs/vm_tables.md argues why the rules suffice; docs/security.md bounds sums over all tables.
"""
