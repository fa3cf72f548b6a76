"""Admission of proofs to a device's memory: the interface for proofs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from graphprover.admission.ledger import Kept, ledger_of
from graphprover.device import Device
from graphprover.runtime.settings import MEMORY_LIMIT, POOL, bytes_of

_process_limit: int | None = None
_inside = threading.local()


class TooLarge(MemoryError):
    """A proof that can never get its memory here. The message names the largest task and a remedy."""


@contextmanager
def admitted(device: Device, needed: int, where: str = "", instead: Kept | None = None) -> Iterator[None]:
    """Wait for ``needed`` bytes of a device's memory, shared with this user's other proofs; hold them during the block.

    All proofs together hold at most `graphprover.pool` of a GPU's memory, or `graphprover.memory-limit` of the host's,
    as set in this process. The largest waiting proof is next; smaller ones run before it only if both fit. After some
    seconds of waiting, a log line says which processes hold the memory.

    Args:
        device: The device.
        needed: Bytes.
        where: The task with the peak (`Plan.peak`), for the message.
        instead: Memory that is already held and part of ``needed``.

    Raises:
        TooLarge: The proof could never be admitted.
        RuntimeError: This thread already has a grant.
    """
    if getattr(_inside, "admitted", False):
        raise RuntimeError("this thread has been admitted already: a proof inside of another could wait for ever")
    budget = check_fits(device, needed, where)
    ledger = ledger_of(device)
    _inside.admitted = True
    try:
        with ledger.granted(needed, budget, instead) if ledger else nullcontext():
            yield
    finally:
        _inside.admitted = False


def check_fits(device: Device, needed: int, where: str = "") -> int:
    """Return the bytes of a device's memory that proofs may hold; `admitted` describes the arguments.

    Raises:
        TooLarge: A proof could never be admitted.
    """
    memory, setting = device.memory, _setting(device)
    budget = bytes_of(setting, memory.total)
    what = f"{where or 'the proof'} needs {needed:,} bytes"
    if needed > budget:
        owner = "this GPU" if memory.keeps else "this host"
        option = "pool" if memory.keeps else "memory-limit"
        raise TooLarge(
            f"{what}, and proofs may hold {budget:,} of the {memory.total:,} that {owner} has: take a higher rate "
            "(1/2 is the highest), more shards or a device with more memory, or allow more "
            f"(--{option}, DASK_{setting.replace('.', '__').replace('-', '_').upper()})"
        )
    if not memory.keeps and _process_limit is not None and needed + memory.held() > _process_limit:
        raise TooLarge(
            f"{what}, and this process has {memory.held():,} of the {_process_limit:,} that it may have: take a higher "
            "rate (1/2 is the highest) or more shards, give workers more memory (--memory-limit), or start fewer of "
            "them"
        )
    return budget


def keep(device: Device, bytes_: int, drop: Callable[[], object]) -> Kept:
    """Hold memory between two tasks of a proof, without waiting: it was part of a grant before.

    Args:
        device: The device.
        bytes_: Bytes.
        drop: Releases the memory if a waiting proof needs it; called by any thread.
    """
    ledger = ledger_of(device)
    kept = Kept(bytes_, drop)
    if ledger:
        ledger.keep(kept, bytes_of(_setting(device), device.memory.total))
    return kept


def sharing(device: Device) -> int:
    """Return the number of processes that prove on a device, including this one."""
    ledger = ledger_of(device)
    return max(1, len(ledger.entries())) if ledger else 1


def largest(device: Device) -> int:
    """Return the largest number of bytes that `admitted` accepts."""
    budget = bytes_of(_setting(device), device.memory.total)
    if device.memory.keeps or _process_limit is None:
        return budget
    return max(0, min(budget, _process_limit - device.memory.held()))


def _setting(device: Device) -> str:
    return POOL if device.memory.keeps else MEMORY_LIMIT


def limit_process(limit: int | None) -> None:
    """Set the bytes of host memory beyond which this process would be killed, such as by a Dask nanny."""
    global _process_limit
    _process_limit = limit
