"""The compression of SHA-256.

table.py has the call with its operands, and the table; compression.py the function; cpu.py and sha256.cu the traces.
"""
