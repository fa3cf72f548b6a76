"""The tapes of a device by the shape of proofs: the first proof of a shape records nothing, the second is recorded, and
later ones repeat it.

No CPU twin: a CPU has no launches.
"""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from graphprover.kernels.cuda.memory import Pool
from graphprover.kernels.cuda.tape import Tape
from graphprover.runtime.settings import TAPES, bytes_of, setting

_SHAPES = 256  # of proofs that are remembered


@dataclass
class _Shape:
    """The state of a shape of which there was a proof."""

    tape: Tape | None = None
    bytes: int = 0  # of the tape's memory
    busy: bool = False  # whether a proof uses the tape
    refused: bool = False  # whether its proofs differ from each other

    @property
    def is_idle(self) -> bool:
        """Return whether there is a tape that no proof uses."""
        return self.tape is not None and not self.busy

    def drop(self) -> None:
        """Return the memory of the tape."""
        if self.tape:
            self.tape.free()
        self.tape, self.bytes = None, 0


class Tapes:
    """The tapes of one device; used by any number of threads."""

    def __init__(self, memory: Pool) -> None:
        self.recorded = 0  # proofs
        self.replayed = 0  # proofs
        self.others = 0  # proofs that stopped to repeat an earlier one
        self._memory = memory
        self._lock = threading.Lock()
        self._shapes: dict[Hashable, _Shape] = {}  # in the order of their last use
        memory.caches.append(self.drop)

    @contextmanager
    def proof(self, shape: Hashable, peak: int) -> Iterator[Tape | None]:
        """Run a proof of this thread by the tape of its shape; None if it has none.

        Args:
            shape: The shape of the proof, on which all arguments of its operations depend but words and addresses.
            peak: The bytes that the proof needs at most.
        """
        found = self._taken(shape, peak)
        if found is None or found.tape is None:
            yield None
            return
        tape, replays, ended = found.tape, found.tape.whole, False
        tape.begin()
        try:
            yield tape
            ended = True
        finally:
            tape.end(ended)
            self._returned(found, tape, replays)

    def drop(self) -> bool:
        """Drop all tapes that no proof uses; return whether there were any."""
        with self._lock:
            idle = [found for found in self._shapes.values() if found.is_idle]
            for found in idle:
                found.drop()
        return bool(idle)

    @property
    def _room(self) -> int:
        """Return the bytes that all tapes together may have."""
        return bytes_of(TAPES, self._memory.most) if setting(TAPES) else 0

    def _taken(self, shape: Hashable, peak: int) -> _Shape | None:
        """Return a shape with a tape for this proof; None if the proof has none."""
        room = self._room
        if peak > room:
            return None
        with self._lock:
            found = self._shapes.pop(shape, None)
            self._shapes[shape] = found or _Shape()  # as the last one
            if found is None:
                self._forget()
                return None
            if found.busy or found.refused:
                return None
            if found.tape is None:
                if not self._make_room(room - peak):
                    return None
                found.tape, found.bytes = Tape(self._memory), peak
            found.busy = True
            return found

    def _returned(self, found: _Shape, tape: Tape, replays: bool) -> None:
        """Keep the tape of a proof that has ended, if later proofs can repeat it."""
        with self._lock:
            found.busy = False
            found.bytes = tape.arena.total_bytes()
            if tape.other:
                self.others += 1
                found.refused = True
            elif tape.whole and replays:
                self.replayed += 1
            elif tape.whole:
                self.recorded += 1
            if tape.other or not tape.whole:
                found.drop()

    def _make_room(self, rest: int) -> bool:
        """Drop the tapes that were unused for longest until the others fit ``rest`` bytes; return whether they do."""
        used = sum(found.bytes for found in self._shapes.values())
        for found in self._shapes.values():
            if used > rest and found.is_idle:
                used -= found.bytes
                found.drop()
        return used <= rest

    def _forget(self) -> None:
        """Forget a shape that was not used for longest, if there are many."""
        if len(self._shapes) > _SHAPES:
            for shape, found in self._shapes.items():
                if not found.busy:
                    found.drop()
                    del self._shapes[shape]
                    return
