"""The weights of the cost number: times of proofs, and the weights that fit them.

    python scripts/fit_cost.py --measure runs.json --device cuda [--rounds 3] [--elf FILE INPUT ...]
    python scripts/fit_cost.py runs.json more.json

With --measure, the runs of the example guests, and those of other ELF files, are proved in turn, three proofs a round,
so that a slow phase of the host meets all runs. The first proof of each turn is not counted. Then, for each run, the
counts of `graphprover.statement.cost` and the seconds of its fastest proof are written: proving alone, without the
guest's run and the choice of tables.

Without it, the fastest times of all files are fitted by least squares of relative errors, with no weight below zero:
all runs, and each half against the other. The last table has the errors of the current weights.
"""

import argparse
import gc
import json
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import checkout  # noqa: F401 (finds the package)
from bench_prove_vm import ELFS, GUESTS, input_of
from graphprover.device.choose import device_for
from graphprover.protocol.level import Level
from graphprover.prover.local import make
from graphprover.prover.prepare import Prepared, ready
from graphprover.runtime.files import write
from graphprover.statement.cost import PROOF, SECONDS_OF_UNIT, WEIGHTS
from graphprover.vm.statement.guest import load_guest

RUNS = {
    "fib": (0.05, 1, 4, 16, 50),  # million cycles
    "sha256": (200, 1 << 14, 1 << 16, 1 << 18, 10 << 16),  # bytes
    "keccak": (1 << 14, 1 << 18, 1 << 20, 1 << 22),
    "quicksort": (1000, 10_000, 40_000, 120_000, 400_000),  # words
    "json": (10, 1000, 4000, 20_000),  # objects
    "merkle": (8, 64),  # levels
    "matrix": (12, 50, 90, 180),  # rows
    "interpreter": (100, 1000, 4000, 8000),  # words
}
TURN = 3  # proofs of a run in a round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="runs to fit")
    parser.add_argument("--measure", type=Path, metavar="FILE", help="write runs with their times to FILE")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--elf", nargs=2, type=Path, action="append", default=[], metavar=("FILE", "INPUT"))
    parser.add_argument("--most", type=int, default=1 << 32, metavar="CYCLES", help="leave out longer runs")
    options = parser.parse_args()
    if options.measure:
        measure(options)
    elif options.files:
        report(read(options.files))
    else:
        parser.error("give files to fit, or --measure")


def data_of(guest: str, size: float) -> bytes:
    """Return the input of a run of this size."""
    if guest == "json":
        rows = [{"id": i, "tags": ["a", "bc"], "score": i / 8, "ok": i % 2 == 0, "n": None} for i in range(int(size))]
        return json.dumps(rows, allow_nan=False).encode()
    if guest == "merkle":
        return struct.pack("<Q", 5) + bytes(range(32)) * (int(size) + 1)
    if guest == "matrix":
        return np.random.default_rng(1).integers(0, 1 << 63, 2 * int(size) ** 2, dtype=np.uint64).tobytes()
    if guest == "fib":
        return struct.pack("<Q", int(size * 199_980))
    return input_of(guest, int(size))


def inputs(options: argparse.Namespace) -> Iterator[tuple[str, Path, bytes]]:
    """Yield name, ELF file and input of each run."""
    for guest, sizes in RUNS.items():
        for size in sizes:
            yield f"{guest} {size}", GUESTS / f"{ELFS.get(guest, guest)}.elf", data_of(guest, size)
    for elf, data in options.elf:
        yield f"{elf.stem} {data.stem}", elf, data.read_bytes()


def measure(options: argparse.Namespace) -> None:
    """Time proofs of all runs, and write them."""
    device = device_for(options.device)
    runs: list[tuple[dict[str, Any], Prepared]] = []
    for name, elf, data in inputs(options):
        guest = load_guest(str(elf), elf.stem, elf.read_bytes())
        run = guest.record(data)
        if run.cycles <= options.most:
            counts = {one.name: one.count for one in guest.cost_about(run, device=device).classes}
            prepared = ready(guest.statement_about(run, device=device), Level())
            assert isinstance(prepared, Prepared)
            runs.append(({"run": name, **counts, "seconds": float("inf")}, prepared))
    for number in range(options.rounds):
        for found, prepared in runs:
            for turn in range(TURN):
                gc.collect()
                started = time.perf_counter()
                make(prepared, device=device, verified=False)
                if turn:
                    found["seconds"] = min(found["seconds"], round(time.perf_counter() - started, 4))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        lines = ",\n".join(f"  {json.dumps(found, allow_nan=False)}" for found, _ in runs)
        write(options.measure, f"[\n{lines}\n]\n".encode())


def read(files: list[Path]) -> list[dict[str, Any]]:
    """Return the runs of all files, each with its least time."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        for run in json.loads(file.read_text()):
            before = found.setdefault(run["run"], run)
            before["seconds"] = min(before["seconds"], run["seconds"])
    return list(found.values())


def fit(counts: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return the weights, in seconds, with the least squares of relative errors; none is negative."""
    relative = counts / seconds[:, None]
    scale = relative.max(axis=0)
    weights, used = np.zeros(len(scale)), np.ones(len(scale), dtype=bool)
    while used.any():
        weights[:] = 0
        weights[used] = np.linalg.lstsq(relative[:, used] / scale[used], np.ones(len(seconds)), rcond=None)[0]
        if (weights >= 0).all():
            break
        used[weights.argmin()] = False
    return weights / scale


def report(runs: list[dict[str, Any]]) -> None:
    """Print the weights of all runs and of each half, and the errors of the current weights."""
    counts = np.array([[1 if name == PROOF else run[name] for name in WEIGHTS] for run in runs], dtype=float)
    seconds = np.array([run["seconds"] for run in runs])
    everything, even = np.arange(len(runs)), np.arange(len(runs)) % 2 == 0
    for what, fitted, checked in (
        ("all runs", everything, everything),
        ("every second run, checked with the others", even, ~even),
        ("the others, checked with every second run", ~even, even),
    ):
        weights = fit(counts[fitted], seconds[fitted])
        print(
            what, ", ".join(f"{name} {weight:.3g} s" for name, weight in zip(WEIGHTS, weights, strict=True)), sep=": "
        )
        print(errors_text(counts[checked] @ weights / seconds[checked] - 1))
    costs = counts @ np.array(list(WEIGHTS.values()))
    relative = costs / seconds
    print(
        f"current weights: {relative.sum() / (relative @ relative):.3g} s a unit here, {SECONDS_OF_UNIT} in the package"
    )
    errors = costs * relative.sum() / (relative @ relative) / seconds - 1
    print(errors_text(errors))
    for run, cost, error in zip(runs, costs, errors, strict=True):
        print(f"{run['run']:32} {run['cycles']:>13,} cycles  cost {cost:>16,.0f}  {run['seconds']:.4f} s  {error:+.1%}")


def errors_text(errors: np.ndarray) -> str:
    """Return a summary of relative errors."""
    size = np.abs(errors)
    mean, near = np.sqrt((errors**2).mean()), int((size <= 0.1).sum())
    return f"  errors: root mean square {mean:.1%}, greatest {size.max():.1%}, within 10 %: {near} of {len(errors)}"


if __name__ == "__main__":
    main()
