"""Mutation testing of the machine's tables: which checks of a chip no forged row has yet shown to be needed.

Forges rows of every chip at random (tests/vm/mutation.py). Fails on a forged row that nothing notices; lists the
checks that were never alone in noticing one.

    python -m tests.vm.mutate_tables [--rows 200000] [CHIP ...]
"""

import argparse

import numpy as np

from graphprover.vm.executor.execute import execute
from tests.vm.mutation import chips, forge, notice
from tests.vm.programs import everything

BATCH = 20000
TRIVIAL = (
    "STATE",
    "lands",
    "a lane",
)  # the chain of cycles, and what tests/vm/tables/test_tables.py shows for all chips


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000, help="forged in a chip")
    parser.add_argument("chips", nargs="*", metavar="CHIP", help="name of its table; default all")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    holes = checks = shown = 0
    for chip in chips(execute(everything(100), record=True)):
        if options.chips and chip.step.name not in options.chips:
            continue
        alone = None
        for _ in range(-(-options.rows // BATCH)):
            base, rows = forge(chip, BATCH, rng)
            base = np.concatenate([np.arange(chip.rows.shape[1]), base])
            rows = np.concatenate([chip.rows, rows], axis=1)
            seen = notice(chip, base, rows)
            by = seen.violated.sum(axis=0)
            for row in np.flatnonzero((by == 0) & seen.changed)[:3]:
                holes += 1
                honest = chip.rows[:, base[row]]
                cells = zip(chip.air.main_names, honest.tolist(), rows[:, row].tolist(), strict=True)
                print(f"{chip.step.name}: unnoticed", [(name, x, y) for name, x, y in cells if x != y])
            found = seen.violated[:, by == 1].any(axis=1)
            alone = found if alone is None else alone | found
        assert alone is not None
        needed = [i for i, label in enumerate(seen.labels) if not label.startswith(TRIVIAL)]
        missing = [seen.labels[i] for i in needed if not alone[i]]
        checks, shown = checks + len(needed), shown + len(needed) - len(missing)
        print(
            f"{chip.step.name}: {len(needed)} checks{', not shown: ' if missing else ''}{', '.join(missing)}",
            flush=True,
        )
    print(f"{shown} of {checks} checks shown to be needed, {holes} forged rows unnoticed")
    return 1 if holes else 0


if __name__ == "__main__":
    raise SystemExit(main())
