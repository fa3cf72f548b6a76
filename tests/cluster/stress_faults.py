"""Random faults of a cluster's workers: each proof has the same bytes as without them, or ends in a named error.

    python -m tests.cluster.stress_faults [--faults 200] [--seed 0] [--workers 4]

Every fault happens in one proof of tables or a guest: whole, in a batch or in shards. In a round a worker is killed,
terminated, retired or stopped, or raises an exception. After its task it is killed, or returns nothing, text, another
object or corrupt bytes. Several workers return that whenever they are asked, or prove another input. A worker is killed
between the two tasks of the shards, or a worker of another version joins. The script prints each fault, counts of what
the results, and the longest time. The exit code is 1 if a proof had other bytes, ended in another exception or took
longer than a minute.
"""

import argparse
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import dask
from distributed import Client

from graphprover import Prover, Statement, VerificationError, prove, prove_many
from graphprover.cluster import ClusterError
from graphprover.cluster import client as joining
from graphprover.cluster.workers import POLL_SECONDS
from graphprover.examples import memory
from graphprover.runtime import settings
from tests.cluster import bad_workers, faults
from tests.cluster.once import ROUNDS
from tests.cluster.processes import ROOT, in_background, pids, until, workers
from tests.graphs.test_proof_graph import FEW, example

GUEST = ROOT / "examples/guests/fib_iterative.elf"
INPUT, OTHER = struct.pack("<Q", 9), struct.pack("<Q", 10)
MOST_SECONDS = 60.0
SILENCE = 4
SAME = "same bytes"
NAMED = (VerificationError, ClusterError)
# Errors that the client raises unchanged: a ValueError is the fault of an input or a program, not of the worker.
OWN = {"ValueError": ValueError, "MemoryError": MemoryError}
BETWEEN, JOINS, OTHER_INPUT = "killed between the tasks", "a misfit joins", "another input"

Proofs = list[bytes]


@dataclass(frozen=True)
class Subject:
    """A statement or guest to prove."""

    name: str
    make: Callable[[Any, Any, Any], Proofs]  # takes an executor, a device and a progress function
    shards: bool = False
    guest: bool = False

    @cached_property
    def expected(self) -> Proofs:
        """Proofs without a fault."""
        return self.make("sync", "cpu", None)


def subjects() -> list[Subject]:
    """Return subjects of tables and of a guest: whole, in shards and in a batch."""
    tables = example(memory).tables
    statement = Statement([*tables, *tables][:4])

    def of_tables(shards: Any) -> Callable[[Any, Any, Any], Proofs]:
        def make(executor: Any, device: Any, tell: Any) -> Proofs:
            progress = tell or False
            return [
                prove(statement, executor, parameters=FEW, device=device, shards=shards, progress=progress).to_bytes()
            ]

        return make

    def of_guest(shards: int = 1) -> Callable[[Any, Any, Any], Proofs]:
        def make(executor: Any, device: Any, tell: Any) -> Proofs:
            return [Prover(GUEST, security=20, executor=executor, device=device, shards=shards).prove(INPUT).to_bytes()]

        return make

    def batch(executor: Any, device: Any, tell: Any) -> Proofs:
        guest = Prover(GUEST, security=20)
        if executor == "sync":
            return [guest.prove(INPUT).to_bytes()] * 4
        results = list(prove_many([guest.job(INPUT, f"job {number}") for number in range(4)], executor, device))
        for result in results:
            if result.error:
                raise result.error
        return [result.proof.to_bytes() for result in results if result.proof]

    return [
        Subject("tables", of_tables(1)),
        Subject("tables in shards", of_tables([[0], [1], [2], [3]]), shards=True),
        Subject("guest", of_guest(), guest=True),
        Subject("guest in shards", of_guest(shards=3), shards=True, guest=True),
        Subject("batch", batch, guest=True),
    ]


@dataclass(frozen=True)
class Fault:
    """A fault in one proof."""

    subject: Subject
    kind: str
    where: str  # an operation of a round, or a task
    once: bool

    def __str__(self) -> str:
        return f"{self.subject.name}: {self.kind} {self.where}{'' if self.once else ', always'}".rstrip()


def draw(rng: random.Random, among: list[Subject]) -> Fault:
    """Return a random fault."""
    subject = rng.choice(among)
    kinds = [*faults.IN_ROUNDS, faults.WRONG, *faults.RESULTS, JOINS]
    kinds += [OTHER_INPUT] * 2 * subject.guest + ([BETWEEN] * 2 if subject.name == "tables in shards" else [])
    kind = rng.choice(kinds)
    if kind in faults.IN_ROUNDS:
        return Fault(subject, kind, rng.choice(ROUNDS), once=True)
    if kind == faults.WRONG:
        return Fault(subject, kind, "gather", once=True)
    if kind in faults.RESULTS:
        of_windows = ["record", "lay_out"] * subject.guest
        where = rng.choice([*of_windows, "commit", "finish"]) if subject.shards else "prove"
        return Fault(subject, kind, where, once=kind == faults.DIES_AFTER or rng.random() < 0.5)
    return Fault(subject, kind, "", once=kind != OTHER_INPUT)


@dataclass
class Summary:
    """The results of proofs with faults."""

    results: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    longest: float = 0.0
    slowest: str = ""

    def add(self, fault: Fault, what: str, seconds: float, wrong: bool) -> None:
        """Count a result."""
        self.results[what] += 1
        self.by_kind[fault.kind, what] += 1
        if seconds > self.longest:
            self.longest, self.slowest = seconds, str(fault)
        if wrong:
            self.wrong.append(f"{fault}: {what} after {seconds:.1f} s")


