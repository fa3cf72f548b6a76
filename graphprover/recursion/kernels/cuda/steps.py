"""The rows of steps in a trace, and the memory cells that they look up (``steps.cu``)."""

from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.recursion.kernels.cuda.sources import text
from graphprover.recursion.kernels.steps import RunSteps

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 128


def fill_steps(device: "CudaDevice", steps: RunSteps, main: cupy.ndarray) -> None:
    """Write the rows of steps; see ``graphprover.recursion.kernels.fill_steps``."""
    of = steps
    numbers = [array.data.ptr for array in (of.pcs, of.frames, of.asked)]
    with device.operation("fill_steps"):
        launch(
            compiled(text("steps.cu"), "steps.cu"), "fill_steps", blocks_for(len(of.pcs), _THREADS), _THREADS,
            of.fields, of.fields.shape[1], *numbers, len(of.pcs), of.cells, of.cells.shape[1], main, main.shape[1],
        )  # fmt: skip


def count_operands(device: "CudaDevice", steps: RunSteps, counts: cupy.ndarray) -> None:
    """Count lookups in memory; see ``graphprover.recursion.kernels.count_operands``."""
    of = steps
    numbers = [array.data.ptr for array in (of.pcs, of.frames)]
    with device.operation("count_operands"):
        launch(
            compiled(text("steps.cu"), "steps.cu"), "count_operands", blocks_for(len(of.pcs), _THREADS), _THREADS,
            of.fields, of.fields.shape[1], *numbers, len(of.pcs), of.cells, of.cells.shape[1], counts,
        )  # fmt: skip
