"""The calls of the compression function that hash opened rows and nodes, as a device makes them."""

from dataclasses import replace

import numpy as np

from graphprover.device import Array, Device
from graphprover.protocol.blake3 import IV
from graphprover.recursion.kernels import hash_segments
from graphprover.recursion.kernels.compressions import Compressions, empty_calls
from graphprover.recursion.kernels.segments import Segments
from graphprover.recursion.tables.blake3 import NODE_PARAMETERS, Use
from graphprover.recursion.traces.nodes import Nodes

_IV = np.array(IV, dtype=np.uint32)
_PARAMETERS = np.array(NODE_PARAMETERS, dtype=np.uint32)


def calls_of(device: Device, segments: Segments, nodes: Nodes) -> tuple[Compressions, Segments, Array]:
    """Return the calls that hash segments and nodes, the segments with the words of parents, and their digests.

    Args:
        device: The device of all arrays.
        segments: The segments; the words of parents are not read.
        nodes: The nodes.

    Returns:
        The calls of the segments' blocks and then of the nodes, the segments, whose words are memory of the calls, and
        the digests of the segments, uint32 (segments, 8).
    """
    blocks = len(segments.words)
    calls = empty_calls(device, blocks + len(nodes.places))
    calls.values[blocks:], calls.parameters[blocks:] = device.constant_all([_IV, _PARAMETERS])
    calls.blocks[blocks:], calls.uses[blocks:] = nodes.children, int(Use.NODE)
    digests = device.arrays.empty((len(segments.firsts), 8), dtype=np.uint32)
    hash_segments(device, segments, calls, digests)
    return calls, replace(segments, words=calls.blocks[:blocks].view(np.uint64)), digests
