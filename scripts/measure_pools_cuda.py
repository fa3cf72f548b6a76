"""Time, memory and size of one run's proof in GPU pools of several sizes.

    python scripts/measure_pools_cuda.py [--run sha256] [--pools 64,24,16,12,8] [--bytes 1048576] [--turns 2]

The run is sha256 of --bytes bytes, or the mainnet block of examples/block. A pool is given in 10^9 bytes. Its proof has
the shards that the planner chooses, or those of the pool: 28:2 is a proof in two shards in 28 GB. The first proof in a
pool compiles the kernels of its tables and is not counted; the table has the best of --turns others, from the record to
the proof's bytes, with the time of planning. The column "less" counts the tables of all shards whose traces are held
instead of extensions, and those of which only main columns are held. The last column is relative to the first pool.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import checkout
from cluster_figures import Here
from graphprover import Prover
from graphprover.admission.admission import TooLarge
from graphprover.device.choose import device_for
from graphprover.examples.block import shipped
from graphprover.graphs.batches import Hold, Holds
from graphprover.prover.autoshard import fitting
from graphprover.prover.peak_memory import memory_plan
from graphprover.vm.statement.guest import Guest
from shard_figures import Proved, Recorded, Sizes, allowed, recorded

BLOCK = Path(checkout.ROOT) / "examples/block/block.elf"
COLUMNS = "{:>8} {:>7} {:>10} {:>8} {:>8} {:>9} {:>13} {:>9}"


def subject(here: Here, run: str) -> Recorded:
    """Return the recorded run."""
    if run == "sha256":
        return recorded(here, here.sizes.runs()[1])
    guest = Prover(BLOCK).program
    assert isinstance(guest, Guest)
    return Recorded(guest, guest.record(shipped.load("mainnet_24628607").to_bytes()), device_for(here.kind))


def held_less(holds: list[Holds]) -> str:
    """Return of how many tables of all shards traces are held, and of how many main columns alone."""
    levels = [hold for of_shard in holds for hold in of_shard.values()]
    return f"{levels.count(Hold.TRACES)} + {levels.count(Hold.MAIN)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="sha256", choices=("sha256", "block"))
    parser.add_argument("--pools", default="64,24,16,12,8", help="pools in 10^9 bytes, perhaps with shards: 64,28,28:2")
    parser.add_argument("--bytes", type=int, default=Sizes().sha256, help="of the input")
    parser.add_argument("--turns", type=int, default=2, help="counted proofs in each pool")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="cpu limits the host's memory")
    options = parser.parse_args()
    here = Here(options.device, 1, replace(Sizes(), sha256=options.bytes))
    proven = subject(here, options.run)
    lines, first = (
        [COLUMNS.format("pool", "shards", "less", "time", "peak", "planned", "proof", "time / 1st")],
        0.0,
    )
    for pool in options.pools.split(","):
        size, _, given = pool.partition(":")
        made, shards = list[Proved](), int(given) if given else None
        with allowed(proven.device, int(float(size) * 1e9)):
            prepared = proven.cut(shards) if shards else fitting(proven.cut, proven.execution.cycles, proven.device)
            plan = memory_plan(prepared, proven.device)
            try:
                made = [proven.proved(shards) for _ in range(1 + options.turns)]
            except TooLarge as error:
                lines.append(f"{pool} GB: {error}")
                continue
        best = min(made[1:], key=lambda proved: proved.seconds)
        first = first or best.seconds
        holds = [shard.holds for shard in plan.shards.shards] if plan.shards else [plan.holds]
        peak = max(proved.peak for proved in made)
        lines.append(
            COLUMNS.format(
                f"{size} GB", len(holds), held_less(holds), f"{best.seconds:.3f} s", f"{peak / 1e9:.2f} GB",
                f"{best.made.peak_bytes / 1e9:.2f} GB", f"{len(best.made.proof.to_bytes()) / 1e6:.1f} MB",
                f"{best.seconds / first:.2f}",
            )
        )  # fmt: skip
        print(lines[-1], flush=True)
    print("\n".join(["", *lines]))


if __name__ == "__main__":
    main()
