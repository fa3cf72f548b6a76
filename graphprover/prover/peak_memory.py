"""What a proof takes of a device's memory."""

from dataclasses import replace

import numpy as np

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.planner.plan import Peak, peak_of
from graphprover.graphs.planner.shard_memory import On, PiecesPlan, plan_pieces
from graphprover.prover.prepare import Prepared, PreparedPieces


def plan_for(prepared: PreparedPieces, device: Device) -> PiecesPlan:
    """What the device keeps of each piece, as far as there is room."""
    return plan_pieces(prepared.shapes, On.of(device), largest(device) - given_bytes(device, *prepared.pieces))


def peak_bytes(prepared: Prepared | PreparedPieces, device: Device) -> int:
    """What a proof takes of a device's memory at least."""
    if isinstance(prepared, Prepared):
        return peak_for(prepared, device).bytes
    return plan_for(prepared, device).peak.bytes + given_bytes(device, *prepared.pieces)


def peak_for(prepared: Prepared, device: Device) -> Peak:
    """What a proof takes of a device's memory; on a CPU with the arrays that it proves, of which a GPU gets copies."""
    peak = peak_of(prepared.layout, device, prepared.traces)
    return replace(peak, bytes=peak.bytes + given_bytes(device, prepared))


def given_bytes(device: Device, *pieces: Prepared) -> int:
    """Of the arrays that a CPU proves, which a GPU gets copies of."""
    arrays = [array for piece in pieces for array in (*piece.traces, *piece.preprocessed.values())]
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) if device.kind == CPU else 0
