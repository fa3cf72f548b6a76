"""Time, memory and size of one run's proof in GPU pools of several sizes.

    python scripts/measure_pools_cuda.py [--pools 64,24,16,12,8] [--bytes 1048576] [--turns 2]

The run is sha256 of --bytes bytes. For each pool, given in 10^9 bytes, the proof has the fewest shards that fit. The
first proof in a pool compiles the kernels of its tables and is not counted; the table has the best of --turns others,
from the record to the proof's bytes, with the time of planning. The last column is relative to the first pool.
"""

import argparse
from dataclasses import replace

import checkout  # noqa: F401 (finds the package)
from cluster_figures import Here
from graphprover.admission.admission import TooLarge
from graphprover.graphs.batches import Hold, Holds
from graphprover.prover.autoshard import fitting
from graphprover.prover.peak_memory import memory_plan
from shard_figures import Proved, Sizes, allowed, recorded

COLUMNS = "{:>8} {:>7} {:>10} {:>8} {:>8} {:>9} {:>13} {:>9}"


def held_less(holds: list[Holds]) -> str:
    """Return how many batches of all shards hold traces, and how many main columns alone."""
    levels = [hold for of_shard in holds for hold in of_shard.values()]
    return f"{levels.count(Hold.TRACES)} + {levels.count(Hold.MAIN)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", default="64,24,16,12,8", help="pools in 10^9 bytes, the largest first")
    parser.add_argument("--bytes", type=int, default=Sizes().sha256, help="of the input")
    parser.add_argument("--turns", type=int, default=2, help="counted proofs in each pool")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="cpu limits the host's memory")
    options = parser.parse_args()
    here = Here(options.device, 1, replace(Sizes(), sha256=options.bytes))
    subject = recorded(here, here.sizes.runs()[1])
    lines, first = (
        [COLUMNS.format("pool", "shards", "held less", "time", "peak", "planned", "proof", "time / 1st")],
        0.0,
    )
    for pool in map(float, options.pools.split(",")):
        made: list[Proved] = []
        with allowed(subject.device, int(pool * 1e9)):
            plan = memory_plan(fitting(subject.cut, subject.execution.cycles, subject.device), subject.device)
            try:
                made = [subject.proved(None) for _ in range(1 + options.turns)]
            except TooLarge as error:
                lines.append(f"{pool:g} GB: {error}")
                continue
        best = min(made[1:], key=lambda proved: proved.seconds)
        first = first or best.seconds
        holds = [shard.holds for shard in plan.shards.shards] if plan.shards else [plan.holds]
        peak = max(proved.peak for proved in made)
        lines.append(
            COLUMNS.format(
                f"{pool:g} GB", len(holds), held_less(holds), f"{best.seconds:.3f} s", f"{peak / 1e9:.2f} GB",
                f"{best.made.peak_bytes / 1e9:.2f} GB", f"{len(best.made.proof.to_bytes()) / 1e6:.1f} MB",
                f"{best.seconds / first:.2f}",
            )
        )  # fmt: skip
        print(lines[-1], flush=True)
    print("\n".join(["", *lines]))


if __name__ == "__main__":
    main()
