"""A cluster of sleeping workers, and a proof on it by the real client.

The scheduler, its connections, and the client's code from `OnCluster.prove` on are the real ones. These parts are not:

- the tasks of the workers, which sleep (`sleeping_workers`);
- the client's run of the guest, a sleep before a short run whose windows travel to the workers;
- the verification of shards and layers, and the decoding of shards. As the proofs have no content, the client runs
  Python code for the modelled time instead, which holds Python's lock;
- the processes of the client that verify shards. They are threads that sleep, because this host may have few cores.
"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

from distributed import Client, get_task_stream

from cluster_model import LAST_RATE, LAYER_RATE, Parts
from graphprover import Prover
from graphprover.jobs.job import Job
from graphprover.proof.compressed import Accepted, ShardHeaders
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.level import Level
from graphprover.prover import join, shard_checks
from graphprover.prover.join import Joined, Node, ProveLayers, joined
from graphprover.prover.layers import Layer, Subject
from graphprover.proving import executor
from graphprover.proving.executor import OnCluster
from graphprover.vm.executor.window import Rehearsal, rehearse
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.shared_run import SharedRun
from sleeping_workers import NONCE_BYTES, Whole

SCRIPTS = Path(__file__).parent
GUEST = SCRIPTS.parent / "examples/guests/fib_iterative.elf"
INPUT = struct.pack("<Q", 20_000)  # of the short run
PROCESSES = 2  # of the workers, at most
START_SECONDS = 120
LAYERS = [Level(rate=LAYER_RATE), Level(rate=LAST_RATE)]
_WORKERS = (
    "import json, sys; from cluster_model import Parts; from sleeping_workers import Sleeper, serve; "
    "given = json.loads(sys.argv[1]); "
    "serve(given['scheduler'], given['number'], Sleeper(Parts(**given['parts']), given['cycles'], given['workers']))"
)


def spend(seconds: float) -> None:
    """Run Python code for some seconds, as verification does: other threads get Python's lock only now and then.

    The clock is the host's, not the thread's, because other processes of a busy host would lengthen the modelled time.
    """
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@dataclass(frozen=True, eq=False)
class SpendingLayer(Layer):
    """A layer whose verification takes the modelled time."""

    checking: float = 0.0  # seconds of its verification

    def verify(self, proof: Any) -> None:
        """Spend the time of the verification."""
        spend(self.checking)

    def subject_by(self, proof: Proof) -> Callable[[], Subject]:
        """Return a function that gives the proof of this layer as a subject of another layer."""
        return lambda: Subject(Accepted(_header(proof), self.children), cast(Any, None), proof)


@dataclass(frozen=True)
class SpendingChecks:
    """A stand-in for `graphprover.verifier.Expected`."""

    parts: Parts

    def opened(self, index: int, proof: Proof) -> Any:
        """Spend the time in which a payload is decoded, and return its nonce."""
        spend(self.parts.decode_byte * proof.size)
        return SimpleNamespace(lookup_nonce=int.from_bytes(proof.payload[:NONCE_BYTES], "little"))

    def shard_check(self, index: int) -> None:
        """Return nothing: `SleepingChecker` needs no check."""

    def check(self, index: int, proof: Proof) -> Any:
        """Spend the time of a verification, and return the nonce."""
        spend((self.parts.verify_byte - self.parts.decode_byte) * proof.size)
        return self.opened(index, proof)

    def verdict(self, batches: Sequence[Any]) -> None:
        """Return nothing: the client only hands it on."""


@dataclass
class SleepingChecker:
    """A stand-in for `graphprover.prover.checking.Checker`."""

    parts: Parts
    size: int = 0  # bytes of the shard that is verified

    def __enter__(self) -> "SleepingChecker":
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def takes(self, check: None) -> bool:
        """Return that the process is ready."""
        return True

    def send(self, check: None, proof: Proof, caps: None) -> None:
        """Encode a shard, as for the other process."""
        self.size = len(proof.to_bytes())

    def answer(self) -> None:
        """Sleep for the time of the verification."""
        time.sleep(self.parts.verify_byte * self.size)


@dataclass(frozen=True)
class SimulatedJob:
    """A job for `OnCluster.prove`."""

    parts: Parts
    cycles: float
    count: int  # of the shards
    compresses: bool
    job: Job
    rehearsal: Rehearsal
    ran: "Future[None] | None" = None  # the run in this process
    shared: SharedRun | None = None
    label: str = "simulated"

    def make(self, *options: Any) -> Any:
        """Raise an error: workers prove."""
        raise NotImplementedError

    @contextmanager
    def for_workers(self) -> "Iterator[SimulatedJob]":
        """Yield the job with its run, as `Job.for_workers`."""
        seconds = self.parts.run_rate * self.cycles / 1e9
        with ThreadPoolExecutor(1) as meanwhile:
            ran = meanwhile.submit(time.sleep, seconds)
            if self.count == 1:
                yield replace(self, ran=ran)
                return
            ran.result()
            ranges = cycle_ranges_of(self.rehearsal.execution.cycles, self.count)
            yield replace(self, shared=SharedRun(self.job, self.rehearsal, ranges, commit_input=False))

    @property
    def shards(self) -> list[Any]:
        """The subject of each task."""
        return [Whole(self.cycles, self.compresses)] if self.count == 1 else [self] * self.count

    def run(self) -> None:
        """Return nothing: no observation needs the run."""

    def verify(self, proof: Any) -> Any:
        """Spend the time of the verification of a whole proof."""
        if self.ran:
            self.ran.result()
        spend(self.parts.verify_layer if self.compresses else self.parts.verify_byte * proof.size)

    def expect(self, headers: Any) -> Any:
        """Return the verification of shards."""
        return SpendingChecks(self.parts)

    def compress(self, proof: ShardedProof, prove: ProveLayers, memory: int) -> Joined:
        """Compress a proof whose shards stay on their workers."""
        assert isinstance(proof, ShardHeaders)
        nodes = [
            Node(
                header,
                size,
                (),
                partial(Subject, Accepted(header, (), shard), cast(Any, None), header),
                f"shard {shard.index}",
                f"shard {shard.index}",
            )
            for header, size, shard in zip(proof.proofs, proof.sizes, proof.accepted, strict=True)
        ]
        with mock.patch.object(join, "Layer", partial(SpendingLayer, checking=self.parts.verify_layer)):
            return joined(nodes, LAYERS, prove, memory)


def _header(proof: Proof) -> Proof:
    return Proof(proof.label, proof.parameters, proof.log_heights, proof.public_values, b"")


@dataclass(frozen=True)
class Simulated:
    """A simulated proof."""

    seconds: float
    stages: dict[str, float]  # seconds from the last end of the stage before to the last end of this one


@contextmanager
def cluster(parts: Parts, cycles: float, workers: int) -> Iterator[Client]:
    """Start a scheduler and sleeping workers, and yield a client.

    Args:
        parts: The parts of the proofs.
        cycles: Of their runs.
        workers: The number of workers.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SCRIPTS), *sys.path])}
    started = []
    with tempfile.TemporaryDirectory() as folder:
        environment["DASK_TEMPORARY_DIRECTORY"] = folder
        file = Path(folder) / "scheduler.json"
        try:
            options = ["--scheduler-file", str(file), "--port", "0", "--no-dashboard", "--host", "127.0.0.1"]
            program = [sys.executable, "-m", "distributed.cli.dask_scheduler", *options]
            started.append(subprocess.Popen(program, env=environment, stderr=subprocess.DEVNULL))
            _wait_for(file)
            address = json.loads(file.read_text())["address"]
            for number in range(min(PROCESSES, workers)):
                own = len(range(number, workers, PROCESSES))
                given = {"scheduler": address, "number": own, "cycles": cycles, "workers": workers}
                program = [
                    sys.executable,
                    "-c",
                    _WORKERS,
                    json.dumps(given | {"parts": asdict(parts)}, allow_nan=False),
                ]
                started.append(subprocess.Popen(program, env=environment, stderr=subprocess.DEVNULL))
            with Client(address) as client:
                client.wait_for_workers(workers, timeout=START_SECONDS)
                yield client
        finally:
            for process in started:
                process.kill()
                process.wait()


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not (file.is_file() and file.read_text()):
        if time.monotonic() > deadline:
            raise TimeoutError("the scheduler does not start")
        time.sleep(0.02)


