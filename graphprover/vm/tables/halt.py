"""The exit: an ecall whose number, in a7, is EXIT."""

from typing import Any

from graphprover.vm.program.io import EXIT
from graphprover.vm.tables.step import B, Executed, Lane, Step

CALL = ("a_at", "a_t")  # a7, whose value is the number


class Halt(Step):
    """The exit: the last cycle, with the exit code a0."""

    cells = (*CALL, *B)

    def rule(self, c: Lane) -> None:
        c.read_a((EXIT, 0))
        c.halt(c.read_b())
        c.begin(0)

    def fits(self, r: Executed) -> Any:
        return r.a == EXIT
