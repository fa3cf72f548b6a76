"""Keccak-f[1600]: the call of the permutation, the call that absorbs a block, and the tables of permutations.

- call.py, absorb.py: the two calls, with their operands.
- rounds.py, planes.py: the *wide* tables, with a round or a plane a row; classes.py, limbs.py: the *narrow* ones, for
  few permutations; digits.py: the lookups of both. permutation.py has the function itself.
- traces.py: the choice between wide and narrow, and the trace tasks; wide_traces.py: traces of wide tables by the
  functions of arrays. kernels.py with cpu.py, cuda.py and the CUDA sources has the other traces.
"""