def simulate(
    parts: Parts, cycles: float, workers: int, shards: int, compress: bool = True, turns: int = 1
) -> Simulated:
    """Simulate a proof, and return the fastest of some turns.

    A first, short proof does not count: client and workers load their modules in it.

    Args:
        parts: The parts.
        cycles: Of the run.
        workers: The number of workers.
        shards: The shards of the proof.
        compress: Whether layers are made about it.
        turns: The number of proofs.
    """
    job = Prover(GUEST, shards=shards).job(INPUT)
    rehearsal = rehearse(job.machine.image, INPUT)
    run = parts.run_rate * cycles / 1e9
    found = []
    with cluster(parts, cycles, workers) as client:
        for turn in range(1 + turns):
            own = SimulatedJob(parts, cycles if turn else 0.0, shards, compress, job, rehearsal)
            with (
                mock.patch.object(executor, "processes_for", lambda shards, cores: parts.checkers(shards)),
                mock.patch.object(shard_checks, "Checker", partial(SleepingChecker, parts)),
                get_task_stream(client) as tasks,
            ):
                began = time.time()
                OnCluster(client, "cpu").prove(own)
                ended = time.time()
            found.append(Simulated(ended - began, _stages(tasks.data, began, ended, run)))
    return min(found[1:], key=lambda simulated: simulated.seconds)


def _stages(tasks: Sequence[Any], began: float, ended: float, run: float) -> dict[str, float]:
    """Return the seconds of each stage, given the task stream of a proof."""
    ends: dict[str, float] = {}
    for task in tasks:
        (stop,) = (each["stop"] for each in task["startstops"] if each["action"] == "compute")
        key = str(task["key"])
        found = re.search(r": (layer \d+|\w+)\W*$", key)
        name = found[1] if found else "whole proof" if "simulated" in key else ""
        if name:
            ends[name] = max(ends.get(name, 0.0), stop)
    stages, before = {"run": run} if "record" in ends else {}, began + run * ("record" in ends)
    for name, stop in sorted(ends.items(), key=lambda item: item[1]):
        stages[name], before = stop - before, stop
    return stages | {"verify": ended - before}
