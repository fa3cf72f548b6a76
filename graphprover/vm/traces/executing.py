"""What lanes see of the cycles that they execute, whether as arrays or as formulas."""

from typing import Any

from graphprover.vm.tables.clock import SLOT_MEMORY, time_of
from graphprover.vm.traces.accesses import Access

TIMES = {"a_t": "t_a", "b_t": "t_b", "d_t": "t_d"}  # cells and columns of the time of a register's access before


class Executing:
    """Implements `Executed` with what follows from the columns of a run and its program.

    Attributes have one uint64 for each: ``a``, ``b``, ``c``, ``d``, ``t_a``, ... are columns of the cycles, ``pc``,
    ``a_at``, ``imm``, ... of the program. A subclass has them, and ``arrays``, ``clk`` and what is below.
    """

    arrays: Any
    clk: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = self.column(name)
        setattr(self, name, value)
        return value

    def column(self, name: str) -> Any:
        """A column of the cycles or of the program."""
        raise NotImplementedError

    def of_access(self, name: str, place: int) -> Any:
        """``old``, ``new`` or ``clock`` of an access of memory of the cycle."""
        raise NotImplementedError

    def words(self, name: str) -> Any:
        """See `Executed`."""
        raise NotImplementedError

    def inverse_of_difference(self, x: Any, y: Any) -> Any:
        """See `Executed`."""
        raise NotImplementedError

    def signed(self, x: Any, y: Any, shift: Any) -> Any:
        """See `Executed`."""
        raise NotImplementedError

    def not_late(self, before: Any, now: Any) -> Any:
        """The time ``before``, or of a bump right before ``now`` where that is too long ago."""
        raise NotImplementedError

    @property
    def now(self) -> Any:
        """When slot 0 is."""
        return time_of(self.clk)

    @property
    def address(self) -> Any:
        """Of a load or store, in bytes."""
        return self.a + self.offset

    @property
    def word(self) -> Any:
        """The address of the (first) word of memory."""
        return self.address & (2**64 - 8)

    @property
    def old(self) -> Any:
        """The (first) word of memory before."""
        return self.of_access("old", 0)

    @property
    def new(self) -> Any:
        """And after, of a store."""
        return self.of_access("new", 0)

    @property
    def old2(self) -> Any:
        """The second word of memory before."""
        return self.of_access("old", 1)

    @property
    def new2(self) -> Any:
        """And after, of a store."""
        return self.of_access("new", 1)

    def before(self, access: Access) -> Any:
        """When the value of an access was accessed before."""
        if access.cell in TIMES:
            return getattr(self, TIMES[access.cell])
        clock = self.of_access("clock", self._place(access))
        return time_of(clock, SLOT_MEMORY) * (clock > 0)

    def recent(self, access: Access) -> Any:
        """The time of the access before, or where that is too long ago, of a bump right before this one."""
        return self.not_late(self.before(access), self.now + access.slot)

    @staticmethod
    def _place(access: Access) -> int:
        """Which of the words of its cycle an access of memory is of."""
        return 1 if access.cell == "m2_t" else access.number
