"""Proofs of guests, from the ELF file to the proof's bytes.

    python scripts/bench_prove_vm.py [--device cuda] [--repeat 3] [--runs fib:1 fib:4 sha256:1048576 ...] [--json]

A run is fib_iterative with a number of million cycles, sha256 or keccak with a number of bytes, quicksort with a number
of words, or the interpreter counting a number of words.

Each figure is the median. Execution, partition (the choice of tables) and proof are timed one after another, as
`graphprover prove` runs them, after one run that compiles. The traces, which the proof generates, are then generated
separately, all together and part by part. A GPU's lines add launches, bytes over PCIe and peak memory.
"""

import argparse
import statistics
import struct
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import checkout  # noqa: F401 (finds the package)
from figures import Figures, add_option
from graphprover import prove, verify
from graphprover.device import CpuDevice
from graphprover.device.choose import device_for
from graphprover.device.host_memory import most_resident
from graphprover.statement.cells import committed_cells
from graphprover.statement.statement import Statement, with_traces
from graphprover.statement.trace_task import TraceTask, make
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run

GUESTS = Path(__file__).parents[1] / "examples/guests"
ELFS = {"fib": "fib_iterative"}
TURNS_PER_MILLION = 199_980
RUNS = ["fib:1", "fib:2", "fib:4", "interpreter:100"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--runs", nargs="+", default=RUNS, metavar="GUEST:SIZE")
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    device = device_for(options.device)
    for run in options.runs:
        guest, _, size = run.partition(":")
        measure(out, run, GUESTS / f"{ELFS.get(guest, guest)}.elf", device, input_of(guest, int(size)), options.repeat)


def input_of(guest: str, size: int) -> bytes:
    """Return the input of a run of this size."""
    if guest == "fib":
        return struct.pack("<Q", size * TURNS_PER_MILLION)
    if guest == "quicksort":
        return np.random.default_rng(1).integers(0, 1 << 63, size, dtype=np.uint64).tobytes()
    if guest == "interpreter":
        sample = GUESTS / "interpreter/samples/words.txt"
        return sample.read_bytes() + b"frequent(text_of(%d));" % size
    return bytes(i & 255 for i in range(size))


def measure(out: Figures, name: str, elf: Path, device: Any, data: bytes, repeat: int) -> None:
    """Print one run's figures."""
    on_gpu = not isinstance(device, CpuDevice)
    machine = Machine(load_elf(elf.read_bytes()))
    spent: list[list[float]] = []
    for turn in range(repeat + 1):
        if turn == repeat and on_gpu:
            device.usage.clear()
            device.memory.reset()
        marks = [time.perf_counter()]
        run = execute(machine.image, data, record=True)
        marks.append(time.perf_counter())
        proved = statement_of_run(machine, run, name, device=device)
        marks.append(time.perf_counter())
        proof = prove(proved, device=device)
        marks.append(time.perf_counter())
        if turn:
            spent.append([after - before for before, after in pairwise(marks)])
    execution, partition, prover = (statistics.median(seconds) for seconds in zip(*spent, strict=True))
    total = statistics.median(map(sum, spent))
    started = time.perf_counter()
    verify(proof, proved)
    verifier = time.perf_counter() - started
    cells = sum(committed_cells(proved).values())
    out.text(
        f"{name}, {run.cycles:,} cycles: {total:.3f} s = execution {execution:.3f} + partition {partition:.3f} "
        f"+ proof {prover:.3f}; "
        f"{run.cycles / total / 1e6:.2f} MHz; {cells / run.cycles:.1f} cells a cycle; {len(proved.tables)} tables; "
        f"proof {len(proof.payload) / 1024:.0f} KiB; verified in {verifier:.2f} s"
    )
    stages = {"": total, ": execution": execution, ": partition": partition, ": proof": prover, ": verify": verifier}
    for stage, seconds in stages.items():
        out(f"{name}{stage}", seconds, "s", cycles=run.cycles)
    out(f"{name}: cells", cells, "cells")
    out(f"{name}: proof size", len(proof.payload), "bytes")
    if on_gpu:
        launches = sum(usage.launches for usage in device.usage.values())
        traffic = sum(usage.uploaded + usage.downloaded for usage in device.usage.values())
        peak = device.memory.peak
        out.text(f"   {launches} launches; PCIe {traffic / 2**20:.0f} MiB; peak {peak / 2**20:.0f} MiB")
        out(f"{name}: launches", launches, "launches")
        out(f"{name}: over the bus", traffic, "bytes")
    else:
        peak = most_resident()
        out.text(f"   peak resident {peak / 2**20:.0f} MiB")
    out(f"{name}: peak", peak, "bytes")
    alone = [seconds_for_traces(proved, device) for _ in range(repeat + 1)][1:]
    out.text(f"   traces alone: {statistics.median(alone):.3f} s")
    out(f"{name}: traces alone", statistics.median(alone), "s")
    parts = [seconds_by_part(proved, device) for _ in range(repeat + 1)][1:]
    medians = {part: statistics.median(seconds[part] for seconds in parts) for part in parts[0]}
    out.text("   of them, one after another: " + ", ".join(f"{part} {1e3 * x:.2f} ms" for part, x in medians.items()))
    for part, seconds in medians.items():
        out(f"{name}: traces: {part}", seconds, "s")


def seconds_for_traces(proved: Statement, device: Any) -> float:
    """Return the seconds of all traces, until they are on the device."""
    started = time.perf_counter()
    with_traces(proved, device)
    synchronize(device)
    return time.perf_counter() - started


def seconds_by_part(proved: Statement, device: Any) -> dict[str, float]:
    """Return the seconds of each function's trace tasks, run one at a time."""
    made: dict[TraceTask, Any] = {}
    seconds: dict[str, float] = {}
    for table in proved.tables:
        if isinstance(table.main, TraceTask):
            follow(table.main, device, made, seconds)
    return seconds


def follow(trace_task: TraceTask, device: Any, made: dict[TraceTask, Any], seconds: dict[str, float]) -> None:
    """Run a trace task, after its inputs, unless its result exists."""
    if trace_task in made:
        return
    for needed in trace_task.needs:
        follow(needed, device, made, seconds)
    started = time.perf_counter()
    make(device, trace_task, made)
    synchronize(device)
    part = trace_task.function.__name__
    seconds[part] = seconds.get(part, 0) + time.perf_counter() - started


def synchronize(device: Any) -> None:
    """Wait for a GPU."""
    if not isinstance(device, CpuDevice):
        device.synchronize()


if __name__ == "__main__":
    main()
