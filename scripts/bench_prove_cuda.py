"""Whole proofs on a GPU: time, traffic and memory.

    python scripts/bench_prove_cuda.py [--log-rows 20] [--width 100] [--repeat 5] [--sync] [--json]

1. One table of 2^log-rows rows: milliseconds with the trace on the device; kernel launches; bytes over PCIe; peak
   device memory over the planned one; every round's time against its floor. --sync has one more proof wait for the
   device after every task, so that the rounds' times are the device's own.
2. Fifty tables of 2^4 to 2^18 rows, 15 columns and 12 interactions each, 2^20 rows in all.
"""

import argparse
import statistics
from dataclasses import replace
from typing import Any

import checkout  # noqa: F401 (finds the package)
from figures import Figures, add_option
from graphprover import Statement, Table, prove, verify
from graphprover.device.choose import device_for
from graphprover.examples import synthetic
from graphprover.graphs.planner.plan import make_plan
from graphprover.graphs.planner.roofline import Roofline
from graphprover.prover.prepare import prepare
from rounds import Synchronised, report, timed


def measure(
    out: Figures, gpu: Any, ceiling: Roofline, name: str, statement: Statement, repeat: int, *, sync: bool
) -> None:
    """Print one statement's figures; its traces lie on the device."""
    planned = make_plan(prepare(statement, rate=2).layout, gpu.log_batch_rows)
    prove(statement, rate=2, device=gpu)
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
    out.text(
        f"{name}: best {1000 * best.proof:.1f} ms, median {1000 * median:.1f} ms; scheduler {scheduler:.1%}; "
        f"{launches} launches; "
        f"PCIe {traffic / 2**20:.1f} MiB; peak/plan {peak:.2f}; proof {len(proof.payload) / 1024:.0f} KiB"
    )
    out(f"{name}: prove", 1000 * median, "ms", best=1000 * best.proof)
    out(f"{name}: scheduler", scheduler, "of the time")
    out(f"{name}: launches", launches, "launches")
    out(f"{name}: over the bus", traffic, "bytes")
    out(f"{name}: peak of the plan", peak, "")
    out(f"{name}: proof size", len(proof.payload), "bytes")
    if sync:
        again, best = timed(statement, Synchronised(gpu))
        assert again == proof
        out.text("waiting for the device after every task:")
    report(out, name, best, planned, ceiling)
    verify(proof, statement)


def on_device(table: Table) -> Table:
    """The table, its trace on the GPU."""
    import cupy

    return replace(table, main=cupy.asarray(table.main))


def mixed() -> Statement:
    """Fifty tables, 2^20 rows in all."""
    heights = [18, 18, 17, 17, 16, 16] + [15] * 2 + [14] * 6 + [12] * 6 + [10] * 8 + [8] * 8 + [6] * 7 + [4] * 7
    return Statement([on_device(synthetic.table(h, 15, 12, f"t{i}")) for i, h in enumerate(heights)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log-rows", type=int, default=20)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--interactions", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--sync", action="store_true")
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    from roofline_cuda import roofline  # imports CuPy, which --help does without

    gpu = device_for("cuda")
    with gpu.task():
        ceiling = Roofline(**roofline())
    out.text(ceiling)
    for log_rows in sorted({16, 18, options.log_rows}):
        statement = Statement([on_device(synthetic.table(log_rows, options.width, options.interactions))])
        name = f"2^{log_rows} x {options.width}, {options.interactions} interactions"
        measure(out, gpu, ceiling, name, statement, options.repeat, sync=options.sync)
    measure(out, gpu, ceiling, "50 tables", mixed(), options.repeat, sync=options.sync)


if __name__ == "__main__":
    main()
