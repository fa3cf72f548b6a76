"""Proofs of the Ethereum blocks of examples/block: seconds by stage, memory, bytes, energy, and peers' figures.

    python scripts/bench_block.py [--device cuda] [--repeat 3] [--blocks hoodi_1265656 mainnet_24628607] [--json]

The stages are those of bench_prove_vm.py, after one proof that compiles. A line before them has the calls of each
accelerator and the committed cells by class. On a GPU the energy is NVML's counter over all proofs, the first included.
"""

import argparse
import ctypes
from pathlib import Path

import checkout
from bench_prove_vm import measure
from figures import Figures, add_option
from graphprover.device.choose import device_for
from graphprover.examples.block import shipped
from graphprover.vm.profile.measure import profile
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.table_numbers import CALL_CHIPS

ELF = Path(checkout.ROOT) / "examples/block/block.elf"
MOST_CLASSES = 12  # classes of cells that are printed
# Of mainnet block 24628607; published in 2026, not measured here.
PEERS = ("ZisK: 60.5 M steps, 8.56 G cells, 3.56 s on one RTX 5090, with recursion to one small proof",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--blocks", nargs="+", default=shipped.names(), choices=shipped.names())
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    for block in options.blocks:
        data = shipped.load(block).to_bytes()
        describe(out, block, data)
        before = joules() if options.device == "cuda" else 0.0
        measure(out, block, ELF, device_for(options.device), data, options.repeat)
        if options.device == "cuda":
            spent = (joules() - before) / (options.repeat + 1)
            out.text(f"   {spent:.0f} J a proof, with its traces once more and alone")
            out(f"{block}: energy", spent, "J")
    out.text("published figures of others:", *(f"   {line}" for line in PEERS))


def describe(out: Figures, block: str, data: bytes) -> None:
    """Print the calls of each accelerator and the committed cells of the largest classes."""
    found = profile(load_elf(ELF.read_bytes()), data)
    draws = {use.name: use.draws for use in found.tables}
    calls = {chip: draws.get(chip, 0) for chip in CALL_CHIPS}
    largest = sorted(found.tables, key=lambda use: -use.cells)[:MOST_CLASSES]
    out.text(
        f"{block}: {found.execution.cycles:,} cycles, {found.cells:,} cells; calls: "
        + ", ".join(f"{chip} {count:,}" for chip, count in calls.items()),
        "   M cells: " + ", ".join(f"{use.name} {use.cells / 1e6:.0f}" for use in largest),
    )
    for chip, count in calls.items():
        out(f"{block}: calls of {chip}", count, "calls")


def joules() -> float:
    """Return the energy that the first GPU has used since its driver was loaded."""
    library, device, used = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), ctypes.c_ulonglong()
    library.nvmlInit_v2()
    for status in (
        library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)),
        library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(used)),
    ):
        if status:
            raise RuntimeError(f"NVML cannot read the GPU's energy: error {status}")
    return used.value / 1000


if __name__ == "__main__":
    main()
