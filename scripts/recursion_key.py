"""Write the recursion key again after a change of a layer's tables or program: commitments and the program's entries.

python scripts/recursion_key.py
"""

import argparse
from pathlib import Path

import checkout  # noqa: F401 (finds the package)
from graphprover.recursion.program.verifier import verifier_program
from graphprover.verifier.layer_key import commitments

PACKAGE = Path(__file__).parents[1] / "graphprover"
COMMITMENTS = '''"""The commitments to a layer's preprocessed columns; scripts/recursion_key.py writes this file."""

COMMITMENTS = {  # by log2 of the rows and log2 of the inverse rate
'''
ENTRIES = '''"""The addresses of the program's marked instructions; scripts/recursion_key.py writes this file."""

ENTRIES = {  # by the name of the mark
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    program = verifier_program()
    found = []
    for log_rows, roots in commitments(program).items():
        by_rate = "".join(f'        {log_blowup}: "{digest}",\n' for log_blowup, digest in roots.items())
        found.append(f"{log_rows}: {{\n{by_rate}    }}")
    write("verifier/layer_commitments.py", COMMITMENTS, found)
    write("recursion/head/entries.py", ENTRIES, [f'"{name}": {address}' for name, address in program.marks.items()])


def write(name: str, head: str, items: list[str]) -> None:
    """Write a module of the package with a dictionary; ``head``: its first lines."""
    (PACKAGE / name).write_text("".join([head, *(f"    {item},\n" for item in items), "}\n"]))


if __name__ == "__main__":
    main()
