"""Time of one sharded and compressed proof on a cluster of many GPUs: a model, and a simulation with sleeping workers.

    python scripts/model_cluster.py [--cycles 250 1000 2000] [--workers 1 2 4 8 16 64] [--turns 2] [--plain]
    python scripts/model_cluster.py --model-only --what-if 16
    python scripts/model_cluster.py --model-only --set run_rate=0.25 --set cores=64

No GPU is needed. The *model* (cluster_model.py) puts measured parts together by a list schedule: the client's run of
the guest, the four tasks of each shard, the client's verification of each shard, and the levels of the tree of layers.
Each part has a comment with its origin. --set replaces a part. The number of shards is the one with the least modelled
time.

The *simulation* (simulated_cluster.py) proves with the real client, Dask's real scheduler and its connections by TCP.
Its workers sleep for the modelled time of each task, and return results of the real type and size. So the costs of
messages, scheduler, dispatcher and client are real, and the rest is the model's. The client's run is a sleep, and its
verification is a loop in Python of the modelled time, because the proofs have no content. The scheduler, the client and
all workers share the cores of this host, and take longer than on hosts of their own if they are many: the simulated
time is the least of --turns proofs, and an idle host is best.

The table has a row for each cluster, with the speed-up over one worker, and below it the critical path of the model and
the stages of the simulation, each from the end of the stage before. The next table compares the model and a simulation
with measurements on one and two GPUs. --what-if has a row for each change of the design.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import checkout  # noqa: F401 (finds the package)
from cluster_model import Parts, best, proof
from simulated_cluster import simulate

MILLION = 1_000_000
COLUMNS = "{:>9} {:>7} {:>6} {:>9} {:>9} {:>9} {:>9}"
CHECKS = "{:<44} {:>12} {:>8} {:>10} {:>8} {:>10}"


@dataclass(frozen=True)
class Measured:
    """A measurement on GPUs."""

    name: str
    cycles: int  # millions
    workers: int
    shards: int
    compress: bool
    seconds: tuple[float, float]  # the least and the most


MEASURED = (
    Measured("250 M cycles, one GPU, one shard", 250, 1, 1, False, (1.48, 1.56)),
    Measured("250 M cycles, one GPU, two shards", 250, 1, 2, False, (1.66, 1.77)),
    Measured("1 G cycles, one GPU, four shards", 1000, 1, 4, False, (6.65, 7.0)),
    Measured("1 G cycles, one GPU, four shards, compressed", 1000, 1, 4, True, (8.56, 8.85)),
)
NO_RUN: dict[str, Any] = {"run_rate": 0.0}
FAST_LAYERS: dict[str, Any] = {"compression": Parts.compression / 4, "last_layer": Parts.last_layer / 4}
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "the client verifies in one process": {"alone": True},
    "layers of a level about equally many proofs": {"balanced": True},
    "a snapshot before each window": {"snapshot_gap": 0.0},
    "records begin during the client's run": {"streamed": True},
    "shards travel through the client, which verifies them": {"staying": False},
    "the client's run four times as fast": {"run_rate": Parts.run_rate / 4},
    "layers four times as fast": FAST_LAYERS,
    "no run by the client": NO_RUN,
    "no run, and layers four times as fast": NO_RUN | FAST_LAYERS,
    "the same, and shards travel through the client": NO_RUN | FAST_LAYERS | {"staying": False},
}


def named(stages: Mapping[str, float]) -> str:
    """Return the stages that take some time, with their seconds."""
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in stages.items() if seconds >= 0.005)


def rows(parts: Parts, options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield the figures of each cluster, after printing them."""
    print(COLUMNS.format("M cycles", "workers", "shards", "model", "speed-up", "simulated", "speed-up"))
    for millions in options.cycles:
        first: dict[str, float] = {}
        for workers in options.workers:
            cycles = float(millions * MILLION)
            shards, schedule = best(parts, cycles, workers, not options.plain)
            times = {"model": schedule.seconds}
            stages: dict[str, float] = {}
            if not options.model_only:
                simulated = simulate(parts, cycles, workers, shards, not options.plain, options.turns)
                times["simulated"], stages = simulated.seconds, simulated.stages
            first = first or times
            shown = [cell for name, own in times.items() for cell in (f"{own:.2f} s", f"{first[name] / own:.2f}")]
            print(COLUMNS.format(f"{millions:,}", workers, shards, *shown, *[""] * (4 - len(shown))))
            print(f"          model: {named(schedule.critical())}")
            if stages:
                print(f"      simulated: {named(stages)}", flush=True)
            yield {
                "cycles": cycles,
                "workers": workers,
                "shards": shards,
                **times,
                "critical": schedule.critical(),
                "stages": stages,
            }