def one_fault(client: Client, fault: Fault, folder: Path, rng: random.Random) -> tuple[str, float, bool]:
    """Prove with a fault; return the result, the seconds, and whether the result is wrong."""
    marker, device, tell, expected = folder / "marker", "cpu", None, fault.subject.expected
    with joining.joined(client) as cluster:
        there = sorted(cluster._workers.fit("cpu"))
    bad = rng.sample(there, rng.randint(1, len(there)))
    with ExitStack() as meanwhile:
        if fault.where in ROUNDS:
            device = faults.Faulty(fault.where, marker, fault.kind)  # type: ignore[assignment]
        elif fault.kind in faults.RESULTS:
            tasks = ("prove", "prove_in_turn") if fault.where == "prove" else (fault.where,)
            client.run(faults.returns, fault.kind, tasks, marker, fault.once, workers=there if fault.once else bad)
        elif fault.kind == OTHER_INPUT:
            client.run(bad_workers.on_input, OTHER, workers=bad)
        elif fault.kind == JOINS:
            meanwhile.enter_context(misfit(client, folder))
        elif fault.kind == BETWEEN:
            tell = between(client.run(os.getpid, workers=bad[:1])[bad[0]])
        if fault.kind == faults.RETIRE:
            meanwhile.enter_context(retiring(client, marker))
        started = time.monotonic()
        proving = in_background(lambda: fault.subject.make(client, device, tell))  # type: ignore[arg-type,return-value]
        try:
            made: Any = proving.result(MOST_SECONDS)
            what, wrong = (SAME, False) if made == expected else ("other bytes", True)
        except TimeoutError:
            what, wrong = "nothing", True
        except Exception as error:
            known = (*NAMED, OWN[fault.kind]) if fault.kind in OWN else NAMED
            what, wrong = f"{type(error).__name__}: {error}", not isinstance(error, known)
        seconds = time.monotonic() - started
    if (fault.where in ROUNDS or fault.kind in faults.RESULTS) and not marker.exists():
        what = f"{what}, and the fault did not happen"
    if marker.exists() and fault.kind == faults.HANG:
        with suppress(ProcessLookupError):
            os.kill(int(marker.read_text().split()[0]), signal.SIGKILL)
    return what, seconds, wrong


def between(pid: int) -> Callable[[int, int, str], None]:
    """Return a progress function that kills a process once all shards have committed."""

    def tell(ended: int, total: int, task: str) -> None:
        if 2 * ended == total:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    return tell


@contextmanager
def misfit(client: Client, folder: Path) -> Iterator[None]:
    """Start a worker of another version, which joins the cluster."""
    preload = folder / "misfit.py"
    preload.write_text("import graphprover\ngraphprover.__version__ = '0.0'\n")
    command = [sys.executable, "-m", "distributed.cli.dask_worker", str(client.scheduler.address), "--no-nanny"]  # type: ignore[union-attr]
    command += ["--nthreads", "1", "--no-dashboard", "--preload", str(preload), "--local-directory", str(folder)]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
    try:
        time.sleep(random.random() * 4)
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def retiring(client: Client, marker: Path) -> Iterator[None]:
    """Retire the worker that the marker names, once the marker exists."""
    over = threading.Event()

    def retire() -> None:
        while not marker.exists():
            if over.wait(0.05):
                return
        pid = int(marker.read_text().split()[0])
        for address in [address for address, own in pids(client).items() if own == pid]:
            client.retire_workers([address])

    thread = threading.Thread(target=retire)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def run(count: int, seed: int, number: int, say: Callable[[str], None] = print) -> Summary:
    """Prove ``count`` times on ``number`` workers, each time with a fault."""
    rng, summary, among = random.Random(seed), Summary(), subjects()
    for subject in among:
        assert subject.expected
    done = 0
    # The end of a nanny that restarts a worker may exceed the cluster's timeout.
    with dask.config.set({settings.SILENCE: SILENCE, settings.WAIT: MOST_SECONDS / 2}):
        while done < count:
            with suppress(TimeoutError), workers(number) as client:
                retired = 0
                while done < count and retired < number - 1 and ready(client):
                    fault = draw(rng, among)
                    with tempfile.TemporaryDirectory() as folder:
                        what, seconds, wrong = one_fault(client, fault, Path(folder), rng)
                    done += 1
                    summary.add(fault, what, seconds, wrong)
                    say(f"{done} {fault}: {what}, {seconds:.1f} s{' WRONG' * wrong}")
                    retired += fault.kind == faults.RETIRE
    return summary


def ready(client: Client) -> bool:
    """Wait until two workers fit, and undo the faults of all; return False if that fails."""

    def fit() -> bool:
        cluster._workers.refresh()
        time.sleep(POLL_SECONDS / 4)
        return len(cluster._workers.fit("cpu")) >= 2

    try:
        with joining.joined(client) as cluster:
            until(fit, 60)
        client.run(faults.restore, on_error="ignore")
    except (AssertionError, ClusterError, OSError):  # another cluster is started
        return False
    return True


def main() -> int:
    """Run faults and print the results."""
    parser = argparse.ArgumentParser("python -m tests.cluster.stress_faults", description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=200, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=4)
    options = parser.parse_args()
    summary = run(options.faults, options.seed, options.workers, lambda line: print(line, flush=True))
    print()
    for what, times in Counter({what.partition(":")[0]: 0 for what in summary.results}).items():
        total = sum(n for whole, n in summary.results.items() if whole.partition(":")[0] == what)
        print(f"{total + times:5} {what}")
    for (kind, what), times in sorted(summary.by_kind.items()):
        print(f"{times:5} {kind}: {what}")
    print(f"longest: {summary.longest:.1f} s: {summary.slowest}")
    for line in summary.wrong:
        print(f"wrong: {line}")
    return 1 if summary.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
