"""The measurements of check_shards_cuda.py, each in a process of its own that sees its devices only."""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import dask
import numpy as np
from distributed import get_task_stream

import checkout  # noqa: F401 (finds the package)
from cluster_figures import FIB, GUESTS, Figures, Here, fib, fib_input, random_tables, say, seconds_of
from graphprover import Prover, prove, verify
from graphprover.admission.admission import TooLarge
from graphprover.cluster.tasks import EVENTS
from graphprover.device.choose import device_for
from graphprover.device.host_memory import most_resident
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.level import Level
from graphprover.prover.autoshard import fitting
from graphprover.prover.local import Made, make
from graphprover.prover.peak_memory import shards_plan
from graphprover.prover.prepare import Prepared, PreparedShards, ready
from graphprover.proving.prove import in_shards
from graphprover.runtime.settings import MEMORY_LIMIT, POOL
from graphprover.verifier import verify_shard
from graphprover.vm.executor.execute import Execution, ran
from graphprover.vm.statement.guest import Guest

NUMBERS = (1, 2, 3)  # of shards, for the comparison of bytes
SEEDS = (2, 5, 8)  # of statements of three tables
SHARE = 0.35  # of the memory of one shard, for all shards
MOMENTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of an undisturbed proof's time, to kill a worker


@dataclass(frozen=True)
class Run:
    """A guest and its input."""

    name: str  # of its ELF file
    data: bytes

    def prover(self, **options: Any) -> Prover:
        return Prover(GUESTS / f"{self.name}.elf", **options)

    @property
    def guest(self) -> Guest:
        return _guest(self.name)


@cache
def _guest(name: str) -> Guest:
    program = Run(name, b"").prover().program
    assert isinstance(program, Guest)
    return program


