"""What check_pieces_cuda.py measures, each in a process of its own that sees its devices and no others."""

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
from statistics import median
from typing import Any

import dask
import numpy as np
from distributed import get_task_stream

import checkout  # noqa: F401 (finds the package)
from cluster_figures import FIB, GUESTS, Figures, Here, fib, fib_input, random_tables, say, seconds_of
from graphprover import Prover, prove, verify
from graphprover.admission import TooLarge
from graphprover.cluster import EVENTS
from graphprover.device.choose import device_for
from graphprover.device.host_memory import most_resident
from graphprover.fitting import fitting
from graphprover.prepared import Prepared, PreparedPieces, ready
from graphprover.proof_in_pieces import ProofInPieces
from graphprover.prover import Made, in_pieces, make, plan_for
from graphprover.settings import MEMORY_LIMIT, POOL
from graphprover.verifier import verify_piece
from graphprover.vm.execute import Execution
from graphprover.vm.guest import Guest

NUMBERS = (1, 2, 3)  # of pieces, whose bytes are compared
SEEDS = (2, 5, 8)  # of statements of three tables
SHARE = 0.35  # of the memory that one piece takes, for all of them
MOMENTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of an undisturbed proof's time, at which a worker is killed


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    cycles: int = 16_000_000  # of a run
    pieces: int = 4  # that one device makes of it
    long_cycles: int = 64_000_000  # of a run that does not fit
    long_pool: int = 24_000  # millions of bytes that its proof may hold
    fault_cycles: int = 8_000_000  # of a run whose workers are killed
    fault_pieces: int = 8
    processes: int = 4  # that share a device
    turns: int = 3  # each way


@cache
def guest() -> Guest:
    """The program of `fib`."""
    program = fib().program
    assert isinstance(program, Guest)
    return program


def small_runs() -> list[tuple[str, bytes]]:
    """Guests and inputs, of up to 100,000 cycles."""
    text = bytes(range(256))
    return [(FIB.stem, fib_input(100_000)), ("sha256", text), ("keccak", text)]


def compile_all(here: Here) -> Figures:
    """Seconds of the first proofs, after which the kernels are on disk."""

    def prove_all() -> None:
        for name, data in small_runs():
            for pieces in (1, 2):
                Prover(GUESTS / f"{name}.elf", device=here.kind, pieces=pieces).prove(data)
        Prover(FIB, device=here.kind).prove(fib_input(here.sizes.cycles))

    return {"seconds": seconds_of(prove_all)}


def other_bytes(here: Here) -> Figures:
    """How many proofs in pieces have other bytes than the CPU's, or do not verify, whole and piece by piece."""
    names = [f"cuda:{number}" for number in range(here.devices)] if here.kind == "cuda" else []
    figures: Figures = {}
    expected: dict[str, bytes] = {}
    for device in ("cpu", *names):
        begun, wrong = time.perf_counter(), 0
        for pieces in NUMBERS:
            for what, proof, verified in [*guests_in(pieces, device), *tables_in(pieces, device)]:
                wrong += not verified or expected.setdefault(what, proof) != proof
        figures[device] = wrong
        say(f"{len(expected)} proofs by {device}: {wrong} wrong, {time.perf_counter() - begun:.2f} s")
    return figures


def guests_in(pieces: int, device: str) -> Iterator[tuple[str, bytes, bool]]:
    """Of each run its name, its proof, and whether that verifies in any order of pieces."""
    for name, data in small_runs():
        prover = Prover(GUESTS / f"{name}.elf", device=device, pieces=pieces)
        proof = prover.prove(data)
        statement = prover.program.statement_of(proof)
        yield f"{name} in {pieces}", proof.to_bytes(), bool(prover.verify(proof)) and each_verifies(proof, statement)


def tables_in(pieces: int, device: str) -> Iterator[tuple[str, bytes, bool]]:
    """The same of statements in Python."""
    for seed in SEEDS:
        statement = random_tables(seed)
        proof = prove(statement, security=60, device=device, pieces=pieces)
        verified = bool(verify(proof, statement, security=60)) and each_verifies(proof, in_pieces(statement, pieces))
        yield f"tables {seed} in {pieces}", proof.to_bytes(), verified


def each_verifies(proof: Any, statement: Any) -> bool:
    """Whether every piece does by itself; raises VerificationError where one does not."""
    if isinstance(proof, ProofInPieces):
        for piece in proof.pieces:
            verify_piece(piece, statement)
    return True


@contextmanager
def allowed(device: Any, limit: int | None) -> Iterator[None]:
    """Proofs hold at most so many bytes of the device's memory."""
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
    """A run of fib, and the device that proves it."""

    run: Execution
    device: Any

    def cut(self, pieces: int) -> Prepared | PreparedPieces:
        return ready(guest().statement_about(self.run, pieces=pieces, device=self.device))

    def proved(self, pieces: int | None) -> "Proved":
        """In so many pieces, or in as many as fit: from the record to the bytes, which are not verified."""
        held = forget_peak(self.device)
        begun = time.perf_counter()
        prepared = self.cut(pieces) if pieces else fitting(self.cut, self.run.cycles, self.device)
        kept = keeps(prepared, self.device)
        made = make(prepared, device=self.device, check=lambda proof, cap: None)
        return Proved(time.perf_counter() - begun, self.device.memory.peak - held, kept, made)


