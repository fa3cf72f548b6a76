"""The rounds of a proof, a module each: its build function makes tasks, and its other functions are those tasks.

In order: trace, commit, lookup, quotient, opening (rounds 4 and 5), fri, query. ``transcript`` is between all rounds.
"""
