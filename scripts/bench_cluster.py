"""Batches, single proofs and shards by the GPUs of this host, or by its cores: seconds, memory, gains.

    python scripts/bench_cluster.py [--only batches,latency,shards,pools,growth] [--device cuda] [--json]
    python scripts/bench_cluster.py --device cpu --cycles 20000 --shard-cycles 60000 --bytes 256 --batches 4x20000

batches   seconds of batches by a cluster with each number of --processes, in all on CPUs and per GPU otherwise; 0 is
          this process. --mps uses NVIDIA's Multi-Process Service
latency   median seconds of proofs of --cycles here and by a cluster of one process, in turns
shards    a run of --shard-cycles and sha256 of --bytes in each number of --shards by this process, and by a cluster
pools     the same runs in device memory of --pools 10^9 bytes, in the number of shards that fits
growth    KiB of host memory that a worker gains with each proof, over --proofs proofs

A batch COUNTxCYCLES is that many runs of fib_iterative. Stages of shards and pools are those of an observation, so they
exclude the first proof, which compiles. Seconds of clusters include run and verification. CUDA_VISIBLE_DEVICES chooses
the GPUs. `pytest -m gpu` compares the bytes.
"""

import argparse
import os
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil

import checkout
from figures import Figures, add_option
from graphprover import Job, Prover, observed, prove_many
from graphprover.cluster.local import started
from graphprover.device.choose import device_for
from graphprover.runtime.settings import MEMORY_LIMIT, MPS, POOL

GUESTS = Path(checkout.ROOT) / "examples/guests"
FIB, SHA256 = GUESTS / "fib_iterative.elf", GUESTS / "sha256.elf"
CYCLES_A_TURN = 5  # of fib_iterative


