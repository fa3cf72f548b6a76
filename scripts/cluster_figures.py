"""The measurements of check_cluster_cuda.py, each in a process of its own that sees its devices only."""

import multiprocessing
import os
import random
import re
import signal
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import dask
import numpy as np
from distributed import Client

import checkout  # noqa: F401 (finds the package)
from graphprover import Statement, prove
from graphprover.cluster.local import started
from graphprover.device.choose import device_for
from graphprover.examples import synthetic
from graphprover.jobs.job import Job
from graphprover.jobs.result import Result
from graphprover.proving.batch import prove_many
from graphprover.proving.prover import Prover
from graphprover.runtime.settings import MPS, SILENCE

Figures = dict[str, float]

GUESTS = Path(__file__).resolve().parents[1] / "examples/guests"
FIB = GUESTS / "fib_iterative.elf"
CYCLES_A_TURN = 5  # of fib_iterative
SILENCE_SECONDS = 10.0  # until a stopped worker is given up
OVERHEAD_TURNS = 12  # each way


@dataclass(frozen=True)
class Sizes:
    """The sizes of all measurements."""

    cycles: int = 1_000_000  # of a proof
    long_cycles: int = 8_000_000  # of a long proof
    proofs: int = 32  # of a batch
    long_proofs: int = 16  # of a batch of long ones
    statements: int = 12  # of tables, for the comparison of bytes
    turns: int = 9  # of latency, each way
    in_a_row: int = 200  # proofs on one worker

    def batches(self, times: int = 1) -> list[tuple[str, int, int]]:
        """Return each batch's name, number of proofs and cycles, with ``times`` as many proofs."""
        return [("short", times * self.proofs, self.cycles), ("long", times * self.long_proofs, self.long_cycles)]


@dataclass(frozen=True)
class Here:
    """The devices of this process, and the sizes of its measurements."""

    kind: str  # cuda or cpu
    devices: int
    sizes: Any  # of its measurements

    @property
    def own(self) -> str:
        """Return the executor that starts its own cluster."""
        return "cuda" if self.kind == "cuda" else "processes"

    @contextmanager
    def cluster(self, per_device: int | None, mps: bool | None = None) -> Iterator[Client]:
        """Return a client of a cluster with a number of processes for each device, by default its own choice.

        ``mps``: whether NVIDIA's Multi-Process Service is used; by default ``DASK_GRAPHPROVER__MPS`` decides.
        """
        on_cpus = self.kind == "cpu" and per_device is not None
        workers = per_device * self.devices if on_cpus and per_device else per_device
        with dask.config.set({} if mps is None else {MPS: mps}), started(self.own, workers) as client:
            yield client

    def results(self, jobs: Iterable[Job], executor: Any) -> Iterator[Result]:
        """Return the results of the jobs; raises the first error."""
        for result in prove_many(jobs, executor, self.kind):
            if result.error or not result.proof:
                raise result.error or AssertionError("neither a proof nor an error")
            yield result

    def prove(self, jobs: Iterable[Job], executor: Any) -> tuple[dict[str, bytes], set[str]]:
        """Return the proofs by the job's name, and the workers that made them; raises the first error."""
        proofs, workers = {}, set()
        for result in self.results(jobs, executor):
            assert result.proof
            proofs[result.job.name] = result.proof.to_bytes()
            workers.add(result.worker)
        return proofs, workers

    def warm(self, client: Client, *cycles: int) -> int:
        """Let every worker make a proof of each size; return the number of workers."""
        workers = workers_of(client)
        for size in cycles:
            seen: set[str] = set()
            while not workers <= seen:
                seen |= self.prove(fibs(len(workers), size), client)[1]
        return len(workers)


@cache
def fib() -> Prover:
    return Prover(FIB)


