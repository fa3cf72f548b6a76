"""How fast this machine's processor is beside the rates that floors assume, by a little work of the same kind."""

import time

import numpy as np

from graphprover.device import CpuDevice
from graphprover.graphs.planner.costs import WORD_BYTES, Cost, butterflies, permutations
from graphprover.graphs.planner.roofline import assumed
from graphprover.kernels.operands import Array

# How much farther from its floor a whole proof is than the work measured here: Python, traces and queries have no
# floor, and other kernels are farther from theirs. docs/performance.md has the proofs of three sizes that it is of.
PROOF_BESIDE_PACE = 1.25

COLUMNS, LOG_ROWS, LOG_BLOWUP, REPEATS = 32, 14, 1, 5


def expected_seconds(pace: float, lower_bound: float) -> float:
    """How long a proof with this floor takes on a machine of this pace that does nothing else."""
    return lower_bound * pace * PROOF_BESIDE_PACE


def pace_text(pace: float) -> str:
    """Return how the expected seconds were found, for people: a line that fits a narrow terminal."""
    factor = f"{PROOF_BESIDE_PACE * pace:.1f} times the least time"
    return f"expected: this host if idle, {factor} (kernels took {pace:.1f} times)"


def measured_pace(device: CpuDevice) -> float:
    """How many times its floor a low-degree extension and its Merkle tree take here: the least of a few runs.

    It counts seconds of processor, so that other processes disturb it through caches and memory only.
    """
    columns = np.arange(COLUMNS << LOG_ROWS, dtype=np.uint64).reshape(COLUMNS, -1)
    least = min(_processor_seconds(device, columns) for _ in range(1 + REPEATS))  # the first one loads the kernels
    return least / device.threads / assumed(device.kind, device.threads).roofline.modelled(_cost()).seconds


def _processor_seconds(device: CpuDevice, columns: Array) -> float:
    started = time.process_time()
    device.merkle_tree(device.extend([columns], LOG_BLOWUP), 0)
    return time.process_time() - started


def _cost() -> Cost:
    """What one run does."""
    rows, blowup = 1 << (LOG_ROWS + LOG_BLOWUP), 1 << LOG_BLOWUP
    return Cost(
        multiplications=COLUMNS << LOG_ROWS,
        butterflies=butterflies(COLUMNS, LOG_ROWS) * (1 + blowup),
        permutations=(permutations(COLUMNS) + 1) * rows,
        moved=COLUMNS * WORD_BYTES * (2 + blowup) << LOG_ROWS,
    )
