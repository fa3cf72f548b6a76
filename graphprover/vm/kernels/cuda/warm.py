"""Compiles the machine's kernels ahead."""

from typing import TYPE_CHECKING

from graphprover.kernels.cuda import warm
from graphprover.vm.kernels.cuda.sources import texts

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice


def expect(device: "CudaDevice") -> None:
    """Compile kernels in the background; see ``graphprover.vm.kernels.expect``."""
    warm.expect((), device.number, texts())
