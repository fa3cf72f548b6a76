"""What small tables gain by going through the rounds together, and by streams beside the proof's own.

    python scripts/bench_batches_cuda.py [--repeat 9]

Sixteen and fifty tables of mixed heights, each way in turn in every repetition: a task for each table and one stream;
only the smaller tables in a batch; all of them; and their kernels on several streams. The bytes must not differ.
"""

import argparse
import statistics
import time
from typing import Any

from graphprover import Statement, prove
from graphprover.device.choose import device_for
from graphprover.device.interface import CUDA_BATCH
from graphprover.kernels.cuda import streams
from scripts.bench_prove_cuda import mixed, on_device
from scripts.synthetic import table

SEVERAL = streams.streams
WAYS = {
    "alone, one stream": (-1, 1),
    f"batches up to 2^{CUDA_BATCH - 4}, one stream": (CUDA_BATCH - 4, 1),
    f"batches up to 2^{CUDA_BATCH}, one stream": (CUDA_BATCH, 1),
    f"batches up to 2^{CUDA_BATCH}, {SEVERAL} streams": (CUDA_BATCH, SEVERAL),
}


def sixteen() -> Statement:
    """Sixteen tables of 2^10 to 2^18 rows, 2^20 rows in all."""
    heights = [18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 10, 10]
    return Statement([on_device(table(h, 15, 12, f"t{i}")) for i, h in enumerate(heights)])


def measure(gpu: Any, name: str, statement: Statement, repeat: int) -> None:
    """Print each way's median; the first repetition compiles and is not counted."""
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    launches: dict[str, int] = {}
    proofs = set()
    for _ in range(repeat + 1):
        for way, (log_batch_rows, beside) in WAYS.items():
            gpu.log_batch_rows, streams.streams = log_batch_rows, beside
            gpu.usage.clear()
            gpu.synchronize()
            started = time.perf_counter()
            proofs.add(prove(statement, device=gpu).payload)
            times[way].append(time.perf_counter() - started)
            launches[way] = sum(usage.launches for usage in gpu.usage.values())
    assert len(proofs) == 1
    for way, each in times.items():
        median, best = (1000 * value for value in (statistics.median(each[1:]), min(each[1:])))
        print(f"{name}, {way}: median {median:.1f} ms, best {best:.1f} ms, {launches[way]} launches", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    gpu = device_for("cuda")
    measure(gpu, "16 tables", sixteen(), options.repeat)
    measure(gpu, "50 tables", mixed(), options.repeat)


if __name__ == "__main__":
    main()
