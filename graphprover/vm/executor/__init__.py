"""Runs a guest and records the run. Start with execute.py."""
