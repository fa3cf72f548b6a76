"""The addresses of the program's marked instructions; scripts/recursion_key.py writes this file."""

ENTRIES = {  # by the name of the mark
    "copy": 321,
    "fill": 1467,
    "the highest bit": 1898,
}
