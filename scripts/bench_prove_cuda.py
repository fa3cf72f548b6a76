"""Whole proofs on a GPU: the bytes of the CPU's, then time, traffic and memory.

    python scripts/bench_prove_cuda.py [--random 50] [--log-rows 20] [--width 100] [--interactions 20] [--repeat 5]
                                       [--sync]

1. Parity: the packaged examples and random statements, byte for byte against the CPU device.
2. One table of 2^log-rows rows: milliseconds with the trace on the device; kernel launches; bytes over PCIe; peak
   device memory over the planned one; every round's time against its floor. --sync has one more proof wait for the
   device after every task, so that the rounds' times are the device's own.
3. Fifty tables of 2^4 to 2^18 rows, 15 columns and 12 interactions each, 2^20 rows in all.
"""

import argparse
import statistics
from typing import Any

import cupy

from graphprover import Statement, Table, prove, verify
from graphprover.device import CpuDevice
from graphprover.device.choose import device_for
from graphprover.graphs.plan import make_plan
from graphprover.programs import load_packaged, packaged_names
from graphprover.prover import layout_of
from scripts.bench_kernels_cuda import ceilings
from scripts.rounds import Ceilings, Synchronised, report, timed
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


def measure(gpu: Any, ceiling: Ceilings, name: str, statement: Statement, repeat: int, *, sync: bool) -> None:
    """Print one statement's figures; its traces lie on the device."""
    planned = make_plan(layout_of(statement), gpu.log_batch_rows)
    prove(statement, device=gpu)
    runs = []
    for _ in range(repeat):
        gpu.usage.clear()
        gpu.memory.reset()
        before = gpu.memory.held()
        gpu.synchronize()
        proof, spent = timed(statement, gpu)
        runs.append(spent)
    launches = sum(usage.launches for usage in gpu.usage.values())
    traffic = sum(usage.uploaded + usage.downloaded for usage in gpu.usage.values())
    best = min(runs, key=lambda run: run.proof)
    median = statistics.median(run.proof for run in runs)
    scheduler = statistics.median(run.scheduler / run.proof for run in runs)
    peak = (gpu.memory.peak - before) / planned.peak_bytes(1)
    print(
        f"{name}: best {1000 * best.proof:.1f} ms, median {1000 * median:.1f} ms; scheduler {scheduler:.1%}; "
        f"{launches} launches; "
        f"PCIe {traffic / 2**20:.1f} MiB; peak/plan {peak:.2f}; proof {len(proof.payload) / 1024:.0f} KiB",
        flush=True,
    )
    if sync:
        each, best = timed(statement, Synchronised(gpu))
        assert each == proof
        print("waiting for the device after every task:")
    print(*report(best, planned, ceiling), sep="\n", flush=True)
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
    parser.add_argument("--sync", action="store_true")
    options = parser.parse_args()
    gpu = device_for("cuda")
    with gpu.task():
        ceiling = Ceilings(**ceilings())
    print(ceiling, flush=True)
    parity(gpu, options.random)
    for log_rows in sorted({16, 18, options.log_rows}):
        statement = Statement([on_device(table(log_rows, options.width, options.interactions))])
        name = f"2^{log_rows} x {options.width}, {options.interactions} interactions"
        measure(gpu, ceiling, name, statement, options.repeat, sync=options.sync)
    measure(gpu, ceiling, "50 tables", mixed(), options.repeat, sync=options.sync)


if __name__ == "__main__":
    main()
