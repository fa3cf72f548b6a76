"""Verifying keys: what a verifier needs of a program, in a file of its own.

A key holds what the tables take from the program, a hash of the program for people and scripts to compare, and the
commitment to all preprocessed columns for each rate. Whoever verifies with a key trusts that it was made from the
program: make it yourself, or compare its bytes, which are the same for everybody.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.protocol.errors import VerificationError
from graphprover.statement import Statement, Table
from graphprover.vm.machine import Tables
from graphprover.vm.tables.program import FIELDS, ProgramTable
from graphprover.vm.tables.state import ImageMemory

MAGIC = b"graphprover key\x01"
LOG_BLOWUPS = (1, 2, 3)
_HEADER = struct.Struct("<QQBB32s")
_NO_DATA = 255  # in place of log2 of the rows
_CAP = 32


class MalformedKey(ValueError):
    """A file that is no verifying key; says why."""


@dataclass(frozen=True)
class Key(Tables):
    """A verifying key."""

    entry: int
    zero_base: int
    log_program_rows: int
    log_data_rows: int | None  # None for a program without data
    program_hash: bytes  # see ``elf.program_hash``
    caps: Mapping[int, bytes]  # by log2 of the blowup: the commitment to the preprocessed columns

    def program(self) -> ProgramTable:
        return ProgramTable(np.zeros((len(FIELDS), 0), dtype=np.uint64), 1 << self.log_program_rows)

    def data(self) -> ImageMemory | None:
        nothing = np.zeros(0, dtype=np.uint64)
        return None if self.log_data_rows is None else ImageMemory(nothing, nothing, 1 << self.log_data_rows)

    def statement(self, tables: Sequence[Table], label: str) -> Statement:
        return KeyStatement(tables, label, self.caps)

    def to_bytes(self) -> bytes:
        """The file."""
        data = _NO_DATA if self.log_data_rows is None else self.log_data_rows
        header = _HEADER.pack(self.entry, self.zero_base, self.log_program_rows, data, self.program_hash)
        return b"".join([MAGIC, header, *(self.caps[log_blowup] for log_blowup in LOG_BLOWUPS)])

    @classmethod
    def from_bytes(cls, data: bytes) -> "Key":
        """Inverse of ``to_bytes``; raises MalformedKey."""
        size = len(MAGIC) + _HEADER.size
        if not data.startswith(MAGIC) or len(data) != size + _CAP * len(LOG_BLOWUPS):
            raise MalformedKey("no verifying key, or one of another format version")
        entry, zero_base, log_program, log_data, program_hash = _HEADER.unpack_from(data, len(MAGIC))
        if log_program > 26 or (log_data > 26 and log_data != _NO_DATA):
            raise MalformedKey("a table of the verifying key has more than 2^26 rows")
        caps = {log: data[size + _CAP * i : size + _CAP * (i + 1)] for i, log in enumerate(LOG_BLOWUPS)}
        return cls(entry, zero_base, log_program, None if log_data == _NO_DATA else log_data, program_hash, caps)


class KeyStatement(Statement):
    """A statement whose preprocessed columns are known by their commitment only; their arrays here are blank."""

    def __init__(self, tables: Sequence[Table], label: str, caps: Mapping[int, bytes]) -> None:
        super().__init__(tables, label)
        object.__setattr__(self, "_key_caps", caps)

    def preprocessed_cap(self, log_blowup: int, cap_height: int) -> tuple[bytes, ...] | None:
        """The key's commitment, a single digest; raises VerificationError where it has none."""
        caps: Mapping[int, bytes] = self._key_caps  # type: ignore[attr-defined]
        if log_blowup not in caps or cap_height:
            raise VerificationError("the verifying key has no commitment for a proof of this rate and cap")
        return (caps[log_blowup],)
