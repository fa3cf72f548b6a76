"""The claim of a proof about an execution, read from its public values; and the check of its exit code."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import keccak256
from graphprover.runtime.display.notebook import html
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.tables.limbs import LIMB, LIMB_BITS

SHOWN_BYTES = 64  # bytes of an output shown to people
MAX_STATED_INPUT = 1 << 16  # bytes of a stated input: the proof contains them, and a verifier reads them all
MAX_PROVED_OUTPUT = 1 << 20  # bytes of an output, for the same reason


ANY = "any"  # accepts every exit code


@dataclass(frozen=True)
class Claim:
    """The claim of a guest's proof: some input makes this program end like this."""

    output: bytes  # that the guest wrote
    exit_code: int  # 64 bits
    cycles: int  # executed instructions
    program_hash: bytes  # of the guest: Keccak-256 of its code, its data and its entry (docs/protocol.md, section 15)
    input: bytes | None  # if the proof states it (``commit_input``), otherwise None

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        return html(self._title, {"program": self.program_hash.hex()} | self.describe())

    @property
    def _title(self) -> str:
        return f"Claim: exit code {self.exit_code} after {self.cycles:,} cycles, output {shown(self.output)}"

    def describe(self) -> dict[str, str]:
        """Return the claim as words."""
        stated = {}
        if self.input is not None:
            stated = {"input": f"Keccak-256 {keccak256(self.input).hex()} {_size(self.input)}"}
        return stated | {"output": shown(self.output), "exit code": str(self.exit_code), "cycles": f"{self.cycles:,}"}

    def to_json(self) -> dict[str, Any]:
        """Return the claim as JSON, with bytes as hex."""
        stated = None if self.input is None else bytes_json(self.input)
        output = bytes_json(self.output)
        return {"output": output, "exit_code": self.exit_code, "cycles": self.cycles, "input": stated}


def claim_of(public_values: Sequence[Sequence[int]], program_hash: bytes) -> Claim:
    """Return the claim of a proof about this program with these public values.

    Raises:
        VerificationError: if the values are malformed.
    """
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
    return Claim(output, lo | hi << LIMB_BITS, cycles, program_hash, stated and stated[0])


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


def other_exit_code(code: int, wanted: int | str | None) -> str | None:
    """Return an error about an exit code, or None for the code that was asked for, 0 by default."""
    if wanted == ANY or code == (wanted or 0):
        return None
    return f"exit code {code}, not {wanted or 0}"


def check_exit_code(claim: Claim, wanted: int | str) -> None:
    """Raise VerificationError if a guest has ended with another exit code than was asked for."""
    if wrong := other_exit_code(claim.exit_code, wanted):
        code = claim.exit_code
        raise VerificationError("asked.exit_code", f"{wrong} (exit_code={code} or exit_code={ANY!r} accepts it)")


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
        return f"text {json.dumps(head.decode(), allow_nan=False)}{more} {_size(data)}"
    return f"hex {head.hex()}{more} {_size(data)}"


_LINE_BREAKS = str.maketrans("", "", "\t\n\r")


def _size(data: bytes) -> str:
    return f"({len(data):,} byte{'s' * (len(data) != 1)})"
