"""The mutations of the verifier's program: each instruction is dropped, and some attack must succeed without it.

    python -m tests.recursion.mutate_program [--results]

Jumps, calls, returns and the halt are no mutations. The checks are all instructions that attacks of `families.py` kill,
and all that only compare in the honest runs. With ``--results``, all other instructions are attacked, too: each of them
gets another result, at its first or last visit. Instructions that no run of these proofs takes are counted.

Prints a line for each place in the source: the instructions there, and how their mutations are killed. The exit code is
1 if a check survives that is not in `families.EQUIVALENT`.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping

from graphprover.recursion.program import run as runs
from tests.recursion.adversaries import BASES, attacks_on_results, base, idle, killed, killed_by, mutations
from tests.recursion.attacked import taken
from tests.recursion.families import EQUIVALENT, FAMILIES, equivalent
from tests.recursion.sites import by_site

MOST_STEPS = 1 << 16  # of an attacked run, which may turn in a loop


def killed_by_families() -> dict[int, str]:
    """Return the attack that kills each mutation, by the address of its instruction."""
    found: dict[int, str] = {}
    for family in FAMILIES.values():
        found = killed_by(family.attacks(base(family.base)), found)
    return found


def killed_by_results(pcs: list[int]) -> dict[int, str]:
    """Return the attack on its result that kills each mutation, if one does."""
    found: dict[int, str] = {}
    for pc in pcs:
        for attack in attacks_on_results(pc):
            refused = taken(attack.scene, attack.edits)
            if refused is not None and refused.pc == pc and killed(attack) == pc:
                found[pc] = attack.name
                break
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
    """Run the mutations that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", action="store_true", help="attack the results of all instructions, too")
    arguments = parser.parse_args()
    runs.MOST_STEPS = MOST_STEPS
    begin = time.perf_counter()
    found = killed_by_families()
    visited = {pc for name in BASES for pc in base(name).visits}
    checks = set.union(set(found), equivalent(), *(idle(base(name)) for name in BASES)) & visited
    others = [pc for pc in mutations() if pc in visited and pc not in checks]
    found |= killed_by_results(sorted(checks - set(found) - equivalent()))
    wanted = checks | set(others if arguments.results else ())
    if arguments.results:
        found |= killed_by_results(others)
    report(found, wanted)
    print("Mutations that accept nothing more:")
    for own in EQUIVALENT:
        print(f"{', '.join(own.key)}: {len(own.instructions)} instructions: {own.reason}")
    survivors = checks - set(found) - equivalent()
    counts = Counter(checks=len(checks), killed=len(checks & set(found)), equivalent=len(equivalent() & checks))
    print(f"{dict(counts)}, survivors: {sorted(survivors) or 'none'}")
    if arguments.results:
        dead = sum(pc in found for pc in others)
        print(f"{len(others)} other instructions: {dead} killed by another result")
    print(f"{len(mutations()) - len(visited & set(mutations()))} instructions that no run takes")
    print(f"{time.perf_counter() - begin:.0f} s")
    return int(bool(survivors or set(found) & equivalent()))


if __name__ == "__main__":
    sys.exit(main())
