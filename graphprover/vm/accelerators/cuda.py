"""The traces of host calls on an NVIDIA GPU."""

from typing import TYPE_CHECKING

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.vm.accelerators.host_call import Accelerator
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.accelerators.sources import text

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 64


def fill_calls(device: "CudaDevice", accelerator: Accelerator, calls: CallArrays, main: cupy.ndarray) -> None:
    """Write the rows of calls; see ``kernels.fill_calls``."""
    assert accelerator.cuda is not None
    count, each = len(calls.order), 1 if accelerator.cuda.thread_by_row else _THREADS
    arrays = calls.order, calls.rows, calls.old, calls.time, calls.new, calls.pc
    words = np.array([*(array.data.ptr for array in arrays), calls.first_clock, count], dtype=np.uint64)
    kernel, kernels = f"fill_{accelerator.chip}", compiled(text(accelerator.cuda.file), accelerator.cuda.file)
    with device.operation(kernel):
        launch(
            kernels, kernel, blocks_for(count, each), _THREADS, words, *accelerator.cuda.parameters(), main,
            main.shape[1],
        )  # fmt: skip
