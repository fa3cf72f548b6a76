"""Trees of layers: the expected and the measured time and size of compressed proofs.

    python scripts/bench_trees.py [--device cuda] [--runs fib:1 sha256:1048576 ...] [--goals fast small 0.3s] [--best 5]

A run is a guest and its size, as in bench_prove_vm.py, or a block of examples/block by its name. For each goal the best
trees of `graphprover plan --compress` are proved, each after one proof that compiles; times are from the prepared run
to the compressed proof, which is verified. *choice* is the time of the tree that the planner takes over the time of the
fastest one that was measured.
"""

import argparse
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import checkout
from bench_prove_vm import ELFS, GUESTS, input_of
from figures import Figures, add_option
from graphprover import Prover, observed
from graphprover.device.choose import device_for
from graphprover.examples.block import shipped
from graphprover.graphs.planner.trees import Tree, best_trees
from graphprover.jobs.job import Job
from graphprover.jobs.recipe import Recipe
from graphprover.protocol.goal import goal_of
from graphprover.prover.tree_choice import target_of
from graphprover.telemetry.observation import Observation

BLOCK = Path(checkout.ROOT) / "examples/block/block.elf"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", nargs="+", default=["fib:1"], metavar="GUEST:SIZE")
    parser.add_argument("--goals", nargs="+", default=["fast"])
    parser.add_argument("--best", type=int, default=5, help="Trees of each goal.")
    parser.add_argument("--repeat", type=int, default=3)
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    for run in options.runs:
        measure(out, run, device_for(options.device), options)


def measure(out: Figures, run: str, device: Any, options: argparse.Namespace) -> None:
    """Print the figures of one run."""
    guest, _, size = run.partition(":")
    elf, data = BLOCK, b""
    if guest in shipped.names():
        data = shipped.load(guest).to_bytes()
    else:
        elf, data = GUESTS / f"{ELFS.get(guest, guest)}.elf", input_of(guest, int(size))
    prover = Prover(elf, compress=True, device=device)
    job = Job(prover, data)
    prepared = job.prepared(device)
    shapes = tuple((shard.layout.tables, shard.layout.log_heights) for shard in prepared.shards)
    del prepared
    for goal in options.goals:
        trees = best_trees(shapes, prover.level, goal_of(goal), target_of(device))[: options.best]
        times = [prove(out, f"{run} {goal}", tree, job, device, options.repeat) for tree in trees]
        out(f"{run} {goal}: choice", times[0] / min(times), "of the fastest")


def prove(out: Figures, name: str, tree: Tree, job: Job, device: Any, repeat: int) -> float:
    """Prove a tree, and return the median of its seconds."""
    own = replace(job, prover=Recipe(job.prover.program, tree.base, tree.layers))
    turns, size = list[float](), 0
    parts: dict[str, list[float]] = {}
    for _ in range(1 + repeat):
        with observed() as seen:
            made = own.make(device=device)
        size = made.proof.size
        turns.append(made.seconds["prove"] + made.seconds["compress"])
        for part, seconds in _parts(seen[0]):
            parts.setdefault(part, []).append(seconds)
    seconds = statistics.median(turns[1:])
    medians = ", ".join(f"{part} {1000 * statistics.median(found[1:]):.0f}" for part, found in parts.items())
    expected = ", ".join(f"{1000 * level.inputs:.0f} + {1000 * level.seconds:.0f}" for level in tree.levels)
    bits = ", ".join(str(level.pow_bits) for level in (tree.base, *tree.layers))
    out.text(
        f"{name}: {tree.text}, work {bits}: {1000 * seconds:.0f} ms, expected {1000 * tree.seconds:.0f} "
        f"({seconds / tree.seconds:.2f}); {size} bytes, expected {tree.bytes} ({size / tree.bytes:.3f})",
        f"   ms: {medians}; expected: base {1000 * tree.base_cost.seconds:.0f}, layers {expected}",
    )
    out(f"{name}: {tree.text}", seconds, "s")
    return seconds


def _parts(seen: Observation) -> list[tuple[str, float]]:
    """Return the seconds of the base, and of the stages of each layer."""
    found = [("base", sum(stage.end - stage.start for stage in seen.stages if stage.name == "prove"))]
    for layer in seen.layers:
        found += [(f"{layer.layer} {stage.name}", stage.end - stage.start) for stage in layer.stages]
    return [(name, seconds) for name, seconds in found if not name.endswith("wait")]


if __name__ == "__main__":
    main()
