"""Constants, copies and jumps: nothing is computed, so only times are range-checked."""

from typing import Any

from graphprover.vm.tables.step import A32, A, D, Executed, Lane, Step


class Goto(Step):
    """j, nop, fence, and instructions that would only write x0."""

    cells = ("following",)

    def rule(self, c: Lane) -> None:
        c.go(c.following)


class Touch(Step):
    """A branch with x0 as an operand that decides it, and that reads rs1: bgeu to x0 is taken, bltu is not."""

    cells = (*A, "following")

    def rule(self, c: Lane) -> None:
        c.read_a()
        c.go(c.following)


class Constant(Step):
    """li, lui, auipc: rd = (imm, imm2)."""

    cells = (*D, "imm", "imm2")

    def rule(self, c: Lane) -> None:
        c.write((c.imm, c.imm2))
        c.go(imm=c.imm, imm2=c.imm2)


class Move(Step):
    """mv: rd = rs1."""

    cells = (*A, *D)

    def rule(self, c: Lane) -> None:
        c.write(c.read_a())
        c.go()


class Jal(Step):
    """jal: rd = pc + 4, a number of 32 bits because pc is in the program."""

    cells = (*D, "following")

    def rule(self, c: Lane) -> None:
        c.write((c.pc + 4, 0))
        c.go(c.following)


class Jalr(Step):
    """jalr: to rs1 + imm with its lowest bit cleared. With a wrong ``odd`` the next pc would not be in the program."""

    cells = (*A32, *D, "imm", "odd")

    def rule(self, c: Lane) -> None:
        c.boolean(c.odd, "odd is a bit")
        target, _ = c.read_a((c.a_lo, 0))
        c.write((c.pc + 4, 0))
        c.go(target + c.imm - c.odd, imm=c.imm, stated=0)

    def fits(self, r: Executed) -> Any:
        return r.a >> 32 == 0

    def witness(self, r: Executed) -> dict[str, Any]:
        return {"odd": (r.a + r.offset) & 1}


class Return(Step):
    """jalr without a return address."""

    cells = (*A32, "imm", "odd")

    def rule(self, c: Lane) -> None:
        c.boolean(c.odd, "odd is a bit")
        target, _ = c.read_a((c.a_lo, 0))
        c.go(target + c.imm - c.odd, imm=c.imm, stated=0)

    fits = Jalr.fits
    witness = Jalr.witness