def checks(parts: Parts, options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield the deviations from the measurements, after printing them."""
    print(f"\n{CHECKS.format('measured', 'seconds', 'model', 'deviation', 'simulated', 'deviation')}")
    for own in MEASURED:
        least, most = own.seconds
        cycles = float(own.cycles * MILLION)
        times = {"model": proof(parts, cycles, own.workers, own.shards, own.compress).seconds}
        if not options.model_only:
            simulated = simulate(parts, cycles, own.workers, own.shards, own.compress, options.turns)
            times["simulated"] = simulated.seconds
        deviations = {name: seconds / ((least + most) / 2) - 1 for name, seconds in times.items()}
        shown = [cell for name, seconds in times.items() for cell in (f"{seconds:.2f}", f"{deviations[name]:+.0%}")]
        span = f"{least:g}" if least == most else f"{least:g}-{most:g}"
        print(CHECKS.format(own.name, span, *shown, *[""] * (4 - len(shown))), flush=True)
        yield {"measured": own.name, "seconds": [least, most], **times, "deviations": deviations}


def what_if(parts: Parts, options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield the modelled times with changes of the design, after printing them."""
    for millions in options.cycles:
        cycles, workers = float(millions * MILLION), options.what_if
        one = {plain: best(parts, cycles, 1, not plain)[1].seconds for plain in (False, True)}
        print(f"\n{f'{millions:,} M cycles, {workers} workers':<48} {'compressed':>20} {'shards alone':>20}")
        for name, change in CHANGES.items():
            changed = replace(parts, **change)
            times = {plain: best(changed, cycles, workers, not plain)[1].seconds for plain in (False, True)}
            shown = [f"{own:.2f} s {one[plain] / own:8.2f} x" for plain, own in times.items()]
            print(f"{name:<48} {shown[0]:>20} {shown[1]:>20}")
            yield {
                "cycles": cycles,
                "workers": workers,
                "change": name,
                "compressed": times[False],
                "plain": times[True],
            }


def changed(parts: Parts, settings: list[str]) -> Parts:
    """Return the parts with other values, each given as NAME=VALUE."""
    known = [each.name for each in fields(Parts)]
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in known:
            raise SystemExit(f"--set {setting}: no part has this name; there are {', '.join(known)}")
        kind = type(getattr(parts, name))
        parts = replace(parts, **{name: kind(float(value))})
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cycles", nargs="+", type=int, default=[250, 1000, 2000], help="millions of cycles of the run"
    )
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8, 16, 64], help="each with one GPU")
    parser.add_argument("--plain", action="store_true", help="shards alone, without layers about them")
    parser.add_argument("--model-only", action="store_true", help="no simulation")
    parser.add_argument("--turns", type=int, default=2, help="proofs of each simulation, of which the fastest counts")
    parser.add_argument("--set", action="append", default=[], metavar="PART=VALUE", help="replace a measured part")
    parser.add_argument("--what-if", type=int, metavar="WORKERS", help="also model changes of the design")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to a file")
    options = parser.parse_args()
    parts = changed(Parts(), options.set)
    figures = [*rows(parts, options), *checks(parts, options)]
    if options.what_if:
        figures += what_if(parts, options)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"parts": asdict(parts), "figures": figures}, file, indent=1, allow_nan=False)


if __name__ == "__main__":
    main()
