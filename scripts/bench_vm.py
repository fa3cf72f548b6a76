"""Speed of the executor on one core: instructions of the guests for each second, without and with the record.

    python scripts/bench_vm.py [--json]

The ceiling of a run with the record is the run without. Figures are the best of several runs, including set-up.
"""

import argparse
import hashlib
import json
import struct
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 (finds the package)
from figures import Figures, add_option
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf

GUESTS = Path(__file__).parents[1] / "examples/guests"
REPEATS = 5


def best(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of the fastest of several runs, after one that compiles, and its result."""
    result = run()
    seconds = []
    for _ in range(REPEATS):
        result = None  # free the last result, so that each run touches fresh memory
        start = time.thread_time()
        result = run()
        seconds.append(time.thread_time() - start)
    return min(seconds), result


def some_bytes(size: int) -> bytes:
    return hashlib.shake_128(b"graphprover").digest(size)


def inputs() -> dict[str, bytes]:
    """Return a long-running input for each guest."""
    document = [{"name": f"row {i}", "values": [i, -i, i / 8, None, True], "more": {}} for i in range(20_000)]
    return {
        "fib_iterative": struct.pack("<Q", 800_000),
        "sha256": some_bytes(100_000),
        "keccak": some_bytes(1_000_000),
        "quicksort": some_bytes(8 * 30_000),
        "matrix": some_bytes(2 * 8 * 90 * 90),
        "json": json.dumps(document, allow_nan=False).encode(),
        "interpreter": (GUESTS / "interpreter/samples/words.txt").read_bytes() + b"frequent(text_of(1000));",
        "merkle": struct.pack("<Q", 5) + some_bytes(32 * 65),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    out = Figures(parser.parse_args().json)
    out.text(f"{'guest':14}{'cycles':>12}{'M/s':>8}{'recorded':>10}{'bytes/cycle':>13}{'of ceiling':>12}")
    for name, data in inputs().items():
        image = load_elf((GUESTS / f"{name}.elf").read_bytes())
        plain, execution = best(partial(execute, image, data))
        cycles = execution.cycles
        recorded, execution = best(partial(execute, image, data, record=True))
        size = sum(stream.nbytes for stream in execution.record.streams)
        del execution
        rates = f"{cycles / plain / 1e6:8.0f}{cycles / recorded / 1e6:10.0f}"
        out.text(f"{name:14}{cycles:12,}{rates}{size / cycles:13.1f}{plain / recorded:12.0%}")
        out(name, cycles / plain / 1e6, "M/s", cycles=cycles)
        out(f"{name}, recorded", cycles / recorded / 1e6, "M/s", plain / recorded, bytes_per_cycle=size / cycles)


if __name__ == "__main__":
    main()
