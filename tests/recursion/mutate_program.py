"""The mutations of the verifier's program: each instruction is dropped, and some attack must succeed without it.

    python -m tests.recursion.mutate_program

Jumps, calls, returns and the halt are no mutations. The checks are all instructions that attacks of `families.py` kill,
and all that only compare in the honest runs. Instructions that no run of these proofs takes are counted.

Prints a line for each place in the source: the instructions there, and how their mutations are killed. The exit code is
1 if a check survives that is not in `families.EQUIVALENT`.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping

from tests.recursion.adversaries import BASES, base, idle, killed_by, mutations
from tests.recursion.families import EQUIVALENT, FAMILIES, equivalent
from tests.recursion.sites import by_site


def killed_by_families() -> dict[int, str]:
    """Return the attack that kills each mutation, by the address of its instruction."""
    found: dict[int, str] = {}
    for family in FAMILIES.values():
        found = killed_by(family.attacks(base(family.base)), found)
    return found


def report(found: Mapping[int, str], wanted: set[int]) -> None:
    """Print a line for each place in the source."""
    for site, pcs in by_site().items():
        own = [pc for pc in pcs if pc in wanted]
        if not own:
            continue
        dead = [found[pc] for pc in own if pc in found]
        print(f"{site}: {len(own)} instructions, {len(dead)} killed{', by ' + dead[0] if dead else ''}")


def main() -> int:
    """Run all mutations."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    begin = time.perf_counter()
    found = killed_by_families()
    visited = {pc for name in BASES for pc in base(name).visits}
    checks = set.union(set(found), equivalent(), *(idle(base(name)) for name in BASES)) & visited
    report(found, checks)
    print("Mutations that accept nothing more:")
    for own in EQUIVALENT:
        print(f"{', '.join(own.key)}: {len(own.instructions)} instructions: {own.reason}")
    survivors = checks - set(found) - equivalent()
    counts = Counter(checks=len(checks), killed=len(checks & set(found)), equivalent=len(equivalent() & checks))
    print(f"{dict(counts)}, survivors: {sorted(survivors) or 'none'}")
    print(f"{len(mutations()) - len(visited & set(mutations()))} instructions that no run takes")
    print(f"{time.perf_counter() - begin:.0f} s")
    return int(bool(survivors or set(found) & equivalent()))


if __name__ == "__main__":
    sys.exit(main())
