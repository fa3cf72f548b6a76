"""What a guest can do wrong."""

from enum import StrEnum


class Fault(StrEnum):
    """The kinds of guest faults."""

    ILLEGAL_INSTRUCTION = "illegal instruction"
    BREAKPOINT = "breakpoint"
    MISALIGNED_JUMP = "misaligned jump"
    JUMP_OUTSIDE_CODE = "jump outside the code"
    STORE_INTO_CODE = "store into code"
    ADDRESS_TOO_LARGE = "access at or above 2^32"
    UNMAPPED_ADDRESS = "access to unmapped memory"
    CYCLE_LIMIT = "cycle limit"
    MEMORY_LIMIT = "memory limit"
    UNKNOWN_HOST_CALL = "unknown host call"
    MISALIGNED_HOST_CALL = "misaligned argument of a host call"
    OUTPUT_LENGTH = "impossible output length"


class GuestFault(Exception):
    """A guest that cannot go on."""

    def __init__(self, fault: Fault, pc: int, line: str, cycles: int, detail: str = "") -> None:
        what = f"{fault} ({detail})" if detail else str(fault)
        super().__init__(f"{what} at pc {pc:#x}: {line} (after {cycles:,} cycles)")
        self.fault = fault  # what happened
        self.pc = pc  # of the instruction that did it, which is not executed
        self.line = line  # the same, disassembled
        self.cycles = cycles  # executed before
        self.detail = detail  # addresses and numbers, for people
