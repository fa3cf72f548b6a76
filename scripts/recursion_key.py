"""Write the recursion key, `graphprover/recursion/commitments.py`, again after a change of a layer's tables or program.

python scripts/recursion_key.py
"""

import argparse
from pathlib import Path

import checkout  # noqa: F401 (finds the package)
from graphprover.protocol.parameters import RATES
from graphprover.recursion.key import commitments

FILE = Path(__file__).parents[1] / "graphprover/recursion/commitments.py"
HEAD = '''"""The commitments to a layer's preprocessed columns; scripts/recursion_key.py writes this file."""

COMMITMENTS = {  # by log2 of the inverse rate
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    found = commitments(RATES.values())
    lines = [f'    {log_blowup}: "{digest}",\n' for log_blowup, digest in found.items()]
    FILE.write_text("".join([HEAD, *lines, "}\n"]))


if __name__ == "__main__":
    main()
