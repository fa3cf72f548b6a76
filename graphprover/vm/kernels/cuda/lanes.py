"""Computes the cells of lanes (``lanes.cu``)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.kernels.cuda.multi_table import batched
from graphprover.vm.kernels.cuda.sources import LANES_EACH, LANES_THREADS, text
from graphprover.vm.kernels.lanes import Code, Lanes

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_LANES = LANES_EACH * LANES_THREADS  # of a block


@lru_cache(maxsize=512)
def _on_device(code: Code, device: int) -> cupy.ndarray:
    """Return the code's words on a device."""
    words = cupy.asarray(code.words)
    cupy.cuda.get_current_stream().synchronize()  # other streams will read them
    return words


def fill_lanes(device: "CudaDevice", traces: Sequence[tuple[Code, Lanes, cupy.ndarray]]) -> None:
    """Write lanes; see ``graphprover.vm.kernels.fill_lanes``.

    Traces share a launch if their lanes read the same sources and need similar amounts of shared memory, which limits
    how many blocks run at once.
    """
    shared: dict[tuple[int, int], list[tuple[Code, Lanes, cupy.ndarray]]] = {}
    for trace in traces:
        code, lanes, _ = trace
        shared.setdefault((id(lanes.sources), _shared(code).bit_length()), []).append(trace)
    with device.operation("fill_lanes"):
        for alike in shared.values():
            _fill(device, alike)


def _shared(code: Code) -> int:
    """Return the bytes of shared memory of a block."""
    return 8 * (2 * len(code.words) + code.registers * _LANES)


def _fill(device: "CudaDevice", traces: Sequence[tuple[Code, Lanes, cupy.ndarray]]) -> None:
    """Write traces whose lanes read the same sources."""
    items = []
    for code, lanes, main in traces:
        height = main.shape[1]
        words = [_on_device(code, device.number).data.ptr, len(code.words), lanes.first, lanes.count]
        words += [height * code.lanes, height, lanes.first_clock, main.data.ptr, main.strides[0] // main.itemsize]
        items.append((words, blocks_for(height * code.lanes, _LANES)))
    sources = traces[0][1].sources.addresses(lambda array: array.data.ptr)
    most = max(_shared(code) for code, _, _ in traces)
    for described, count, blocks in batched(items):
        launch(
            compiled(text("lanes.cu"), "lanes.cu"), "fill_lanes", blocks, LANES_THREADS,
            sources, described, count, shared=most,
        )  # fmt: skip