def fib_input(cycles: int, number: int = 0) -> bytes:
    """Return the input for a number of cycles, a few fewer for other ``number``s."""
    return struct.pack("<Q", cycles // CYCLES_A_TURN - 16 - number)


def fibs(count: int, cycles: int) -> list[Job]:
    return [fib().job(fib_input(cycles, number), name=f"fib{number}") for number in range(count)]


def guests() -> list[Job]:
    """Run of several guests, of up to some 100,000 cycles."""
    text = bytes(range(256)) * 4
    inputs = {FIB.stem: (fib_input(100), fib_input(100_000)), "sha256": (b"", text), "keccak": (b"", text)}
    jobs = []
    for name, datas in inputs.items():
        prover = Prover(GUESTS / f"{name}.elf")
        jobs += [prover.job(data, name=f"{name} {number}") for number, data in enumerate(datas)]
    return jobs


def random_tables(seed: int) -> Statement:
    """Return up to three tables of 2^4 to 2^11 rows."""
    rng = random.Random(seed)
    shapes = [(rng.randint(4, 4 + seed % 8), rng.randint(8, 40), 2 * rng.randint(1, 4)) for _ in range(1 + seed % 3)]
    return Statement([synthetic.table(*shape, f"t{i}") for i, shape in enumerate(shapes)])


def seconds_of(function: Callable[..., Any], *arguments: Any) -> float:
    begun = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - begun


def workers_of(client: Client) -> set[str]:
    scheduler: Any = client.scheduler  # `Client.scheduler_info` sometimes reports none
    return set(client.sync(scheduler.identity, n_workers=-1)["workers"])


def say(text: str) -> None:
    print(f"    {text}", flush=True)


def compile_all(here: Here) -> Figures:
    """Return the seconds of the first proofs, after which the kernels are on disk."""
    jobs = [job for _, _, cycles in here.sizes.batches() for job in fibs(1, cycles)]
    return {"seconds": seconds_of(here.prove, jobs, "threads")}


def other_bytes(here: Here) -> Figures:
    """Return how many proofs differ from the CPU's: by each device, by all at once, and by clusters."""
    seeds = range(here.sizes.statements)
    figures: Figures = {}
    names = [f"cuda:{number}" for number in range(here.devices)] if here.kind == "cuda" else ["cpu"] * here.devices

    def proved(seed: int, executor: Any, device: str) -> bytes:
        return prove(random_tables(seed), executor, security=60, rate=(2, 4, 8)[seed % 3], device=device).to_bytes()

    def differing(executor: Any, device: str) -> int:
        return sum(proved(seed, executor, device) != expected[seed] for seed in seeds)

    def count(what: str, differ: Callable[..., int], *arguments: Any) -> None:
        begun = time.perf_counter()
        figures[what] = differ(*arguments)
        say(f"{what}: {figures[what]:g} differ, {time.perf_counter() - begun:.2f} s")

    expected = [proved(seed, "sync", "cpu") for seed in seeds]
    for name in dict.fromkeys(names):
        count(f"tables, {name}", differing, "sync", name)
    with ThreadPoolExecutor(here.devices) as pool:
        count("tables, all devices at once", lambda: sum(pool.map(lambda name: differing("threads", name), names)))
    expected_guests, _ = Here("cpu", 1, here.sizes).prove(guests(), "threads")

    def differing_guests(executor: Any) -> int:
        found, _ = here.prove(guests(), executor)
        return sum(found[name] != expected_guests[name] for name in expected_guests)

    with here.cluster(1) as client:
        here.warm(client, 1000)  # so that each worker has had a proof
        count("tables, a cluster", differing, client, here.kind)
        count("guests, a cluster", differing_guests, client)
    count("guests, a cluster for one batch", differing_guests, here.own)
    return figures


def fail(call: int) -> None:
    """Make the ``call``-th next launch of this process fail: then its GPU is lost to it."""
    from graphprover.kernels.cuda import faults

    fault = faults.launch.at(call)
    fault.__enter__()
    faults.__dict__["armed"] = fault  # else it ends with this function


def faulty(here: Here, mps: bool | None = None) -> Figures:
    """Return how many proofs of batches with faults are missing or differ."""
    size = here.sizes.cycles // 4
    figures: Figures = {}
    jobs = fibs(8 * here.devices, size)
    expected, _ = here.prove(jobs, "threads")
    with dask.config.set({SILENCE: SILENCE_SECONDS}), here.cluster(2, mps) as client:
        number = here.warm(client, size)
        pids: dict[str, int] = {}

        def signal_one(what: int) -> int:
            """Send a signal to a proving worker; return its process."""
            pid = next(pids[address] for address, keys in client.processing().items() if keys)
            os.kill(pid, what)
            return pid

        def batch(name: str, fault: Callable[[], Any] | None = None) -> Any:
            """Prove the jobs; inject the fault after the first proof."""
            client.wait_for_workers(number, timeout=60)
            pids.update(client.run(os.getpid))
            found, came, begun = {}, None, time.perf_counter()
            for result in prove_many(jobs, client, here.kind):
                found[result.job.name] = result.proof.to_bytes() if result.proof else str(result.error).encode()
                if fault and len(found) == 1:
                    came = fault()
            figures[f"wrong: {name}"] = sum(found.get(key) != expected[key] for key in expected)
            spent = time.perf_counter() - begun
            say(f"{len(jobs)} proofs, {name}: {figures[f'wrong: {name}']} wrong, {spent:.2f} s")
            return came

        batch("no fault")
        batch("a worker killed", lambda: signal_one(signal.SIGKILL))
        if here.kind == "cuda":
            client.wait_for_workers(number, timeout=60)
            armed = client.run(fail, 5).keys()
            batch("every GPU failing")
            figures["workers that outlived their GPU"] = len(armed & workers_of(client))
        stopped = batch(f"a worker stopped for {SILENCE_SECONDS:g} s", lambda: signal_one(signal.SIGSTOP))
        with suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGKILL)
    return figures


