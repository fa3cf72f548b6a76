"""Profiles of a run's cycles and of its proof's cells: by call path, by source line, by chip.

The interpreter is compiled a second time with counters, so a profile needs no record and any run can have one: calls.py
follows the calls, counters.py counts each instruction by the chip that proves it, and each access that takes a bump.
After the run, measure.py turns the counts into a ``Profile`` and cells.py computes their cells. The rest shows the
profile: tree.py has the frames, formats.py the files, flame.py the page; lines.py reads the source line of an
instruction.
"""
