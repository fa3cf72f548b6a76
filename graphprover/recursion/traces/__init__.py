"""Traces of the recursion machine that need no kernel: functions of arrays of any device."""
