"""The addresses of the program's marked instructions; scripts/recursion_key.py writes this file."""

ENTRIES = {  # by the name of the mark
    "copy": 278,
    "fill": 1428,
    "the highest bit": 1863,
}
