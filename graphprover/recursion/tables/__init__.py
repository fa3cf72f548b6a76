"""The tables of the recursion machine: their columns, constraints and messages."""
