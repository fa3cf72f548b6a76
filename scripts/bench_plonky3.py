"""graphprover and Plonky3 on the same work; Plonky3 needs cargo.

    python scripts/bench_plonky3.py [WORKLOAD ...] [--threads 2] [--pairs 5] [--json]

Same tables, traces, parameters and cores. The provers take turns, in pairs A B, B A, each turn in a process of its own
that proves once to warm up (compiled kernels, allocated memory, twiddles) and reports the median of three proofs. A
table of medians in Markdown goes to stdout; the ratio is the median over pairs, so that a slow minute cancels.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import checkout  # noqa: F401 (finds the package)
from figures import Figures, add_option
from graphprover.air import Air, Bus
from graphprover.device import CpuDevice
from graphprover.device.host_memory import most_resident
from graphprover.device.host_processor import available_threads
from graphprover.field import P, array_add, array_mul
from graphprover.jobs.opening import load_packaged
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES
from graphprover.proving.prove import prove
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import verify
from graphprover.verifier.plonky3 import PAYLOAD, STATEMENT, export

CRATE = Path(__file__).resolve().parents[1] / "tests/interop/plonky3"
TRACES, PROOF = "traces.bin", "plonky3.bin"  # names of files
FLAGS = {STATEMENT: "statement", TRACES: "traces", PROOF: "proof", PAYLOAD: "proof"}  # options of the crate
PROOFS = 4  # in each turn; the first warms up
KECCAK_BLOCK, KECCAK_ROUNDS = 136, 24


class Mixed(Air):
    """Products of degree 3 on and between rows, and messages of two elements."""

    def __init__(self, name: str, free: int, computed: int, messages: int) -> None:
        self.name = name
        self.columns = (f"free[{free}]", f"computed[{computed}]")
        self.free, self.computed, self.messages = free, computed, messages

    def factors(self, i: int) -> list[int]:
        """Return the free columns that a computed one is made of."""
        return [(i + k) % self.free for k in range(4)]

    def define(self, t: Any) -> None:
        for i, result in enumerate(t.computed):
            a, b, c, d = (t.free[k] for k in self.factors(i))
            if i % 2:
                t.every_row(result - a * b * c - d)
            else:
                t.transition(t.next.computed[i] - a * b * c - d)
        for k in range(0, 4 * self.messages, 4):
            bus = Bus(f"{self.name} {k % 8}")
            t.send(bus, (t.free[k], t.free[k + 1]))
            t.receive(bus, (t.free[k + 2], t.free[k + 3]))

    def trace(self, rows: int) -> np.ndarray:
        """Return random numbers; each received message is a sent one some rows earlier."""
        free = np.random.default_rng(rows).integers(0, P, (self.free, rows), dtype=np.uint64)
        for k in range(0, 4 * self.messages, 4):
            free[k + 2 : k + 4] = np.roll(free[k : k + 2], k + 1, axis=1)
        computed = np.empty((self.computed, rows), dtype=np.uint64)
        for i in range(self.computed):
            a, b, c, d = (free[k] for k in self.factors(i))
            computed[i] = np.roll(array_add(array_mul(array_mul(a, b), c), d), 1 - i % 2)
        return np.concatenate([free, computed])


def mixed(*tables: tuple[Mixed, int]) -> Statement:
    """Return these tables with traces of 2^k rows."""
    return Statement([Table(air, (), air.trace(1 << log_rows)) for air, log_rows in tables])


def keccak(log_rows: int) -> Statement:
    """Return the longest message whose permutations fit 2^log_rows rows."""
    length = (1 << log_rows) // KECCAK_ROUNDS * KECCAK_BLOCK - 1
    return load_packaged("examples/keccak").record(bytes(i % 251 for i in range(length)))


WORKLOADS: dict[str, Callable[[], Statement]] = {
    **{f"keccak-{log_rows}": partial(keccak, log_rows) for log_rows in (12, 13, 14, 15)},
    # 100 columns, 20 interactions.
    "wide": lambda: mixed((Mixed("wide", 50, 50, 10), 16)),
    "ten": lambda: mixed(
        *(
            (Mixed(f"table{i}", 12 + 4 * i, 4 + 2 * i, i % 4), k)
            for i, k in enumerate((8, 10, 11, 12, 12, 13, 14, 14, 15, 16))
        )
    ),
}


@dataclass(frozen=True)
class Run:
    """A turn of one prover."""

    seconds: float  # median of its proofs after the first
    peak_bytes: int  # of the whole process


def run_ours(name: str, threads: int, hash: str) -> Run:
    """Run graphprover in a process of its own."""
    command = [sys.executable, __file__, name, "--threads", str(threads), "--hash", hash, "--child"]
    return Run(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def child(name: str, threads: int, hash: str) -> Run:
    """Run a turn of graphprover in this process."""
    statement = WORKLOADS[name]()
    device = CpuDevice(threads)
    seconds = []
    for _ in range(PROOFS):
        start = time.perf_counter()
        prove(statement, device=device, hash=hash)
        seconds.append(time.perf_counter() - start)
    return Run(statistics.median(seconds[1:]), most_resident())


@cache
def crate() -> Path:
    """Return the program of the crate, built for this processor."""
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo/bin"))
    if cargo is None:
        raise SystemExit(f"no cargo to build {CRATE} with")
    # From the crate's folder, or cargo overlooks its .cargo/config.toml.
    subprocess.run([cargo, "build", "--release", "--locked", "--quiet"], cwd=CRATE, check=True)
    return CRATE / "target/release/graphprover-interop"


def run_crate(folder: Path, command: str, files: Sequence[str], *more: str, threads: int = 1) -> str:
    """Return the output of the crate's ``command``, given files of ``folder``; raises RuntimeError with its reason."""
    given = [word for file in files for word in (f"--{FLAGS[file]}", file)]
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [crate(), command, *given, *more], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def run_plonky3(folder: Path, threads: int) -> Run:
    """Run Plonky3 in a process of its own."""
    printed = run_crate(folder, "prove", (STATEMENT, TRACES, PROOF), "--repeat", str(PROOFS), threads=threads)
    measured = json.loads(printed)
    return Run(statistics.median(measured["prove_seconds"][1:]), measured["peak_bytes"])


