"""Who may prove, by what all processes say of themselves: pure functions of their entries."""

import itertools
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Need:
    """What a proof needs; of those that wait the smallest is next: the heaviest, then the first."""

    weight: int  # minus the bytes
    since: float  # of the host's monotonic clock
    number: int  # in its process
    process: str
    budget: int = sys.maxsize  # what its process lets all proofs hold together

    @property
    def bytes(self) -> int:
        return -self.weight


@dataclass
class Entry:
    """What a process says of itself."""

    process: str  # its number, and something that tells it from another of this number
    kept: int = 0  # bytes that its pool had of the device when it last looked
    held: list[Need] = field(default_factory=list)  # of its proofs that run
    waits: list[Need] = field(default_factory=list)  # of those that do not yet
    turns: list[Need] = field(default_factory=list)  # of those that hold memory and have their turn on a GPU
    stopped: bool = False  # it gives no sign of life
    idle: int = 0  # bytes, of those held, that nobody works with: they are dropped where that helps another

    def taken(self, more: int = 0, kept: bool = True) -> int:
        """Bytes that others cannot have, with ``more`` for another proof: those of its proofs lie in its pool."""
        return max(sum(need.bytes for need in self.held) + more, self.kept if kept else 0)


PLACES = "held", "waits", "turns"  # where an entry has needs


def grantable(need: Need, own: Entry, entries: Iterable[Entry], patient: bool) -> bool:
    """Whether a proof that waits may run: with all that are before it, and all that is taken, it is within the budgets.

    So it waits for memory only, and not until the others have seen that there is some. ``entries`` are those of all
    processes, ``own`` among them. What is within its own pool takes nothing from others, so the next may have it beyond
    its budget. ``patient``: memory that a pool keeps beyond its proofs is waited for, too.
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
    """Whether a process may prove on a GPU that it shares: of four three do at once, of eight six.

    A GPU gives each the same time. So equal proofs that begin together would end together, and the GPU had nothing to
    do while all guests run and all proofs are verified. Processes of which nothing was heard do not count, be they idle
    or within a long proof.
    """
    heard = [entry for entry in entries if not entry.stopped]
    proving = sum(bool(entry.turns) for entry in heard if entry.process != own.process)
    return bool(own.turns) or proving < max(1, len(heard) - len(heard) // 4)


def in_the_way(entries: Iterable[Entry], budget: int) -> bool:
    """Whether the next proof that waits could run if what is idle were dropped, and not before."""
    entries = list(entries)
    waits = [need for entry in entries if not entry.stopped for need in entry.waits]
    held = sum(need.bytes for entry in entries for need in entry.held)
    idle = sum(entry.idle for entry in entries)
    return bool(waits) and budget - idle < held - idle + min(waits).bytes <= budget
