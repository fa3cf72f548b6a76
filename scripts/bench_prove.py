"""Whole proofs of one synthetic table: time, memory against the plan, scaling, and the verifier's time.

    python scripts/bench_prove.py [--from 12] [--to 18] [--width 100] [--interactions 20] [--repeat 3]
                                  [--threads 8] [--rounds] [--json]

Prints one line a size; the last column is the time over that of the size before, which doubles the rows. --rounds adds
every round's time against its floor, for the last size and on one thread, whose ceilings are measured.
"""

import argparse
import time
import tracemalloc

import checkout  # noqa: F401 (finds the package)
from bench_kernels import roofline
from figures import Figures, add_option
from graphprover import prove, verify
from graphprover.device import CpuDevice
from graphprover.examples.synthetic import statement
from graphprover.graphs.planner.plan import make_plan
from graphprover.graphs.planner.roofline import Roofline
from graphprover.prover.prepare import prepare
from rounds import report, timed


def measure(log_rows: int, width: int, interactions: int, repeat: int, threads: int) -> tuple[float, float, float, int]:
    """Best seconds to prove, seconds to verify, peak bytes over planned bytes, bytes of the proof."""
    proved = statement(log_rows, width, interactions)
    device = CpuDevice(threads)
    planned = make_plan(prepare(proved, rate=2).layout).peak_bytes(threads)
    best = float("inf")
    for _ in range(repeat):
        started = time.perf_counter()
        proof = prove(proved, rate=2, device=device)
        best = min(best, time.perf_counter() - started)
    started = time.perf_counter()
    verify(proof, proved)
    verified = time.perf_counter() - started
    tracemalloc.start()
    prove(proved, rate=2, device=device)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return best, verified, peak / planned, len(proof.to_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", type=int, default=12)
    parser.add_argument("--to", dest="last", type=int, default=18)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--interactions", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=CpuDevice().threads)
    parser.add_argument("--rounds", action="store_true")
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    prove(statement(6, options.width, options.interactions), rate=2)  # compile
    out.text(
        f"{options.width} columns, {options.interactions} interactions, degree 3, rate 1/2, 128 bits, "
        f"{options.threads} threads",
        "rows    prove s  verify s  peak/plan   proof KiB  x rows before",
    )
    before = None
    for log_rows in range(options.first, options.last + 1):
        seconds, verified, memory, size = measure(
            log_rows, options.width, options.interactions, options.repeat, options.threads
        )
        growth = f"{seconds / before:.2f}" if before else "-"
        out.text(f"2^{log_rows:<4}  {seconds:8.3f}  {verified:8.3f}  {memory:9.2f}  {size / 1024:10.0f}  {growth:>13}")
        shape = {"width": options.width, "interactions": options.interactions, "threads": options.threads}
        out(f"prove 2^{log_rows}", seconds, "s", **shape)
        out(f"verify 2^{log_rows}", verified, "s", **shape)
        out(f"peak of the plan 2^{log_rows}", memory, "", **shape)
        out(f"proof size 2^{log_rows}", size, "bytes", **shape)
        before = seconds
    if options.rounds:
        proved = statement(options.last, options.width, options.interactions)
        ceiling = Roofline(**roofline())
        _, spent = timed(proved, CpuDevice(1))
        out.text(f"\n2^{options.last} rows, one thread; {ceiling}")
        report(out, f"2^{options.last} on one thread", spent, make_plan(prepare(proved, rate=2).layout), ceiling)


if __name__ == "__main__":
    main()
