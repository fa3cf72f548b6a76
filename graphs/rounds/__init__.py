"""The rounds of a proof, one module each: its build function adds tasks; its other functions are those tasks.

In order: trace, commit, lookup, quotient, opening (rounds 4 and 5), fri, query. ``transcript`` is between all rounds.
"""