def write_traces(path: Path, statement: Statement) -> None:
    """Write for each table the columns, the rows, and the words by column."""
    with path.open("wb") as file:
        for table in statement.tables:
            assert table.main is not None
            np.array(table.main.shape, dtype="<u8").tofile(file)
            np.ascontiguousarray(table.main, dtype="<u8").tofile(file)


def compare(out: Figures, name: str, threads: int, hash: str, pairs: int, folder: Path) -> None:
    """Print a row of the table; raises if one side rejects the other's proof."""
    statement = WORKLOADS[name]()
    proof = prove(statement, device=CpuDevice(threads), hash=hash)
    for file, data in export(proof, statement).items():
        (folder / file).write_bytes(data)
    run_crate(folder, "verify", (STATEMENT, PAYLOAD))
    write_traces(folder / TRACES, statement)
    ours: list[Run] = []
    theirs: list[Run] = []
    for pair in range(pairs):
        for turn in range(2):
            if turn == pair % 2:
                ours.append(run_ours(name, threads, hash))
            else:
                theirs.append(run_plonky3(folder, threads))
    verify(replace(proof, payload=(folder / PROOF).read_bytes()), statement)
    ratio = statistics.median(our.seconds / their.seconds for our, their in zip(ours, theirs, strict=True))
    provers = {"graphprover": ours, "Plonky3": theirs}
    seconds = {prover: statistics.median(run.seconds for run in runs) for prover, runs in provers.items()}
    peaks = {prover: statistics.median(run.peak_bytes for run in runs) for prover, runs in provers.items()}
    times = (f"{value:.3f}" for value in seconds.values())
    memory = (f"{value / 2**20:.0f}" for value in peaks.values())
    out.text(" | ".join([name, str(threads), *times, f"{ratio:.2f}", *memory]))
    for prover in provers:
        out(f"{name} by {prover}", seconds[prover], "s", threads=threads, hash=hash)
        out(f"{name} by {prover}: peak", peaks[prover], "bytes", threads=threads, hash=hash)
    out(f"{name}: of Plonky3's time", ratio, "", threads=threads, hash=hash)


def main() -> None:
    """Run the comparison (see the module)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}; default all")
    parser.add_argument("--threads", type=int, default=available_threads(), help="cores of each; default all")
    parser.add_argument("--hash", choices=HASH_NAMES, default=DEFAULT_HASH, help=f"default {DEFAULT_HASH}")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each; default 5")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    if unknown := set(options.workloads) - WORKLOADS.keys():
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    if options.child:
        print(json.dumps(asdict(child(options.workloads[0], options.threads, options.hash)), allow_nan=False))
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    out.text("workload | threads | graphprover s | Plonky3 s | ratio | graphprover MiB | Plonky3 MiB")
    out.text("---|---:|---:|---:|---:|---:|---:")
    for name in options.workloads or WORKLOADS:
        with tempfile.TemporaryDirectory() as folder:
            compare(out, name, options.threads, options.hash, options.pairs, Path(folder))


if __name__ == "__main__":
    main()
