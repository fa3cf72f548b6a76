"""Keccak-f[1600]: the call of the permutation, the call that absorbs a block, and the tables of permutations."""
