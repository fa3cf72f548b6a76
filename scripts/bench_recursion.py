"""Guests' proofs and the layers of their compressed proofs (docs/recursion.md).

    python scripts/bench_recursion.py [--device cuda] [--runs fib:1 ...] [--base-rate 8] [--rates 16 64] [--joins 8]

A run is a guest and its size, as in bench_prove_vm.py. Its proof is made at 1/base-rate, and then a layer at each rate,
which is about the proof before. Each figure is a median, after two turns that compile. *run* is the execution with the
statement about it, *base* its proof. Of a layer, *inputs* is the verification of the proof before, the run of the
program and the inputs of all traces, on one core; *proof* is the proof with its traces. The last line of a run has the
time from the ELF file to the last proof. A *join* is a layer about several proofs, all of them the base or the first
layer.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 (finds the package)
from bench_prove_vm import ELFS, GUESTS, input_of
from figures import Figures, add_option
from graphprover import Proof, verify, verify_aggregate
from graphprover.device.choose import device_for
from graphprover.proof.compressed import AnyProof, CompressedProof
from graphprover.protocol.level import LayerLevel, Level
from graphprover.protocol.parameters import BLAKE3, SMALL
from graphprover.prover.layers import LayerJob, subjects_of
from graphprover.prover.prepare import ready
from graphprover.proving.prove import prove_prepared
from graphprover.statement.cells import cells_of
from graphprover.statement.statement import Statement
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run


class Clock:
    """The time of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stop(self, name: str) -> None:
        """Note the time since the stage before."""
        now = time.perf_counter()
        self.seconds[name], self._last = now - self._last, now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", nargs="+", default=["fib:1"], metavar="GUEST:SIZE")
    parser.add_argument("--base-rate", type=int, default=8)
    parser.add_argument("--rates", nargs="+", type=int, default=[8])
    parser.add_argument("--pow-bits", type=int, default=28, help="Work of all proofs before the queries.")
    parser.add_argument("--joins", nargs="*", type=int, default=[], help="Children of layers about several proofs.")
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
    machine, data = Machine(load_elf(elf.read_bytes())), input_of(guest, int(size))
    turns: list[dict[str, float]] = []
    for _ in range(options.repeat + 2):
        clock = Clock()
        execution = execute(machine.image, data, record=True)
        base = statement_of_run(machine, execution, run, device=device, rate=SMALL)  # the layout of bases
        clock.stop("run")
        level = Level(rate=options.base_rate, hash=BLAKE3, pow_bits=options.pow_bits)
        first, caps = prove_prepared(ready(base, level), device=device)
        assert isinstance(first, Proof)
        clock.stop("base")
        proof: AnyProof = first
        proofs, cells = [proof], []
        for number, rate in enumerate(options.rates, 1):
            own = LayerLevel(rate=rate, hash=BLAKE3, pow_bits=options.pow_bits)
            layer = LayerJob(tuple(subjects_of(proof, [base], own, None if number > 1 else caps)), own)
            prepared = layer.prepare()
            clock.stop(f"{number} inputs")
            made, _ = prove_prepared(prepared, device=device)
            assert isinstance(made, Proof)
            proof = CompressedProof(layer.children, made)
            clock.stop(f"{number} proof")
            proofs.append(proof)
            cells.append(cells_of(prepared.layout))
        turns.append(clock.seconds | {"total": sum(clock.seconds.values())})
    security = verify(proofs[-1], base)
    medians = {name: statistics.median(turn[name] for turn in turns[2:]) for name in turns[0]}
    base_ms = ", ".join(f"{name} {1000 * medians[name]:.1f} ms" for name in ("run", "base"))
    out.text(f"{run} at 1/{options.base_rate}: {base_ms}; {proofs[0].size / 1024:.0f} KiB")
    for number, (rate, of) in enumerate(zip(options.rates, cells, strict=True), 1):
        parts = ", ".join(f"{name} {1000 * medians[f'{number} {name}']:.1f} ms" for name in ("inputs", "proof"))
        out.text(f"  layer {number} at 1/{rate}: {of / 1e6:.1f} M cells, {parts}; {proofs[number].size / 1024:.0f} KiB")
        out(f"{run}: size after layer {number}", proofs[number].size, "bytes")
    out.text(f"  from the ELF file to {security.bits:.0f} bits: {1000 * medians['total']:.0f} ms")
    for name, seconds in medians.items():
        out(f"{run}: {name}", 1000 * seconds, "ms")
    for children in options.joins:
        for kind, joined in (("bases", proofs[0]), ("layers", proofs[1])):
            join(out, f"{run}: a join of {children} {kind}", [(joined, [base])] * children, device, options)


def join(
    out: Figures, name: str, children: Sequence[tuple[AnyProof, Sequence[Statement]]], device: Any, options: Any
) -> None:
    """Print the figures of one layer about several proofs, at the first rate."""
    level, turns = LayerLevel(rate=options.rates[0], hash=BLAKE3, pow_bits=options.pow_bits), []
    for _ in range(2 + options.repeat):
        clock = Clock()
        subjects = [subject for proof, of in children for subject in subjects_of(proof, of, level)]
        layer = LayerJob(tuple(subjects), level, ("",) * len(subjects))
        prepared = layer.prepare()
        clock.stop("inputs")
        made, _ = prove_prepared(prepared, device=device)
        clock.stop("proof")
        turns.append(clock.seconds)
    assert isinstance(made, Proof)
    proof, cells = CompressedProof(layer.children, made), cells_of(prepared.layout)
    verify_aggregate(proof, [own for _, of in children for own in of])
    medians = {part: 1000 * statistics.median(turn[part] for turn in turns[2:]) for part in turns[0]}
    parts = ", ".join(f"{part} {figure:.1f} ms" for part, figure in medians.items())
    out.text(f"{name} at 1/{level.rate}: {cells / 1e6:.1f} M cells, {parts}; {proof.layer.size / 1024:.0f} KiB")
    for part, figure in medians.items():
        out(f"{name}: {part}", figure, "ms")


if __name__ == "__main__":
    main()
