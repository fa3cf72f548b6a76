"""The addresses of the program's marked instructions; scripts/recursion_key.py writes this file."""

ENTRIES = {  # by the name of the mark
    "copy": 331,
    "fill": 1551,
    "the highest bit": 1984,
}
