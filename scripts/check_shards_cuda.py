"""Sharded proofs on the GPUs of this host: equal bytes, and the time and memory of shards.

    python scripts/check_shards_cuda.py [--only bytes,memory,long,cluster,shared,sharing,faults]
    python scripts/check_shards_cuda.py --devices cpu cpu   # on CPUs, a core each, with small sizes

bytes        guests and tables in 1, 2 and 3 shards by the CPU and each GPU; every shard verifies by itself, too
memory       runs in one shard and in --shards on one GPU, and again with 0.35 of the memory that one shard takes
long         a run of --long-cycles in the fewest shards that fit --long-pool million bytes of one GPU
cluster      runs in one and in two shards for each GPU, on all of them; one GPU in one shard
shared       a run of --long-cycles by one GPU in one shard, and by all in a shard each, with the run
sharing      fib_iterative by --processes of one GPU, in one and in two shards for each; one process in one shard
faults       a worker killed at several moments of a run in --fault-shards

Runs are fib_iterative of --cycles and sha256 of --sha256 bytes. Seconds are from the recorded run to the proof's bytes.
By a cluster, and in comparisons with one process, they end with the verified proof and exclude the run itself, except
in shared. Memory is the device's.

Every measurement (shard_figures.py) runs in a process of its own that sees its devices only, and ends after the time
limit of its part. The table at the end has a line for each target; the exit status is 1 if one is not met.
"""

from collections.abc import Iterator, Sequence

import checkout  # noqa: F401 (finds the package)
import shard_figures as measure
from checks import Host, Part, Target, check, parser_of
from cluster_figures import say
from shard_figures import SHARE, Run, Sizes

ON_CPUS = Sizes(60_000, 64, 3, 100_000, 1_000, fault_cycles=40_000, fault_shards=3, processes=2, turns=1)
LEAST = {4: 3.5, 8: 6.5}  # times one device, by the number of devices
AS_PLANNED = 1.02  # of the planned bytes: a plan does not know how a pool rounds


def check_bytes(host: Host) -> Iterator[Target]:
    for device, wrong in host.figures(measure.other_bytes).items():
        yield Target(f"sharded proofs that are wrong: {device}", wrong, most=0)


def check_memory(host: Host) -> Iterator[Target]:
    found, shards = host.figures(measure.memory, 1), host.sizes.shards
    for run in host.sizes.runs():
        own = {way: found[f"{run.name} {way}"] for way in ("one", "shards", "short")}
        peak, planned = ({way: found[f"{run.name} {way} {what}"] for way in own} for what in ("peak", "planned"))
        what = f"{run.name}, {shards} shards / one"
        say(f"memory where it is not short, {what}: {peak['shards'] / peak['one']:.3f}")
        yield Target(f"time, {what}", own["shards"] / own["one"], most=1.12)
        yield Target(f"time, little memory, {what}", own["short"] / own["one"], most=1.12)
        yield Target(f"memory, little memory, {what}", peak["short"] / peak["one"], most=SHARE)
        for way in own:
            yield from as_planned(host, f"{run.name}: {way}", peak[way], planned[way])


def check_long(host: Host) -> Iterator[Target]:
    found = host.figures(measure.long, 1)
    limit = host.sizes.long_pool * 1e6
    yield Target(f"planned / limit, {host.sizes.long_cycles:,} cycles", found["planned"] / limit, most=1)
    yield from as_planned(host, f"{host.sizes.long_cycles:,} cycles", found["peak"], found["planned"])


def as_planned(host: Host, what: str, peak: float, planned: float) -> Iterator[Target]:
    """Return whether the memory is as planned; on a GPU only, because a CPU's memory has everything else in it."""
    if not host.on_cpus:
        yield Target(f"memory / planned, {what}", peak / planned, most=AS_PLANNED)


def check_cluster(host: Host) -> Iterator[Target]:
    # On CPUs with one process a core: two must reach 1.6.
    number = len(host.devices)
    least = 0.8 * number if host.on_cpus else LEAST.get(number, 0.925 * number)
    numbers = list(dict.fromkeys((max(2, number), 2 * number)))
    yield from by_cluster(host, host.sizes.runs(), numbers, number, 1, least)


def check_shared(host: Host) -> Iterator[Target]:
    # On CPUs one process makes as many shards as all, so that both have the same work.
    number = len(host.devices)
    one = host.figures(measure.with_the_run, 1, shards=number if host.on_cpus else 1)
    all_ = host.figures(measure.with_the_run, number, shards=number)
    what = f"{host.sizes.long_cycles:,} cycles with the run, {number} devices / one"
    yield Target(what, one["seconds"] / all_["seconds"], least=(0.8 if host.on_cpus else 0.85) * number)


def check_sharing(host: Host) -> Iterator[Target]:
    processes = host.sizes.processes
    yield from by_cluster(host, host.sizes.runs()[:1], [processes, 2 * processes], 1, processes, 2.2)


def by_cluster(
    host: Host, runs: Sequence[Run], numbers: Sequence[int], devices: int, per_device: int, least: float
) -> Iterator[Target]:
    """Measure numbers of shards by a number of processes on each of some devices."""
    one = host.figures(measure.here_in_one, 1)
    names = [run.name for run in runs]
    found = host.figures(measure.by_cluster, devices, guests=names, shards=numbers, per_device=per_device)
    for name in names:
        run, proof = one[f"{name} run"], one[f"{name} proof"]
        for shards in numbers:
            whole = found[f"{name} {shards}"]
            what = f"{name}, {shards} shards by {per_device} of each of {devices} / one"
            say(f"{what}, with the run: {(run + proof) / whole:.2f}")
            yield Target(what, proof / (whole - run), least=least)


def check_faults(host: Host) -> Iterator[Target]:
    for what, differ in host.figures(measure.faulty).items():
        yield Target(f"other bytes, {what}", differ, most=0)


PARTS: dict[str, Part] = {
    "bytes": (check_bytes, 150),
    "memory": (check_memory, 120),
    "long": (check_long, 150),
    "cluster": (check_cluster, 150),
    "shared": (check_shared, 150),
    "sharing": (check_sharing, 150),
    "faults": (check_faults, 150),
}


def main() -> None:
    check(parser_of(__doc__, PARTS, Sizes()), PARTS, Sizes(), ON_CPUS, measure.compile_all)


if __name__ == "__main__":
    main()
