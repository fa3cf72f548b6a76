"""The claim of a proof about an execution, read from its public values."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import keccak256
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.tables.limbs import LIMB, LIMB_BITS

SHOWN_BYTES = 64  # bytes of an output shown to people
MAX_STATED_INPUT = 1 << 16  # bytes of a stated input: the proof contains them, and a verifier reads them all
MAX_PROVED_OUTPUT = 1 << 20  # bytes of an output, for the same reason


@dataclass(frozen=True)
class Claim:
    """The claim of a proof about an execution."""

    output: bytes
    exit_code: int  # 64 bits
    cycles: int
    input: bytes | None  # None unless stated

    def to_json(self) -> dict[str, Any]:
        """Return the claim as JSON, with bytes as hex."""
        stated = None if self.input is None else bytes_json(self.input)
        output = bytes_json(self.output)
        return {"output": output, "exit_code": self.exit_code, "cycles": self.cycles, "input": stated}


def claim_of(public_values: Sequence[Sequence[int]]) -> Claim:
    """Return the claim of a proof with these public values; raise VerificationError if they are malformed."""
    cycles, lo, hi, *numbers = public_values[0]
    if max(lo, hi) >= LIMB:
        raise VerificationError("guest.exit_code", "the public exit code is not two limbs of 32 bits")
    output, _ = _bytes(public_values, numbers, TableNumber.OUTPUT, "output") or (b"", b"")
    if len(output) > MAX_PROVED_OUTPUT:
        raise VerificationError(
            "guest.output", f"a public output of {len(output):,} bytes: {MAX_PROVED_OUTPUT:,} can be proved"
        )
    stated = _bytes(public_values, numbers, TableNumber.STATED_INPUT, "input")
    if stated and (len(stated[0]) > MAX_STATED_INPUT or any(stated[1])):
        raise VerificationError("guest.input", "the public input is too long, or not padded with zeros")
    return Claim(output, lo | hi << LIMB_BITS, cycles, stated and stated[0])


def _bytes(
    public_values: Sequence[Sequence[int]], numbers: Sequence[int], number: TableNumber, what: str
) -> tuple[bytes, bytes] | None:
    """Return the bytes whose length and words a table states, and their padding; None without the table."""
    if number not in numbers:
        return None
    limbs = public_values[1 + numbers.index(number)]
    values = [low | high << LIMB_BITS for low, high in zip(limbs[::2], limbs[1::2], strict=False)]
    if any(limb >= LIMB for limb in limbs) or not values or len(limbs) != 2 + 2 * -(-values[0] // 8):
        raise VerificationError("guest.words", f"the public {what} does not have the length it states")
    data = b"".join(value.to_bytes(8, "little") for value in values[1:])
    return data[: values[0]], data[values[0] :]


def describe(public_values: Sequence[Sequence[int]]) -> dict[str, str]:
    """Describe the claim of a proof with these public values, for people."""
    what = claim_of(public_values)
    stated = {} if what.input is None else {"input": f"Keccak-256 {keccak256(what.input).hex()} {_size(what.input)}"}
    return stated | {"output": shown(what.output), "exit code": str(what.exit_code), "cycles": str(what.cycles)}


def bytes_json(data: bytes) -> dict[str, Any]:
    """Return the length and hex digits of some bytes, for JSON."""
    return {"hex": data.hex(), "bytes": len(data)}


def shown(data: bytes, most: int = SHOWN_BYTES) -> str:
    """Return the format in which bytes are shown, the first ``most`` of them in it, and their number.

    Printable ASCII and line breaks are shown as text, in quotes and with escapes; everything else as hex.
    """
    if not data:
        return "none"
    text = data.decode("ascii", errors="replace")
    head, more = data[:most], "..." if len(data) > most else ""
    if text.isascii() and text.translate(_LINE_BREAKS).isprintable():
        return f"text {json.dumps(head.decode())}{more} {_size(data)}"
    return f"hex {head.hex()}{more} {_size(data)}"


_LINE_BREAKS = str.maketrans("", "", "\t\n\r")


def _size(data: bytes) -> str:
    return f"({len(data):,} byte{'s' * (len(data) != 1)})"
