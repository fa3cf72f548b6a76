"""The RV64IM machine: from a compiled program to an execution, and to a statement about it that can be proved.

A program is an ELF file. The machine runs it and records what happened; a proof shows that the record is right, and is
much shorter than it. Each executed instruction is one *lane* of a table, and several lanes may share a row. The table
belongs to a *chip*: one kind of instruction in one case, with its own rule, so that no row decodes or chooses
anything. What a lane cannot know by itself it says in messages on one bus: the clock and pc go from one instruction to
the next, the value of a register or a word of memory from one access to the next, and every instruction is looked up in
the program. Where all messages balance, there is one history and it is the program's.

Read it in this order; docs/vm.md says more of each step.

- The program: elf.py reads the file into an ``Image``, isa.py decodes it, io.py says how a guest talks with the world.
- The run: execute.py runs an image in interpreter.py's compiled loop, with host calls from accelerators.py, ends in an
  ``Execution`` or in one of the faults of faults.py, and leaves a ``Record`` (record.py).
- What everything counts in: clock.py has time, limbs.py the parts of a word, buses.py the messages,
  table_numbers.py and version.py the frozen numbers of tables and chips.
- The rules: tables/ has a class for each table, chips.py says which chips can prove an instruction, and
  entries.py makes the program table of that.
- The statement about a program: statement.py says which tables there are and what is public, shape.py how tall they
  may be, times.py why time cannot wrap around, claim.py what a proof says. The verifier needs these alone.
- The statement about one run: ways.py says which way an instruction went, partition.py gives every cycle to a chip,
  run_statement.py finds the tables that the run needs, traces/ makes their traces on a device, with the kernels of
  kernels/, which replay the record by operations.py. cost.py counts their cells.
- Around it: key.py and setup.py have verifying keys, guest.py guests on the command line; profile/ says where cycles
  and cells go; symbols.py and demangle.py name a guest's functions.
"""
