"""The faults of guests."""

from enum import StrEnum
from typing import Any

from graphprover.protocol.errors import VerificationError
from graphprover.vm.statement.claim import shown

LAST_BYTES = 240  # of the output until a fault, shown in its message


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
    OVERLAPPING_OPERANDS = "overlapping operands of a host call"
    NO_RESULT = "host call without a result"
    OUTPUT_LENGTH = "impossible output length"
    COMPRESSED_INSTRUCTION = "compressed instruction"
    NULL_POINTER = "null pointer"
    STACK_OVERFLOW = "stack overflow"


class OtherExitCode(VerificationError):
    """Raised for a run with another exit code than expected, which is not proved."""


class GuestFault(Exception):
    """Raised for a guest that cannot go on."""

    def __init__(
        self,
        fault: Fault,
        pc: int,
        line: str,
        cycles: int,
        detail: str = "",
        function: str | None = None,
        output: bytes = b"",
    ) -> None:
        what = f"{fault} ({detail})" if detail else str(fault)
        where = f"pc {pc:#x} in {function}" if function else f"pc {pc:#x}"
        super().__init__(f"{what} at {where}: {line} (after {cycles:,} cycles){_until_then(output)}")
        self.fault = fault  # the kind
        self.pc = pc  # of the faulting instruction, which is not executed
        self.line = line  # the same, disassembled
        self.cycles = cycles  # executed before
        self.detail = detail  # addresses and numbers, for people
        self.function = function  # the function of the program at pc, with the offset there, if its file has symbols
        self.output = output  # the guest's output until then; empty if its length is invalid

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle calls the constructor, which has more arguments than the message.
        given = (self.fault, self.pc, self.line, self.cycles, self.detail, self.function, self.output)
        return GuestFault, given, {"__notes__": notes} if (notes := getattr(self, "__notes__", None)) else None


def _until_then(output: bytes) -> str:
    """Return the end of a guest's output, as part of a message."""
    if not output:
        return ""
    last = output[-LAST_BYTES:]
    which = "output" if last == output else f"end of the output of {len(output):,} bytes"
    return f"; {which} so far: {shown(last, LAST_BYTES)}"