@dataclass(frozen=True)
class Sizes:
    """The sizes of all measurements."""

    cycles: int = 64_000_000  # of fib_iterative
    sha256: int = 1 << 20  # bytes that sha256 hashes
    shards: int = 4  # of a run on one device
    long_cycles: int = 250_000_000  # of a run that does not fit
    long_pool: int = 24_000  # million bytes for its proof
    fault_cycles: int = 8_000_000  # of a run with killed workers
    fault_shards: int = 8
    processes: int = 4  # sharing a device
    turns: int = 2  # each way

    def runs(self) -> list[Run]:
        """Return the timed runs."""
        return [fib_run(self.cycles), Run("sha256", (bytes(range(256)) * (self.sha256 // 256 + 1))[: self.sha256])]


def fib_run(cycles: int) -> Run:
    return Run(FIB.stem, fib_input(cycles))


def small_runs() -> list[Run]:
    """Return runs of up to 100,000 cycles."""
    text = bytes(range(256))
    return [fib_run(100_000), Run("sha256", text), Run("keccak", text)]


def compile_all(here: Here) -> Figures:
    """Return the seconds of the first proofs, after which the kernels are on disk."""

    def prove_all() -> None:
        for run in here.sizes.runs():
            run.prover(device=here.kind, shards=1).prove(run.data)

    return {"seconds": seconds_of(prove_all)}


def other_bytes(here: Here) -> Figures:
    """Return how many sharded proofs differ from the CPU's, or do not verify, whole and shard by shard."""
    names = [f"cuda:{number}" for number in range(here.devices)] if here.kind == "cuda" else []
    figures: Figures = {}
    expected: dict[str, bytes] = {}
    for device in ("cpu", *names):
        begun, wrong = time.perf_counter(), 0
        for shards in NUMBERS:
            for what, proof, verified in [*guests_in(shards, device), *tables_in(shards, device)]:
                wrong += not verified or expected.setdefault(what, proof) != proof
        figures[device] = wrong
        say(f"{len(expected)} proofs by {device}: {wrong} wrong, {time.perf_counter() - begun:.2f} s")
    return figures


def guests_in(shards: int, device: str) -> Iterator[tuple[str, bytes, bool]]:
    """Return for each run its name, its proof, and whether it verifies in any order of shards."""
    for run in small_runs():
        prover = run.prover(device=device, shards=shards)
        proof = prover.prove(run.data)
        statement = prover.program.statement_of(proof.header)
        yield (
            f"{run.name} in {shards}",
            proof.to_bytes(),
            bool(prover.verify(proof)) and each_verifies(proof, statement),
        )


def tables_in(shards: int, device: str) -> Iterator[tuple[str, bytes, bool]]:
    """Return the same for statements in Python."""
    for seed in SEEDS:
        statement = random_tables(seed)
        proof = prove(statement, security=60, device=device, shards=shards)
        verified = bool(verify(proof, statement, security=60)) and each_verifies(proof, in_shards(statement, shards))
        yield f"tables {seed} in {shards}", proof.to_bytes(), verified


def each_verifies(proof: Any, statement: Any) -> bool:
    """Return whether every shard verifies by itself; raises VerificationError if one does not."""
    if isinstance(proof, ShardedProof):
        for shard in proof.shards:
            verify_shard(shard, statement)
    return True


@contextmanager
def allowed(device: Any, limit: int | None) -> Iterator[None]:
    """Limit all proofs to a number of bytes of the device's memory."""
    if limit is None:
        yield
        return
    before = device.memory.limit if device.memory.keeps else None
    with dask.config.set({POOL: limit, MEMORY_LIMIT: limit}):
        if device.memory.keeps:
            device.memory.limit = limit
        try:
            yield
        finally:
            if device.memory.keeps:
                device.memory.limit = before


@dataclass(frozen=True)
class Recorded:
    """An executed run, and its proving device."""

    guest: Guest
    execution: Execution
    device: Any

    def cut(self, shards: int) -> Prepared | PreparedShards:
        return ready(self.guest.statement_about(self.execution, shards=shards, device=self.device), Level())

    def proved(self, shards: int | None) -> "Proved":
        """Prove in this number of shards, or in the fewest that fit: from the record to the unverified bytes."""
        held = forget_peak(self.device)
        begun = time.perf_counter()
        prepared = self.cut(shards) if shards else fitting(self.cut, self.execution.cycles, self.device)
        kept = keeps(prepared, self.device)
        made = make(prepared, device=self.device, verified=False)
        return Proved(time.perf_counter() - begun, self.device.memory.peak - held, kept, made)


@dataclass(frozen=True)
class Proved:
    """The cost of a proof."""

    seconds: float
    peak: int  # bytes of the device's memory; on a CPU the increase
    kept: list[str]  # of each shard, between its two graphs
    made: Made

    @property
    def bytes(self) -> int:
        """Return the peak; on a CPU, where other memory is as large as a small proof, the planned one."""
        return self.peak or self.made.peak_bytes

    def __str__(self) -> str:
        shards = f", {len(self.kept)} shards kept {' '.join(self.kept)}" if self.kept else ""
        planned = f"{self.made.peak_bytes / 1e6:,.0f} MB planned"
        return f"{self.seconds:.3f} s, peak {self.peak / 1e6:,.0f} MB, {planned}{shards}{by_stage(self.made)}"


def recorded(here: Here, run: Run) -> Recorded:
    """Return a run by a process that has run another one before."""
    run.guest.record(small_runs()[0].data)
    begun = time.perf_counter()
    execution = run.guest.record(run.data)
    spent = time.perf_counter() - begun
    resident = f"{most_resident() / 1e6:,.0f} MB of the host"
    say(f"{run.name}: {execution.cycles:,} cycles run in {spent:.2f} s; {resident}")
    return Recorded(run.guest, execution, device_for(here.kind))


def keeps(prepared: Prepared | PreparedShards, device: Any) -> list[str]:
    """Return the cached values of each shard by the plan."""
    plan = shards_plan(prepared, device)
    return [shard.keep.name for shard in plan.shards] if plan else []


def forget_peak(device: Any) -> int:
    """Start a new measurement of memory; return the bytes that do not count."""
    if device.kind == "cpu":
        with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the most that this process has had
    device.memory.reset()
    return device.memory.held() if device.kind == "cpu" else 0


def by_stage(made: Made) -> str:
    """Return the seconds of each stage, and the least and the most of each stage over shards."""
    told = [", ".join(f"{name} {seconds:.3f}" for name, seconds in made.seconds.items())]
    for name in made.shards[0] if made.shards else ():
        each = [shard[name] for shard in made.shards]
        told.append(f"{name} of a shard {min(each):.3f} to {max(each):.3f}")
    return "; " + "; ".join(told)


def memory(here: Here) -> Figures:
    """Return seconds and memory of one shard, of several, and of several with little memory: the best of some turns."""
    figures: Figures = {}
    for run in here.sizes.runs():
        figures |= {f"{run.name} {what}": value for what, value in memory_of(here, run).items()}
    return figures


def memory_of(here: Here, run: Run) -> Figures:
    """Return the same for one run."""
    subject = recorded(here, run)
    found: dict[str, list[Proved]] = {"one": [], "shards": [], "short": []}
    for turn in range(here.sizes.turns + 1):  # the first finds the pool empty
        for way in sorted(found, reverse=turn % 2 == 1) if turn else found:
            limit = int(SHARE * found["one"][0].bytes) if way == "short" else None
            with allowed(subject.device, limit):
                try:
                    proved = subject.proved(1 if way == "one" else here.sizes.shards)
                except TooLarge as error:
                    say(f"{way}: {error}")
                    continue
            say(f"{way}: {proved}")
            found[way].append(proved)
    figures: Figures = {}
    for way, proofs in found.items():
        figures[way] = min((proved.seconds for proved in proofs[1:]), default=np.nan)
        figures[f"{way} peak"] = max((proved.peak for proved in proofs), default=np.nan)
        figures[f"{way} planned"] = max((proved.made.peak_bytes for proved in proofs), default=np.nan)
    return figures


def long(here: Here) -> Figures:
    """Return a run in the number of shards that its memory requires."""
    subject = recorded(here, fib_run(here.sizes.long_cycles))
    with allowed(subject.device, here.sizes.long_pool * 1_000_000):
        proved = subject.proved(None)
    say(str(proved))
    rate = subject.execution.cycles / proved.seconds / 1e6
    say(f"{rate:.3g} M cycles/s; {most_resident() / 1e6:,.0f} MB of the host")
    proof = proved.made.proof
    say(f"verified in {seconds_of(fib().verify, proof):.2f} s; {len(proof.to_bytes()) / 1e6:.2f} MB")
    return {"peak": proved.peak, "planned": proved.made.peak_bytes, "seconds": proved.seconds}


def here_in_one(here: Here) -> Figures:
    """Return the seconds to run, prove and verify each guest in one shard in this process: the least of some turns."""
    figures: Figures = {}
    for run in here.sizes.runs():
        subject, prover = recorded(here, run), run.prover()
        spent = []
        for _ in range(here.sizes.turns + 1):
            proved = subject.proved(1)
            verifying = seconds_of(prover.verify, proved.made.proof)
            say(f"{run.name}, one shard, here: {proved}; verified in {verifying:.3f}")
            spent.append(proved.seconds + verifying)
        figures[f"{run.name} run"] = run_seconds(here, run)
        figures[f"{run.name} proof"] = min(spent[1:])
    return figures


def run_seconds(here: Here, run: Run) -> float:
    return min(seconds_of(run.guest.record, run.data) for _ in range(here.sizes.turns))


def by_cluster(here: Here, guests: Sequence[str], shards: Sequence[int], per_device: int | None) -> Figures:
    """Return the seconds of sharded runs by a cluster, with execution and verification: the least after the first
    turn.
    """
    figures: Figures = {}
    with here.cluster(per_device) as client:
        workers = here.warm(client, 100_000)
        for run in here.sizes.runs():
            for number in shards if run.name in guests else ():
                prover, spent = run.prover(device=here.kind, executor=client, shards=number), []
                for _ in range(here.sizes.turns + 1):
                    with get_task_stream(client) as tasks:
                        spent.append(seconds_of(prover.prove, run.data))
                say(f"{run.name}, {number} shards by {workers} workers: {' '.join(f'{one:.3f}' for one in spent)} s")
                say_tasks(tasks.data)
                figures[f"{run.name} {number}"] = min(spent[1:])
    return figures


def with_the_run(here: Here, shards: int) -> Figures:
    """Return the seconds of a long run in some shards by a process of each device, from the call to the verified proof:
    the least after the first turn. Print the cycles that the processes ran.
    """
    with here.cluster(1) as client:
        here.warm(client, 100_000)
        run, spent = fib_run(here.sizes.long_cycles), []
        prover = run.prover(device=here.kind, executor=client, shards=shards)
        for _ in range(here.sizes.turns + 1):
            before = sum(client.run(cycles_run).values(), cycles_run())
            with get_task_stream(client) as tasks:
                spent.append(seconds_of(prover.prove, run.data))
            cycles = sum(client.run(cycles_run).values(), cycles_run()) - before
        say(f"{shards} shards by {here.devices} devices: {' '.join(f'{one:.3f}' for one in spent)} s")
        say(", ".join(f"{number / 1e6:,.1f} M cycles {how}" for how, number in sorted(cycles.items())))
        say_tasks(tasks.data)
    return {"seconds": min(spent[1:])}


def cycles_run() -> Counter[str]:
    """Return the cycles of guests that ran in this process."""
    return Counter(ran)


def say_tasks(tasks: Sequence[Any]) -> None:
    """Print the start and end of a proof's tasks, from the first start, and the number of their workers."""
    groups: dict[str, list[tuple[float, float]]] = {}
    for task in tasks:
        (spent,) = (each for each in task["startstops"] if each["action"] == "compute")
        found = re.search(r": (\w+)\W*$", str(task["key"]))
        groups.setdefault(found[1] if found else "whole proof", []).append((spent["start"], spent["stop"]))
    first = min((start for spans in groups.values() for start, _ in spans), default=0)
    for name, spans in groups.items():
        starts, ends = ([f"{at - first:.3f}" for at in sorted(ats)] for ats in zip(*spans, strict=True))
        say(f"    {len(spans)} {name}: begun at {' '.join(starts)}, ended at {' '.join(ends)}")
    say(f"    by {len({task['worker'] for task in tasks})} workers")


def faulty(here: Here) -> Figures:
    """Return how many proofs differ if a worker is killed meanwhile, by the moment."""
    data, shards, figures = fib_input(here.sizes.fault_cycles), here.sizes.fault_shards, Figures()
    expected = Prover(FIB, device=here.kind, shards=shards).prove(data).to_bytes()
    with here.cluster(2 if here.kind == "cuda" else 1) as client, ThreadPoolExecutor(1) as pool:
        number = here.warm(client, 100_000)
        prover = Prover(FIB, device=here.kind, executor=client, shards=shards)
        undisturbed = min(seconds_of(prover.prove, data) for _ in range(2))

        def disturbed(wait: float) -> bool:
            """Kill a proving worker after some seconds; return whether there was one."""
            client.wait_for_workers(number, timeout=60)
            pids = client.run(os.getpid)
            heard, begun = len(client.get_events(EVENTS)), time.perf_counter()
            proof = pool.submit(prover.prove, data)
            time.sleep(wait)
            busy = [address for address, keys in client.processing().items() if keys and address in pids]
            if busy and not proof.done():
                os.kill(pids[busy[0]], signal.SIGKILL)
            figures[what] = proof.result().to_bytes() != expected
            seconds = time.perf_counter() - begun
            events = [event for _, event in client.get_events(EVENTS)[heard:]]
            again = Counter(event["job"] for event in events if event.get("job"))
            told = ", ".join(again) if busy else "none was proving"
            say(f"{what}: {seconds:.2f} s, {undisturbed:.2f} without; again: {told or 'nothing'}")
            return bool(busy)

        for moment in MOMENTS:
            what, wait = f"a worker killed after {moment:g} of its time", moment * undisturbed
            while not disturbed(wait):
                wait /= 2
    return figures
