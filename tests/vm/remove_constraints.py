"""Remove each constraint and each lookup of the machine's tables: which of them no forgery needs.

A check of a table, a constraint or a lookup, is needed if it alone refuses some forged rows: a table without it accepts
them. Checks are told apart by number, as one label stands for many. Prints the checks that no forgery needs. Fails on
one that is not known to be redundant (``REDUNDANT`` in tests/vm/tables), and on a redundant one that is needed.

    python -m tests.vm.remove_constraints [--table TABLE] [--rows 1000000] [--seed 1]
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from graphprover.vm.executor.execute import execute
from graphprover.vm.statement.table_numbers import ROWS_OF_CHIP
from graphprover.vm.tables.buses import LOOKUPS, Tag
from graphprover.vm.tables.chips import CHIPS
from tests.vm.mutation import Chip, chips, forge, notice
from tests.vm.programs import everything
from tests.vm.tables import test_calls, test_keccak_checks, test_sha256, test_state_checks
from tests.vm.tables.checks import names_of

BATCH, LEAST = 20_000, 40_000  # forged rows of a chip
CHECKS = {*(tag.name for tag in LOOKUPS), Tag.PROGRAM.name}  # lookups that are checks of a chip
LANE = "a lane executes or not"
NOT_JUDGED = {  # here, with the tests that are about them
    "common, rare, and chips with 2 or 4 lanes": "as in the chip's own table: test_mixed.py",
    f"that {LANE}": "test_tables.py",
    "sparse_range": "each of its constraints: test_fixed.py",
    "registers, image_memory, program, powers": "they have neither constraints nor lookups",
    "all messages that are no lookups in a fixed table": "each is changed and removed: test_messages.py",
}


@dataclass(frozen=True)
class Result:
    """The checks of a table, and the ones that forgeries need."""

    checks: list[str]
    needed: set[str]
    redundant: dict[str, str]  # with reasons


def of_call(name: str) -> Result:
    air = test_calls.description(name)
    return Result(names_of(air), test_calls.needed(name), test_calls.REDUNDANT[name])


def of_sha256() -> Result:
    return Result(names_of(test_sha256.AIR), test_sha256.needed(), test_sha256.REDUNDANT)


def of_keccak(name: str) -> Result:
    names = names_of(test_keccak_checks.description(name))
    return Result(names, test_keccak_checks.needed(name), test_keccak_checks.REDUNDANT.get(name, {}))


def of_state(name: str) -> Result:
    return Result(*test_state_checks.result(name), test_state_checks.REDUNDANT.get(name, {}))


def of_chip(chip: Chip, rows: int, rng: np.random.Generator) -> Result:
    """Judge a chip by forged rows: at least LEAST, and as long as checks are left at most ``rows``."""
    names, alone, wanted, done = [""], np.zeros(0, dtype=bool), np.ones(0, dtype=bool), 0
    while done < LEAST or (done < rows and not alone[wanted].all()):
        base, forged = forge(chip, BATCH, rng)
        base = np.concatenate([np.arange(chip.rows.shape[1]), base])
        seen = notice(chip, base, np.concatenate([chip.rows, forged], axis=1))
        by = seen.violated.sum(axis=0)
        if ((by == 0) & seen.changed).any():
            raise AssertionError(f"{chip.step.name}: a forged row passes all checks")
        found = np.asarray(seen.violated[:, by == 1].any(axis=1))
        alone = found if not done else alone | found
        names = seen.labels
        constraints = len(chip.air.constraints)
        wanted = np.array(
            [
                (i < constraints and not label.startswith(LANE)) or label.split(" ")[0] in CHECKS
                for i, label in enumerate(names)
            ]
        )
        done += BATCH
    checks = [name for name, of in zip(names, wanted, strict=True) if of]
    return Result(checks, {name for name, of in zip(names, alone, strict=True) if of}, {})


def all_tables(rows: int, seed: int) -> Iterator[tuple[str, Callable[[], Result]]]:
    """Yield the name of each table and a function that judges it."""
    for name in test_calls.TABLES:
        yield name, lambda name=name: of_call(name)  # type: ignore[misc]
    yield "sha256", of_sha256
    for name in test_keccak_checks.TABLES:
        yield name, lambda name=name: of_keccak(name)  # type: ignore[misc]
    for name in test_state_checks.TABLES:
        yield name, lambda name=name: of_state(name)  # type: ignore[misc]
    rng, made = np.random.default_rng(seed), dict[str, Chip]()

    def chip(name: str) -> Result:
        if not made:
            made.update({chip.step.name: chip for chip in chips(execute(everything(100), record=True))})
        return of_chip(made[name], rows, rng)

    for name in (name for name in CHIPS if name not in ROWS_OF_CHIP):
        yield name, lambda name=name: chip(name)  # type: ignore[misc]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", help="only the tables whose name begins so")
    parser.add_argument("--rows", type=int, default=1_000_000, help="most that are forged in a chip of one row")
    parser.add_argument("--seed", type=int, default=1, help="of these rows")
    options = parser.parse_args()
    checks = wrong = 0
    for name, judge in all_tables(options.rows, options.seed):
        if options.table and not name.startswith(options.table):
            continue
        result = judge()
        left = [check for check in result.checks if check not in result.needed]
        unknown = [check for check in left if check not in result.redundant]
        needed = [check for check in result.redundant if check not in left]
        checks, wrong = checks + len(result.checks), wrong + len(unknown) + len(needed)
        print(f"{name}: {len(result.checks)} checks, {len(left) - len(unknown)} redundant", flush=True)
        for check in unknown:
            print(f"  no forgery needs: {check}")
        for check in needed:
            print(f"  not redundant: {check}")
    for tables, tests in NOT_JUDGED.items():
        print(f"not judged: {tables} ({tests})")
    print(f"{checks} checks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
