"""The pace of this machine's CPU: its time for typical kernels over their lower bound."""

import time

import numpy as np

from graphprover.device import CpuDevice
from graphprover.graphs.planner.costs import WORD_BYTES, Cost, butterflies, hashing
from graphprover.graphs.planner.roofline import assumed
from graphprover.kernels.operands import Array
from graphprover.protocol.hashing import HASHES

# Ratio of a whole proof's pace to the pace measured here: Python, traces and queries have no lower bound, and other
# kernels are farther from theirs. Fitted to proofs of three sizes in docs/performance.md.
PROOF_BESIDE_PACE = 1.25

COLUMNS, LOG_ROWS, LOG_BLOWUP, REPEATS = 32, 14, 1, 5


def expected_seconds(pace: float, lower_bound: float) -> float:
    """Return the expected duration of a proof with this lower bound on an idle machine of this pace."""
    return lower_bound * pace * PROOF_BESIDE_PACE


def pace_text(pace: float) -> str:
    """Return a line about the expected seconds that fits a narrow terminal."""
    factor = f"{PROOF_BESIDE_PACE * pace:.1f} times the least time"
    return f"expected: this host if idle, {factor} (kernels took {pace:.1f} times)"


def measured_pace(device: CpuDevice, hash: str) -> float:
    """Return the time of a low-degree extension and its Merkle tree over their lower bound: the least of a few runs.

    Counts processor seconds, so other processes affect it through caches and memory only.
    """
    columns = np.arange(COLUMNS << LOG_ROWS, dtype=np.uint64).reshape(COLUMNS, -1)
    # The first run loads the kernels.
    least = min(_processor_seconds(device, columns, hash) for _ in range(1 + REPEATS))
    return least / device.threads / assumed(device.kind, device.threads).roofline.modelled(_cost(hash)).seconds


def _processor_seconds(device: CpuDevice, columns: Array, hash: str) -> float:
    started = time.process_time()
    device.merkle_tree(device.extend([columns], LOG_BLOWUP), 0, hash)
    return time.process_time() - started


def _cost(hash: str) -> Cost:
    """Return the cost of one run."""
    rows, blowup = 1 << (LOG_ROWS + LOG_BLOWUP), 1 << LOG_BLOWUP
    return hashing(hash, (HASHES[hash].calls(COLUMNS) + 1) * rows) + Cost(
        multiplications=COLUMNS << LOG_ROWS,
        butterflies=butterflies(COLUMNS, LOG_ROWS) * (1 + blowup),
        moved=COLUMNS * WORD_BYTES * (2 + blowup) << LOG_ROWS,
    )