def first(here: Here, by_cluster: bool) -> Figures:
    """Return the seconds of the first proof, here or by an existing cluster, without the device's start."""
    device_for(here.kind)  # as a worker has made its own
    with here.cluster(1) if by_cluster else nullcontext("threads") as executor:
        prover = Prover(FIB, device=here.kind, executor=executor)
        return {"seconds": seconds_of(prover.prove, fib_input(here.sizes.cycles))}


def latency(here: Here) -> Figures:
    """Return the median seconds of proofs here and by a cluster, in turns, after the first."""
    data = fib_input(here.sizes.cycles)
    spent: dict[str, list[float]] = {"here": [], "cluster": []}
    with here.cluster(1) as client:
        provers = {"here": Prover(FIB, device=here.kind), "cluster": Prover(FIB, device=here.kind, executor=client)}
        for turn in range(here.sizes.turns):
            for way in sorted(provers, reverse=turn % 2 == 1):
                spent[way].append(seconds_of(provers[way].prove, data))
    for way, seconds in spent.items():
        say(f"{way}: " + " ".join(f"{value:.3f}" for value in seconds))
    return {way: median(seconds[1:]) for way, seconds in spent.items()}


def by_cluster(here: Here, per_device: int | None, times: int = 1, mps: bool | None = None) -> Figures:
    """Return the seconds of both batches by a cluster, and its processes, with ``times`` as many proofs."""
    with here.cluster(per_device, mps) as client:
        number = here.warm(client, here.sizes.cycles, here.sizes.long_cycles)
        figures: Figures = {"processes": number // here.devices}
        for name, count, cycles in here.sizes.batches(times):
            begun = time.perf_counter()
            results = list(here.results(fibs(count, cycles), client))
            figures[name] = time.perf_counter() - begun
            say(told(f"{number} workers", figures[name], count, cycles))
            say("    " + stages_of(results) + f"; {shares_of(results)} proofs a worker")
    return figures


def shares_of(results: Sequence[Result]) -> str:
    """Return the least and the most proofs of a worker."""
    made = Counter(result.worker for result in results).values()
    return f"{min(made)} to {max(made)}"


def stages_of(results: Sequence[Result]) -> str:
    """Return the median seconds of each stage."""
    return ", ".join(f"{name} {median(r.seconds[name] for r in results):.4f}" for name in results[0].seconds)


def told(who: str, seconds: float, count: int, cycles: int) -> str:
    rate = count * cycles / seconds / 1e6
    return f"{who}: {count} x {cycles:,} cycles in {seconds:.2f} s, {rate:.3g} M cycles/s"


def by_processes(here: Here, processes: int) -> Figures:
    """Return the seconds of both batches by independent processes, from the start of all to the end of the last."""
    spawn = multiprocessing.get_context("spawn")
    meet = spawn.Barrier(processes + 1)
    shares = [spawn.Process(target=prove_share, args=(here, number, processes, meet)) for number in range(processes)]
    for process in shares:
        process.start()
    figures = {}
    for name, count, cycles in here.sizes.batches():
        meet.wait()
        figures[name] = seconds_of(meet.wait)
        say(told(f"{processes} plain processes", figures[name], count, cycles))
    for process in shares:
        process.join()
    return figures


def prove_share(here: Here, number: int, processes: int, meet: Any) -> None:
    """Prove a share of the jobs of both batches, each once all processes are warm."""
    try:
        for _, count, cycles in here.sizes.batches():
            here.prove(fibs(1, cycles), "threads")
            meet.wait()
            here.prove(fibs(count, cycles)[number::processes], "threads")
            meet.wait()
    except Exception:
        meet.abort()
        raise


def overhead(here: Here) -> Figures:
    """Return the overhead of a cluster of one worker on a batch: its median seconds over the worker process's alone.

    Each turn runs the batch in this process, in the worker's process as one task without returned proofs, and by the
    cluster. The first is only reported: two processes make the same proofs at speeds that differ by up to 10 %.
    """
    jobs = fibs(here.sizes.proofs, here.sizes.cycles)
    with here.cluster(1) as client:
        here.warm(client, here.sizes.cycles)
        ways: dict[str, Callable[[], float]] = {
            "here": lambda: alone(here),
            "the worker's process": lambda: float(client.submit(alone, here, pure=False).result()),
            "cluster": lambda: seconds_of(list, here.results(jobs, client)),
        }
        spent: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(-1, OVERHEAD_TURNS):
            for way in sorted(ways, reverse=turn % 2 == 1):
                seconds = ways[way]()
                if turn >= 0:  # after the warm-up
                    spent[way].append(seconds)
    for way, found in spent.items():
        ratio = median(seconds / own for seconds, own in zip(found, spent["the worker's process"], strict=True))
        say(f"{way}: {', '.join(f'{seconds / len(jobs):.4f}' for seconds in found)} s a proof; {ratio:.3f}")
    return {"ratio": ratio}


def alone(here: Here) -> float:
    """Return the seconds of the batch in this process, without a cluster."""
    return seconds_of(list, here.results(fibs(here.sizes.proofs, here.sizes.cycles), "threads"))


def growth(here: Here) -> Figures:
    """Return the growth of a worker's memory in KiB for each proof, after half of the proofs."""
    samples = []
    with here.cluster(1) as client:
        for done in range(10, here.sizes.in_a_row + 1, 10):
            here.prove(fibs(10, here.sizes.cycles), client)
            (memory,) = client.run(memory_of_this_process, here.kind).values()
            samples.append((done, *memory))
            told_memory = (f"{of} {kib / 1024:.1f} MiB" for of, kib in zip(MEMORIES, memory, strict=True))
            say(f"{done} proofs: " + ", ".join(told_memory))
    done, *memories = np.array(samples[len(samples) // 2 :]).T
    return {of: float(np.polyfit(done, kib, 1)[0]) for of, kib in zip(MEMORIES, memories, strict=True)}


MEMORIES = ("host", "GPU", "arrays on the GPU")


def memory_of_this_process(kind: str) -> tuple[float, float, float]:
    """Return KiB: resident on the host, in use on the GPU by all processes, held by arrays there."""
    found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    resident = float(found[1]) if found else 0.0
    if kind == "cpu":
        return resident, 0.0, 0.0
    import cupy

    device: Any = device_for(kind)
    free, total = cupy.cuda.runtime.memGetInfo()
    return resident, (total - free) / 1024, device.memory.held() / 1024
