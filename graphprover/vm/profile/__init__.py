"""Where a run's cycles and the cells of its proof go: by call path, by source line, by chip of instructions.

The interpreter is compiled once more with what is counted while it runs, so that no run is recorded and none is too
long: calls.py follows the calls, counters.py counts each instruction as the chip that proves it, and each access that
takes a bump. When the run has ended, measure.py makes the counts a ``Profile`` and cells.py says what they cost. The
rest shows it: tree.py has the frames, formats.py the files, flame.py the picture and page.py the page around it;
lines.py reads which source line an instruction comes from.
"""