def fib_input(cycles: int, number: int = 0) -> bytes:
    """Return the input for a number of cycles, a few fewer for other ``number``s."""
    return struct.pack("<Q", cycles // CYCLES_A_TURN - 16 - number)


def seconds_of(function: Callable[..., Any], *arguments: Any) -> float:
    begun = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - begun


class Bench:
    """The parts of the benchmark, for the options of a command."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.out = options, Figures(options.json)
        self.device: str = options.device
        self.runs = [
            (f"fib of {options.shard_cycles:,} cycles", FIB, fib_input(options.shard_cycles)),
            (f"sha256 of {options.bytes:,} bytes", SHA256, bytes(range(256)) * (options.bytes // 256)),
        ]

    @contextmanager
    def cluster(self, processes: int | None) -> Iterator[Any]:
        """Yield a client of a cluster whose workers have made a proof; with 0 processes, this process's executor."""
        if processes == 0:
            yield "threads"
            return
        with (
            dask.config.set({MPS: self.options.mps}),
            started("cuda" if self.device == "cuda" else "processes", processes) as client,
        ):
            workers, seen = set(client.scheduler_info(n_workers=-1)["workers"]), set[str]()
            while not workers <= seen:
                seen |= {worker for worker, _ in self.batch(client, len(workers), self.options.cycles)}
            yield client

    def batch(self, executor: Any, count: int, cycles: int) -> list[tuple[str, float]]:
        """Return the worker and the seconds of each proof of a batch; raises the first error."""
        fib, made = Prover(FIB), []
        jobs: list[Job] = [fib.job(fib_input(cycles, number)) for number in range(count)]
        for result in prove_many(jobs, executor, self.device):
            if result.error:
                raise result.error
            made.append((result.worker, sum(result.seconds.values())))
        return made

    def batches(self) -> None:
        for processes in self.options.processes:
            how = {None: "by default", 0: "in this process"}.get(processes, f"by {processes} processes")
            with self.cluster(processes) as executor:
                for text in self.options.batches:
                    count, cycles = map(int, text.split("x"))
                    self.batch(executor, 1, cycles)  # compiles
                    spent = seconds_of(self.batch, executor, count, cycles)
                    rate = count * cycles / spent / 1e6
                    name = f"{count} x {cycles:,} cycles {how}" + (", MPS" if self.options.mps else "")
                    self.out.text(f"{name}: {spent:.3f} s, {rate:.3g} M cycles/s")
                    self.out(name, spent, "s", cycles=cycles, count=count)

    def latency(self) -> None:
        data, spent = fib_input(self.options.cycles), {"here": list[float](), "by a cluster": list[float]()}
        with self.cluster(1) as client:
            ways = zip(spent, ("threads", client), strict=True)
            provers = {way: Prover(FIB, device=self.device, executor=executor) for way, executor in ways}
            for turn in range(self.options.turns + 1):
                for way in sorted(provers, reverse=turn % 2 == 1):
                    spent[way].append(seconds_of(provers[way].prove, data))
        for way, seconds in spent.items():
            self.figure(f"a proof of {self.options.cycles:,} cycles {way}", statistics.median(seconds[1:]), "s")

    def figure(self, name: str, value: float, unit: str) -> None:
        self.out.text(f"{name}: {value:,.3f} {unit}")
        self.out(name, value, unit)

    def proof(self, name: str, prover: Prover, data: bytes) -> None:
        """Print the stages, memory and bytes of the fastest of some observed proofs."""
        prover.prove(data)  # compiles
        with observed() as seen:
            for _ in range(self.options.turns):
                device_for(self.device).memory.reset()
                prover.prove(data)
        best = min(seen, key=lambda one: sum(stage.seconds for stage in one.stages))
        peak = max(one.memory.peak - one.memory.before for one in seen)
        for stage in best.stages:
            self.figure(f"{name}: {stage.name}", stage.seconds, "s")
        self.figure(f"{name}: planned", best.memory.planned / 1e9, "GB")
        if self.device == "cuda":  # a CPU's peak has all memory of the process
            self.figure(f"{name}: peak", peak / 1e9, "GB")
        self.figure(f"{name}: proof in {len(best.shards) or 1} shards", sum(best.sizes.values()) / 1e6, "MB")

    def shards(self) -> None:
        for name, guest, data in self.runs:
            for shards in self.options.shards:
                self.proof(f"{name} in {shards}", Prover(guest, device=self.device, shards=shards), data)
        with self.cluster(None) as client:
            for name, guest, data in self.runs:
                for shards in self.options.shards:
                    prover = Prover(guest, device=self.device, shards=shards, executor=client)
                    spent = [seconds_of(prover.prove, data) for _ in range(self.options.turns + 1)]
                    self.figure(f"{name} in {shards} by a cluster", min(spent[1:]), "s")

    def pools(self) -> None:
        memory: Any = device_for(self.device).memory
        for pool in self.options.pools:
            limit = int(pool * 1e9)
            with dask.config.set({POOL: limit, MEMORY_LIMIT: limit}):
                before = memory.limit if memory.keeps else None
                if memory.keeps:
                    memory.limit = limit
                try:
                    for name, guest, data in self.runs:
                        self.proof(f"{name} in {pool:g} GB", Prover(guest, device=self.device), data)
                finally:
                    if memory.keeps:
                        memory.limit = before

    def growth(self) -> None:
        with self.cluster(1) as client:
            samples = []
            for done in range(10, self.options.proofs + 1, 10):
                self.batch(client, 10, self.options.cycles)
                (resident,) = client.run(lambda: psutil.Process(os.getpid()).memory_info().rss).values()
                samples.append((done, resident / 1024))
        proofs, resident = np.array(samples[len(samples) // 2 :]).T
        self.figure("growth of a worker's memory for each proof", float(np.polyfit(proofs, resident, 1)[0]), "KiB")


PARTS = ("batches", "latency", "shards", "pools", "growth")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between them")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument(
        "--processes", type=int, nargs="+", default=[0, None], help="default: 0, and the cluster's choice"
    )
    parser.add_argument("--mps", action="store_true", help="use NVIDIA's Multi-Process Service")
    parser.add_argument("--batches", nargs="+", default=["32x1000000", "16x8000000"], metavar="COUNTxCYCLES")
    parser.add_argument("--cycles", type=int, default=1_000_000, help="of a proof of latency and growth")
    parser.add_argument("--shard-cycles", type=int, default=64_000_000, help="of fib in shards and pools")
    parser.add_argument("--bytes", type=int, default=1 << 20, help="of the input of sha256")
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--pools", type=float, nargs="+", default=[64, 24, 12], help="in 10^9 bytes")
    parser.add_argument("--proofs", type=int, default=200, help="of growth")
    parser.add_argument("--turns", type=int, default=3, help="counted proofs")
    add_option(parser)
    options = parser.parse_args()
    bench = Bench(options)
    squares = seconds_of(lambda: sum(i * i for i in range(5_000_000)))
    bench.figure("host index: 5 M squares in Python", squares, "s")
    for part in options.only.split(","):
        if part not in PARTS:
            parser.error(f"no such part: {part}")
        getattr(bench, part)()


if __name__ == "__main__":
    main()
