"""A device's memory asked for, kept and shared: what proofs call."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from graphprover.admission.ledger import Kept, ledger_of
from graphprover.device import Device
from graphprover.device.host_memory import resident
from graphprover.runtime.settings import MEMORY_LIMIT, POOL, bytes_of

_process_limit: int | None = None
_inside = threading.local()


class TooLarge(MemoryError):
    """A proof that can never have the memory it needs here: the message says which task needs most, and what to do."""


@contextmanager
def admitted(device: Device, needed: int, where: str = "", instead: Kept | None = None) -> Iterator[None]:
    """Wait until ``needed`` bytes of a device's memory are free of other proofs, of this process or others; hold them.

    All of them together hold at most what `graphprover.pool` says of a GPU's memory, or `graphprover.memory-limit` of
    the host's, as this process has it set. The heaviest that waits is next, and lighter ones wait behind it where there
    is no room for both. A wait of some seconds is told in a line that says who holds what.

    ``where``: the task that needs most (`Plan.peak`); ``instead``: what is kept meanwhile and is part of it. Raises
    TooLarge at once where the proof could never be admitted; RuntimeError in a thread that is inside already.
    """
    if getattr(_inside, "admitted", False):
        raise RuntimeError("this thread has been admitted already: a proof inside of another could wait for ever")
    memory, setting = device.memory, _setting(device)
    budget = bytes_of(setting, memory.total)
    what = f"{where or 'the proof'} needs {needed:,} bytes"
    if needed > budget:
        owner = "this GPU" if memory.keeps else "this host"
        option = "pool" if memory.keeps else "memory-limit"
        raise TooLarge(
            f"{what}, and proofs may hold {budget:,} of the {memory.total:,} that {owner} has: take a device with more "
            f"memory, or allow more (--{option}, DASK_{setting.replace('.', '__').replace('-', '_').upper()})"
        )
    if not memory.keeps and _process_limit is not None and needed + resident() > _process_limit:
        raise TooLarge(
            f"{what}, and this process has {resident():,} of the {_process_limit:,} that it may have: give workers "
            "more memory (--memory-limit), or start fewer of them"
        )
    ledger = ledger_of(device)
    _inside.admitted = True
    try:
        with ledger.granted(needed, budget, instead) if ledger else nullcontext():
            yield
    finally:
        _inside.admitted = False


def keep(device: Device, bytes_: int, drop: Callable[[], object]) -> Kept:
    """Hold memory while nobody works with it; ``drop``, called by any thread, gives it up, where a proof waits for it.

    It waits for nothing: what is kept has been there before, within a grant.
    """
    ledger = ledger_of(device)
    kept = Kept(bytes_, drop)
    if ledger:
        ledger.keep(kept, bytes_of(_setting(device), device.memory.total))
    return kept


def sharing(device: Device) -> int:
    """How many processes prove on a device, with this one."""
    ledger = ledger_of(device)
    return max(1, len(ledger.entries())) if ledger else 1


def largest(device: Device) -> int:
    """Bytes that `admitted` refuses no proof: those of a device's memory that proofs may hold."""
    budget = bytes_of(_setting(device), device.memory.total)
    if device.memory.keeps or _process_limit is None:
        return budget
    return max(0, min(budget, _process_limit - resident()))


def _setting(device: Device) -> str:
    return POOL if device.memory.keeps else MEMORY_LIMIT


def limit_process(limit: int | None) -> None:
    """Bytes of the host's memory beyond which this process will be ended, such as by the nanny of a Dask worker."""
    global _process_limit
    _process_limit = limit
