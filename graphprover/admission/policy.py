"""Rules of admission: pure functions of all processes' entries."""

import itertools
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Need:
    """The need of a proof. The smallest waiting one is next: the largest, then the oldest."""

    weight: int  # minus the bytes
    since: float  # on the host's monotonic clock
    number: int  # sequence number in its process
    process: str
    budget: int = sys.maxsize  # the limit for all proofs together, as set in its process

    @property
    def bytes(self) -> int:
        return -self.weight


@dataclass
class Entry:
    """The entry of a process."""

    process: str  # process number and a random suffix
    kept: int = 0  # bytes in its pool at the last reading
    held: list[Need] = field(default_factory=list)  # running proofs and cached memory
    waits: list[Need] = field(default_factory=list)  # waiting proofs
    turns: list[Need] = field(default_factory=list)  # running proofs with a turn on a GPU
    stopped: bool = False  # whether it shows no sign of life
    idle: int = 0  # held bytes of cached memory, dropped if that helps a waiting proof

    def taken(self, more: int = 0, kept: bool = True) -> int:
        """Return the bytes that others cannot use, with ``more`` for another proof; proofs lie in the pool."""
        return max(sum(need.bytes for need in self.held) + more, self.kept if kept else 0)


PLACES = "held", "waits", "turns"  # the lists of needs in an entry


def grantable(need: Need, own: Entry, entries: Iterable[Entry], patient: bool) -> bool:
    """Return whether a waiting proof may run: with all earlier needs and all held memory it is within every budget.

    Depends on memory only, not on other processes' knowledge of it. The own pool takes nothing from others, so the next
    proof may use it beyond its budget.

    Args:
        need: The need of the proof.
        own: The entry of this process.
        entries: The entries of all processes.
        patient: Whether to wait also for memory that only a pool holds.
    """
    others = [entry for entry in entries if entry.process != own.process]
    going = [entry for entry in (own, *others) if not entry.stopped]
    before = {entry.process: [other for other in entry.waits if other < need] for entry in going}

    def taken(entry: Entry, more: int = 0) -> int:
        return entry.taken(sum(other.bytes for other in before.get(entry.process, ())) + more, patient)

    budget = min(each.budget for each in [need, *itertools.chain(*before.values())])
    if taken(own, need.bytes) + sum(map(taken, others)) <= budget:
        return True
    return not any(before.values()) and taken(own, need.bytes) == taken(own)


def has_turn(own: Entry, entries: Iterable[Entry]) -> bool:
    """Return whether a process may prove on a shared GPU: three of four processes do at once, and six of eight.

    Otherwise identical proofs run in lockstep and the GPU idles while all processes execute guests and verify.
    Processes without a recent sign of life do not count.
    """
    heard = [entry for entry in entries if not entry.stopped]
    proving = sum(bool(entry.turns) for entry in heard if entry.process != own.process)
    return bool(own.turns) or proving < max(1, len(heard) - len(heard) // 4)


def in_the_way(entries: Iterable[Entry], budget: int) -> bool:
    """Return whether the next waiting proof could run if cached memory were dropped, and not before."""
    entries = list(entries)
    waits = [need for entry in entries if not entry.stopped for need in entry.waits]
    held = sum(need.bytes for entry in entries for need in entry.held)
    idle = sum(entry.idle for entry in entries)
    return bool(waits) and budget - idle < held - idle + min(waits).bytes <= budget
