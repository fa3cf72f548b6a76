"""Statements: tables with their public values and traces.

- statement.py: one statement and its binding digest; shards.py: a statement whose tables are in several shards.
- trace_task.py: traces that a device generates; check.py: warnings about unused columns; cells.py: committed cells.
"""
