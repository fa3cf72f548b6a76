"""Calls on integers of 256 and 384 bits: r = (a b + c) mod m, a b + c in Fp2, and sums of points of curves.

modular.py, fp2.py and point.py have the calls with their operands, and the tables.
"""
