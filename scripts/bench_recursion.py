"""Proofs that a verifier accepts a guest's proof (docs/recursion.md).

    python scripts/bench_recursion.py [--device cuda] [--runs fib:1 ...] [--base-rate 8] [--rate 8]

A run is a guest and its size, as in bench_prove_vm.py. Its proof is made at 1/base-rate. Each figure is a median, after
one turn that compiles: *openings* is the check of the proof's openings, *statement* the run of the program, the hashes
and the inputs of all traces, both on one core. *proof* is the proof of the statement at 1/rate, traces included, and
*traces* is these alone.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 (finds the package)
from bench_prove_vm import ELFS, GUESTS, input_of, seconds_for_traces
from figures import Figures, add_option
from graphprover import prove, verify
from graphprover.device.choose import device_for
from graphprover.protocol.layout import make_layout
from graphprover.protocol.proof import decode
from graphprover.protocol.verification import replay
from graphprover.recursion.layer import layer_statement
from graphprover.recursion.openings import openings_of
from graphprover.statement.cells import committed_cells
from graphprover.statement.statement import binding_digest
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", nargs="+", default=["fib:1"], metavar="GUEST:SIZE")
    parser.add_argument("--base-rate", type=int, default=8)
    parser.add_argument("--rate", type=int, default=8)
    parser.add_argument("--pow-bits", type=int, default=28, help="Work of both proofs before the queries.")
    parser.add_argument("--repeat", type=int, default=3)
    add_option(parser)
    options = parser.parse_args()
    out, device = Figures(options.json), device_for(options.device)
    for run in options.runs:
        measure(out, run, device, options)


def measure(out: Figures, run: str, device: Any, options: argparse.Namespace) -> None:
    """Print the figures of one run."""
    guest, _, size = run.partition(":")
    elf: Path = GUESTS / f"{ELFS.get(guest, guest)}.elf"
    machine = Machine(load_elf(elf.read_bytes()))
    execution = execute(machine.image, input_of(guest, int(size)), record=True)
    base = statement_of_run(machine, execution, run, device=device, rate=options.base_rate)
    child = prove(base, device=device, rate=options.base_rate, pow_bits=options.pow_bits)
    layout = make_layout(base.descriptions, child.log_heights, child.parameters)
    batch, cap = decode(child.payload, layout), base.preprocessed_cap(child.parameters)
    binding = binding_digest(layout, child.label, cap)
    challenges = replay(layout, batch, child.public_values, cap, binding)
    times: dict[str, list[float]] = {name: [] for name in ("openings", "statement", "proof", "traces")}

    def timed(name: str, began: float) -> None:
        times[name].append(time.perf_counter() - began)

    for _ in range(options.repeat + 1):
        began = time.perf_counter()
        openings = openings_of(layout, batch, challenges, cap)
        timed("openings", began)
        began = time.perf_counter()
        made = layer_statement(layout, batch, child.public_values, cap, binding)
        timed("statement", began)
        began = time.perf_counter()
        proof = prove(made, device=device, rate=options.rate, pow_bits=options.pow_bits)
        timed("proof", began)
        times["traces"].append(seconds_for_traces(made, device))
    security = verify(proof, made)
    cells = sum(committed_cells(made).values())
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    words, rows = sum(of.words.size for of in openings.rows), sum(len(of.words) for of in openings.rows)
    out.text(
        f"layer of {run} at 1/{options.base_rate} ({len(child.payload) / 1024:.0f} KiB): {rows:,} rows of "
        f"{words:,} words, {len(openings.nodes.places):,} nodes; {cells / 1e6:.1f} M cells; "
        + ", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in medians.items())
        + f"; proof at 1/{options.rate} {len(proof.payload) / 1024:.0f} KiB, {security.bits:.0f} bits"
    )
    for name, seconds in medians.items():
        out(f"layer of {run}: {name}", 1000 * seconds, "ms")
    out(f"layer of {run}: cells", cells, "cells")
    out(f"layer of {run}: proof size", len(proof.payload), "bytes")


if __name__ == "__main__":
    main()
