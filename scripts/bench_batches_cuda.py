"""What small tables gain by going through the rounds together.

    python scripts/bench_batches_cuda.py [--repeat 9] [--json]

Sixteen and fifty tables of mixed heights, each way in turn in every repetition: a task for each table; only the smaller
tables in a batch; all of them. The bytes must not differ.
"""

import argparse
import statistics
import time
from typing import Any

import checkout  # noqa: F401 (finds the package)
from bench_prove_cuda import mixed, on_device
from figures import Figures, add_option
from graphprover import Statement, prove
from graphprover.device.choose import device_for
from graphprover.device.interface import CUDA_BATCH
from graphprover.examples.synthetic import table

# log2 of the most rows of a table in a batch
WAYS = {
    "alone": -1,
    f"batches up to 2^{CUDA_BATCH - 4}": CUDA_BATCH - 4,
    f"batches up to 2^{CUDA_BATCH}": CUDA_BATCH,
}


def sixteen() -> Statement:
    """Sixteen tables of 2^10 to 2^18 rows, 2^20 rows in all."""
    heights = [18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 10, 10]
    return Statement([on_device(table(h, 15, 12, f"t{i}")) for i, h in enumerate(heights)])


def measure(out: Figures, gpu: Any, name: str, statement: Statement, repeat: int) -> None:
    """Print each way's median; the first repetition compiles and is not counted."""
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    launches: dict[str, int] = {}
    proofs = set()
    for _ in range(repeat + 1):
        for way, log_batch_rows in WAYS.items():
            gpu.log_batch_rows = log_batch_rows
            gpu.usage.clear()
            gpu.synchronize()
            started = time.perf_counter()
            proofs.add(prove(statement, rate=2, device=gpu).payload)
            times[way].append(time.perf_counter() - started)
            launches[way] = sum(usage.launches for usage in gpu.usage.values())
    assert len(proofs) == 1
    for way, (_, *counted) in times.items():
        median, best = (1000 * value for value in (statistics.median(counted), min(counted)))
        out.text(f"{name}, {way}: median {median:.1f} ms, best {best:.1f} ms, {launches[way]} launches")
        out(f"{name}, {way}", median, "ms", best=best)
        out(f"{name}, {way}: launches", launches[way], "launches")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9, help="runs of each way")
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    gpu = device_for("cuda")
    measure(out, gpu, "16 tables", sixteen(), options.repeat)
    measure(out, gpu, "50 tables", mixed(), options.repeat)


if __name__ == "__main__":
    main()
