"""Cutting a run so that its proof fits a device."""

import logging
from collections.abc import Callable

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.prover.peak_memory import peak_bytes
from graphprover.prover.prepare import Prepared, PreparedPieces

LEAST_WINDOW = 1 << 16  # cycles: in shorter ones most is fixed tables, and little is saved

_log = logging.getLogger(__name__)


def fitting(cut: Callable[[int], Prepared | PreparedPieces], cycles: int, device: Device) -> Prepared | PreparedPieces:
    """A run of so many cycles in as few windows as it takes for its proof to fit the device's memory, by the plan.

    ``cut``: the statement about it in so many pieces. In one piece where that fits, or where no number does.
    """
    whole = prepared = cut(1)
    budget, pieces = largest(device), 1
    first = needed = peak_bytes(prepared, device)
    while needed > budget:
        pieces = max(pieces + 1, -(-pieces * needed // max(budget, 1)))
        if pieces * LEAST_WINDOW > cycles:
            return whole
        prepared = cut(pieces)
        needed = peak_bytes(prepared, device)
    if pieces > 1:
        _log.warning(
            "graphprover: a proof in one piece takes %.1f GB, %.1f GB are there: it is made in %d pieces",
            first / 1e9, budget / 1e9, pieces,
        )  # fmt: skip
    return prepared
