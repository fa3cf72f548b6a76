"""The checks of a layer, removed one by one: some test must fail without each of them.

    python -m tests.recursion.remove_checks [--only tables head native]

- tables: each constraint, each message and each element of a message of `machine`, `blake3` and `fixed`.
- head: each record of a list in a head, and numbers that say how often something is checked.
- native: each check of headers in the verification of compressed proofs.

Prints a line for each removal, with the test that notices it. The exit code is 1 if no test does and the removal is not
listed as redundant, or if one that is listed is noticed, or is none.
"""

import argparse
import sys
import time
from collections.abc import Sequence

import pytest
from _pytest.runner import runtestprotocol

from tests.recursion.removals import Group, Removal
from tests.recursion.removed_head import HEAD
from tests.recursion.removed_native import NATIVE
from tests.recursion.removed_tables import TABLES

GROUPS = {"tables": TABLES, "head": HEAD, "native": NATIVE}


class _Removing:
    """A plugin that runs the tests again for each removal, instead of once."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.wrong: list[str] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests without a removal, and then for each removal until one fails."""
        failing = _failing(session.items)
        if failing or session.testsfailed or not session.items:
            self.wrong.append(f"without a removal: {failing or 'no tests'}")
            return True
        redundant, removals = dict(self.group.redundant()), self.group.removals()
        for removal in removals:
            begin = time.perf_counter()
            failing = self._of(removal, session.items)
            reason = redundant.pop(removal.name, None)
            if bool(failing) == bool(reason):
                self.wrong.append(f"{removal.name}: {'noticed, though listed' if failing else 'survives'}")
            told = f"noticed by {failing}" if failing else f"redundant: {reason}" if reason else "SURVIVES"
            print(f"{removal.name}: {told} ({time.perf_counter() - begin:.1f} s)", flush=True)
        self.wrong += [f"{name}: listed as redundant, and no removal" for name in redundant]
        print(f"{len(removals)} removals")
        return True

    def _of(self, removal: Removal, items: Sequence[pytest.Item]) -> str | None:
        first = [item for item in items if removal.first and removal.first in item.nodeid]
        with pytest.MonkeyPatch.context() as patch:
            self.group.clear()
            removal.apply(patch)
            failing = _failing([*first, *(item for item in items if item not in first)])
        self.group.clear()
        return failing


def _failing(items: Sequence[pytest.Item]) -> str | None:
    """Run tests until one fails, and return its name."""
    for item in items:
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=None)):
            return item.nodeid
    return None


def main() -> int:
    """Remove the checks that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=[*GROUPS])
    wrong: list[str] = []
    for name in parser.parse_args().only:
        plugin = _Removing(GROUPS[name])
        pytest.main([*GROUPS[name].tests, "-p", "no:cacheprovider", "--tb=native", "-s"], plugins=[plugin])
        wrong += plugin.wrong
    print(*wrong, sep="\n")
    print(f"{len(wrong)} unexplained")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
