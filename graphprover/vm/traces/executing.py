"""The values that lanes read of their cycles, as arrays or as formulas."""

from typing import Any

from graphprover.vm.accelerators.host_call import MOST_FURTHER
from graphprover.vm.tables.clock import time_of
from graphprover.vm.traces.accesses import Access

TIMES = {"a_t": "t_a", "b_t": "t_b", "d_t": "t_d"}  # cells of the time of a register's access before, and their columns


class Executing:
    """Implements `Executed` from the columns of a run and of its program.

    Attributes have one uint64 for each cycle: ``a``, ``b``, ``c``, ``d``, ``t_a``, ... are columns of the cycles,
    ``pc``, ``a_at``, ``imm``, ... of the program. A subclass has them, ``arrays``, ``clk`` and the methods that raise
    NotImplementedError here.
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
        """Return a column of the cycles or of the program."""
        raise NotImplementedError

    def of_access(self, name: str, place: int) -> Any:
        """Return ``old``, ``new`` or ``time`` of a memory access of the cycle."""
        raise NotImplementedError

    def words(self, name: str) -> Any:
        """Return the words of a host call; see `Executed`."""
        raise NotImplementedError

    def inverse_of_difference(self, x: Any, y: Any) -> Any:
        """Return 1 / (x - y); see `Executed`."""
        raise NotImplementedError

    def signed(self, x: Any, y: Any, shift: Any) -> Any:
        """Return a signed difference; see `Executed`."""
        raise NotImplementedError

    def not_late(self, before: Any, now: Any) -> Any:
        """Return the time ``before``, or if it is too long ago, the time of a bump right before ``now``."""
        raise NotImplementedError

    @property
    def now(self) -> Any:
        """Return the time of slot 0."""
        return time_of(self.clk)

    @property
    def address(self) -> Any:
        """Return the address of a load or store, in bytes."""
        return self.a + self.offset

    @property
    def word(self) -> Any:
        """Return the address of the (first) word of memory."""
        return self.address & (2**64 - 8)

    @property
    def old(self) -> Any:
        """Return the (first) word of memory before."""
        return self.of_access("old", 0)

    @property
    def new(self) -> Any:
        """Return the (first) word of memory after a store."""
        return self.of_access("new", 0)

    @property
    def old2(self) -> Any:
        """Return the second word of memory before."""
        return self.of_access("old", 1)

    @property
    def new2(self) -> Any:
        """Return the second word of memory after a store."""
        return self.of_access("new", 1)

    def before(self, access: Access) -> Any:
        """Return the time of the previous access of an accessed value."""
        if access.cell in TIMES:
            return getattr(self, TIMES[access.cell])
        if access.cell == "further_t":
            return self.of_access("new", MOST_FURTHER + access.number)
        return self.of_access("time", self._place(access))

    def recent(self, access: Access) -> Any:
        """Return the time of the access before, or if it is too long ago, of a bump right before this access."""
        return self.not_late(self.before(access), self.now + access.slot)

    @staticmethod
    def _place(access: Access) -> int:
        """Return the index, among the words of its cycle, of a memory access."""
        return 1 if access.cell == "m2_t" else access.number
