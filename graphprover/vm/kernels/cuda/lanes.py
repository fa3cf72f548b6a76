"""Computes the cells of lanes (``lanes.cu``)."""

from functools import lru_cache
from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
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


def fill_lanes(device: "CudaDevice", code: Code, lanes: Lanes, main: cupy.ndarray) -> None:
    """Write lanes; see ``graphprover.vm.kernels.fill_lanes``."""
    height = main.shape[1]
    total, shared = height * code.lanes, 8 * (2 * len(code.words) + code.registers * _LANES)
    with device.operation("fill_lanes"):
        launch(
            compiled(text("lanes.cu")), "fill_lanes", blocks_for(total, _LANES), LANES_THREADS,
            _on_device(code, device.number), len(code.words), lanes.addresses(lambda array: array.data.ptr),
            lanes.count, total, height, lanes.first_clock, main, shared=shared,
        )  # fmt: skip
