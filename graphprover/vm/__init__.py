"""The RV64IM machine: from a compiled program to an execution, and to a statement about it that can be proved.

A program is an ELF file. The machine runs it and records the run; a proof shows that the record is right, and is much
shorter. Each executed instruction is one *lane* of a table, and several lanes may share a row. The table belongs to a
*chip*: one kind of instruction in one case, with its own rule, so that no row decodes or chooses anything. Lanes are
connected by messages on one bus: the clock and pc go from one instruction to the next, the value of a register or a
word of memory from one access to the next, and every instruction is looked up in the program. If all messages balance,
there is one history and it is the program's.

Read the folders in this order; docs/vm.md and docs/vm_tables.md explain each step.

- program/: elf.py reads the file into an ``Image``, isa.py decodes it, compressed.py detects unsupported code, io.py
  defines input, output and host calls; symbols.py names a guest's functions.
- executor/: execute.py runs an image in interpreter.py's compiled loop, with frequent code as machine code (native.py,
  pieces.py, translate.py) and host calls from accelerators.py. A run ends in an ``Execution`` or in one of the faults
  of faults.py, and leaves a ``Record`` (record.py).
- tables/: a class for each table, the units of time, words and messages (clock.py, limbs.py, buses.py), the chips that
  can prove an instruction (chips.py) and the rows of the program table (entries.py).
- statement/: the statement about a program, all that a verifier needs: the tables and public values (statement.py),
  their numbers and version (table_numbers.py, version.py), the accepted shapes (shape.py), the bound on time
  (times.py), the claim of a proof (claim.py), verifying keys (key.py, setup.py) and guests (guest.py).
- traces/: the statement about one run (run_statement.py): the way that an instruction went (ways.py), the chip of every
  cycle (partition.py), and the trace of each table, made on a device.
- kernels/: the machine's kernels for CPU and GPU, which replay the record by executor/operations.py and write traces.
- profile/: the cycles of a run and the cells of its proof, by function, source line and chip.
"""