@dataclass(frozen=True)
class Proved:
    """What it took."""

    seconds: float
    peak: int  # bytes of the device's memory, of a CPU's what it takes more than before
    kept: list[str]  # of each piece, while others are made
    made: Made

    @property
    def bytes(self) -> int:
        """The peak; of a CPU's memory, where other things are as large as a small proof, the planned one."""
        return self.peak or self.made.peak_bytes

    def __str__(self) -> str:
        pieces = f", {len(self.kept)} pieces kept {' '.join(self.kept)}" if self.kept else ""
        planned = f"{self.made.peak_bytes / 1e6:,.0f} MB planned"
        return f"{self.seconds:.3f} s, peak {self.peak / 1e6:,.0f} MB, {planned}{pieces}{by_stage(self.made)}"


def recorded(here: Here, cycles: int) -> Recorded:
    """A run of so many cycles, on a device that has made a proof of each form."""
    device = device_for(here.kind)
    for pieces in (1, 2):
        Recorded(guest().record(fib_input(min(cycles, 100_000))), device).proved(pieces)
    begun = time.perf_counter()
    run = guest().record(fib_input(cycles))
    spent = time.perf_counter() - begun
    say(f"{run.cycles:,} cycles run in {spent:.2f} s; {most_resident() / 1e6:,.0f} MB of the host")
    return Recorded(run, device)


def keeps(prepared: Prepared | PreparedPieces, device: Any) -> list[str]:
    """What the plan keeps of each piece."""
    plan = plan_for(prepared, device).pieces if isinstance(prepared, PreparedPieces) else ()
    return [piece.keep.name for piece in plan]


def forget_peak(device: Any) -> int:
    """Begin a new measurement of memory; gives the bytes that do not count."""
    if device.kind == "cpu":
        with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the most that this process has had
    device.memory.reset()
    return device.memory.held() if device.kind == "cpu" else 0


def by_stage(made: Made) -> str:
    """Seconds of each stage, and of those of each piece the least to the most."""
    told = [", ".join(f"{name} {seconds:.3f}" for name, seconds in made.seconds.items())]
    for name in made.pieces[0] if made.pieces else ():
        each = [piece[name] for piece in made.pieces]
        told.append(f"{name} of a piece {min(each):.3f} to {max(each):.3f}")
    return "; " + "; ".join(told)


def memory(here: Here) -> Figures:
    """Seconds and memory of one piece, of several, and of several where memory is short: the best of some turns."""
    pieces, subject = here.sizes.pieces, recorded(here, here.sizes.cycles)
    found: dict[str, list[Proved]] = {"one": [], "pieces": [], "short": []}
    for turn in range(here.sizes.turns + 1):  # the first finds the pool empty
        for way in sorted(found, reverse=turn % 2 == 1) if turn else found:
            limit = int(SHARE * found["one"][0].bytes) if way == "short" else None
            with allowed(subject.device, limit):
                try:
                    proved = subject.proved(1 if way == "one" else pieces)
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
    """A run in as many pieces as its memory asks for."""
    subject = recorded(here, here.sizes.long_cycles)
    with allowed(subject.device, here.sizes.long_pool * 1_000_000):
        proved = subject.proved(None)
    say(str(proved))
    rate = subject.run.cycles / proved.seconds / 1e6
    say(f"{rate:.3g} M cycles/s; {most_resident() / 1e6:,.0f} MB of the host")
    proof = proved.made.proof
    say(f"verified in {seconds_of(fib().verify, proof):.2f} s; {len(proof.to_bytes()) / 1e6:.2f} MB")
    return {"peak": proved.peak, "planned": proved.made.peak_bytes, "seconds": proved.seconds}


def here_in_one(here: Here) -> Figures:
    """Seconds from the recorded run to the bytes, in one piece by this process: the least of some turns."""
    subject = recorded(here, here.sizes.cycles)
    proofs = [subject.proved(1) for _ in range(here.sizes.turns + 1)]
    for proved in proofs:
        say(f"one piece, here: {proved}")
    return {"seconds": min(proved.seconds for proved in proofs[1:])}


def by_cluster(here: Here, pieces: int, per_device: int | None) -> Figures:
    """Seconds of a run in pieces by a cluster: whole, and less what its run and its verification take by themselves."""
    data = fib_input(here.sizes.cycles)
    with here.cluster(per_device) as client:
        prover = Prover(FIB, device=here.kind, executor=client, pieces=pieces)
        workers = here.warm(client, 100_000)
        proof = prover.prove(data)
        apart = {
            "run": median(seconds_of(guest().record, data) for _ in range(3)),
            "verify": median(seconds_of(prover.verify, proof) for _ in range(3)),
        }
        spent = []
        for _ in range(here.sizes.turns):
            with get_task_stream(client) as tasks:
                spent.append(seconds_of(prover.prove, data))
    seen = [f"{seconds:.3f}" for seconds in spent], [f"{name} {seconds:.3f}" for name, seconds in apart.items()]
    say(f"{pieces} pieces by {workers} workers: {', '.join(seen[0])} s, with {', '.join(seen[1])} by themselves")
    say_tasks(tasks.data)
    whole = min(spent)
    return {"whole": whole, "proof": whole - sum(apart.values())}


def say_tasks(tasks: Sequence[Any]) -> None:
    """When the tasks of a proof begin and end, from the begin of the first, and by how many workers."""
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
    """How many proofs have other bytes where a worker is killed meanwhile, by the moment."""
    data, pieces, figures = fib_input(here.sizes.fault_cycles), here.sizes.fault_pieces, Figures()
    expected = Prover(FIB, device=here.kind, pieces=pieces).prove(data).to_bytes()
    with here.cluster(2 if here.kind == "cuda" else 1) as client, ThreadPoolExecutor(1) as pool:
        number = here.warm(client, 100_000)
        prover = Prover(FIB, device=here.kind, executor=client, pieces=pieces)
        undisturbed = min(seconds_of(prover.prove, data) for _ in range(2))

        def disturbed(wait: float) -> bool:
            """Kill a worker that proves after so many seconds; gives whether there was one."""
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
