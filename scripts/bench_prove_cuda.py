"""Whole proofs on a GPU: the bytes of the CPU's, then time, traffic and memory.

    python scripts/bench_prove_cuda.py [--random 50] [--log-rows 20] [--width 100] [--interactions 20] [--repeat 5]

1. Parity: the packaged examples and random statements, byte for byte against the CPU device.
2. One table of 2^log-rows rows: milliseconds with the trace on the device, by round; kernel launches; bytes over PCIe;
   peak device memory over the planned one.
3. Fifty tables of 2^4 to 2^18 rows, 15 columns and 12 interactions each, 2^20 rows in all.
"""

import argparse
import statistics
import time
from collections import defaultdict
from typing import Any

import cupy
import numpy as np
from dask.diagnostics import Profiler

from graphprover import Statement, Table, prove, verify
from graphprover.device import CpuDevice
from graphprover.device.choose import device_for
from graphprover.graphs.plan import make_plan
from graphprover.programs import load_packaged, packaged_names
from graphprover.prover import plan
from scripts.synthetic import table


def parity(gpu: Any, count: int) -> None:
    """Raises AssertionError for the first statement whose proofs differ."""
    from tests.random_statements import random_statement

    cpu = CpuDevice()
    for name in packaged_names():
        statement = load_packaged(name).statement_for(None)
        assert prove(statement, device=gpu) == prove(statement, device=cpu), name
    for seed in range(count):
        parameters, statement = random_statement(
            seed, tables=1 + seed % 4, max_log_height=1 + seed % 11, max_width=1 + seed % 30, max_degree=1 + seed % 7
        )
        ours = prove(statement, parameters=parameters, device=gpu)
        assert ours == prove(statement, parameters=parameters, device=cpu), f"random statement {seed}"
    print(f"parity: {len(packaged_names())} examples and {count} random statements have the CPU's bytes", flush=True)


def measure(gpu: Any, name: str, statement: Statement, repeat: int) -> None:
    """Print one statement's figures; its traces lie on the device."""
    planned = make_plan(plan(statement)).peak_bytes(1)
    prove(statement, device=gpu)
    times, rounds = [], []
    for _ in range(repeat):
        gpu.usage.clear()
        gpu.memory.reset()
        before = gpu.memory.held()
        with Profiler() as tasks:
            gpu.synchronize()
            started = time.perf_counter()
            proof = prove(statement, device=gpu)
            times.append(time.perf_counter() - started)
        spent: dict[str, float] = defaultdict(float)
        for task in tasks.results:
            spent[str(task.key).partition("-")[0]] += task.end_time - task.start_time
        rounds.append(spent)
    launches = sum(usage.launches for usage in gpu.usage.values())
    traffic = sum(usage.uploaded + usage.downloaded for usage in gpu.usage.values())
    tasks_ms = 1000 * statistics.median(sum(spent.values()) for spent in rounds)
    best, median = 1000 * min(times), 1000 * statistics.median(times)
    peak = (gpu.memory.peak - before) / planned
    print(
        f"{name}: best {best:.1f} ms, median {median:.1f} ms; in tasks {tasks_ms:.1f} ms; {launches} launches; "
        f"PCIe {traffic / 2**20:.1f} MiB; peak/plan {peak:.2f}; proof {len(proof.payload) / 1024:.0f} KiB",
        flush=True,
    )
    slowest = sorted(rounds[int(np.argmin(times))].items(), key=lambda each: -each[1])[:12]
    print("   ms: " + ", ".join(f"{round_} {1000 * seconds:.1f}" for round_, seconds in slowest), flush=True)
    verify(proof, statement)


def on_device(each: Table) -> Table:
    return Table(each.air, each.public_values, cupy.asarray(each.main))


def mixed() -> Statement:
    """Fifty tables, 2^20 rows in all."""
    heights = [18, 18, 17, 17, 16, 16] + [15] * 2 + [14] * 6 + [12] * 6 + [10] * 8 + [8] * 8 + [6] * 7 + [4] * 7
    return Statement([on_device(table(h, 15, 12, f"t{i}")) for i, h in enumerate(heights)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=50)
    parser.add_argument("--log-rows", type=int, default=20)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--interactions", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    gpu = device_for("cuda")
    parity(gpu, options.random)
    for log_rows in sorted({16, 18, options.log_rows}):
        statement = Statement([on_device(table(log_rows, options.width, options.interactions))])
        measure(gpu, f"2^{log_rows} x {options.width}, {options.interactions} interactions", statement, options.repeat)
    measure(gpu, "50 tables", mixed(), options.repeat)


if __name__ == "__main__":
    main()
