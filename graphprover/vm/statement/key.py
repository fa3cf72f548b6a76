"""Verifying keys: the facts about a program that a verifier needs, in a file of their own.

A key holds the parameters that the tables take from the program, the digest of the machine that has these tables, a
hash of the program, and for some hashes and rates (`ProofKind`) a commitment to the preprocessed columns of each kind
of statement (`table_rules.ShardKind`). Verifying with a key trusts that it was made from the program: make it yourself,
or compare its hash, which covers its whole content and is reproducible. The program's hash alone only tells which
program a key claims.
"""

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphprover.air import Air
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.errors import RuleError, VerificationError
from graphprover.protocol.hashing import keccak256
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES, RATES, Parameters
from graphprover.protocol.security import CAP_HEIGHT
from graphprover.runtime.files import read_input, write
from graphprover.statement.statement import BlankTable, Table
from graphprover.vm.program.io import INPUT_BASE
from graphprover.vm.statement.shape import MAX_LOG_ROWS, MIN_ROWS
from graphprover.vm.statement.statement import GuestStatement, ProgramStatements, kind_of
from graphprover.vm.statement.table_rules import ShardKind
from graphprover.vm.statement.version import MACHINE_DIGEST
from graphprover.vm.tables.program import FIELDS, ProgramTable
from graphprover.vm.tables.state import ImageMemory

PREFIX = b"graphprover key"  # starts keys of any format version
MAGIC = PREFIX + b"\x05"
_HEADER = struct.Struct("<32sQQBB32s")
_PROOF_KIND = struct.Struct("<BB")  # code of the hash, log2 of the blowup
_NO_DATA = 255  # stands for log2 of the rows


class MalformedKey(RuleError):
    """Raised for a file that is no valid verifying key of this machine; the message tells why."""


class ProofKind(NamedTuple):
    """The parameters of a proof that a commitment depends on. Sorted by the hash's code, then by rate."""

    hash_code: int  # place in `HASH_NAMES`
    log_blowup: int  # log2 of the inverse rate

    @property
    def hash(self) -> str:
        """The name of the hash."""
        return HASH_NAMES[self.hash_code]

    def __str__(self) -> str:
        return f"{self.hash} at rate 1/{1 << self.log_blowup}"


def proof_kind(parameters: Parameters) -> ProofKind:
    """Return the kind of a proof with these parameters."""
    return ProofKind(HASH_NAMES.index(parameters.hash), parameters.log_blowup)


def proof_kinds(hashes: Collection[str], rates: Collection[int]) -> tuple[ProofKind, ...]:
    """Return the kinds of proofs with one of these hashes and one of these rates, where N stands for 1/N.

    Raises:
        ValueError: for a hash or a rate that is not offered, or none.
    """
    if not hashes or not rates:
        raise ValueError("a verifying key needs at least one hash and one rate")
    levels = [Level(rate=rate, hash=hash) for hash in hashes for rate in rates]
    return tuple(sorted({ProofKind(HASH_NAMES.index(of.hash), RATES[of.rate]) for of in levels if of.rate}))


KEY_RATES = (2, 4, 8)  # of a key by default: proofs have one of them unless another one was asked for
DEFAULT_PROOFS = proof_kinds((DEFAULT_HASH,), KEY_RATES)


@dataclass(frozen=True)
class Key(ProgramStatements):
    """The verifying key of a guest: a few hundred bytes that stand for the program.

        verdict = Key.load("guest.vk").verify(proof)
        verdict.claim.output

    `Prover.key` and ``graphprover setup`` make it. A verifier needs neither the ELF file nor the prover: the
    install without extras suffices. Trust a key that you made, or compare its ``hash``.
    """

    entry: int
    zero_base: int
    log_program_rows: int
    log_data_rows: int | None  # None for a program without data
    program_hash: bytes  # see ``elf.program_hash``
    caps: Mapping[ShardKind, Mapping[ProofKind, bytes]]  # the commitment to the preprocessed columns

    @property
    def proofs(self) -> tuple[ProofKind, ...]:
        """The kinds of proofs that the key has commitments for."""
        return tuple(sorted(self.caps[ShardKind.FIRST]))

    def program(self) -> ProgramTable:
        return _blank_program(1 << self.log_program_rows)

    def data(self) -> ImageMemory | None:
        return None if self.log_data_rows is None else _blank_data(1 << self.log_data_rows)

    def table(self, air: Air, rows: int) -> Table:
        return BlankTable(air, rows=rows)

    def statement(self, tables: Sequence[Table], label: str) -> GuestStatement:
        return KeyStatement(tables, label, self.program_hash, self.caps[kind_of(tables)])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the key to a file, whole or not at all; raises `FileError`."""
        write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Key":
        """Load the key in a file.

        Raises:
            FileError: if the file cannot be read.
            ValueError: if it holds no key of this machine (`MalformedKey`); the message says why.
        """
        try:
            return cls.from_bytes(read_input(Path(path)))
        except MalformedKey as error:
            raise MalformedKey(error.rule, f"{path}: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        data = _NO_DATA if self.log_data_rows is None else self.log_data_rows
        header = _HEADER.pack(
            MACHINE_DIGEST, self.entry, self.zero_base, self.log_program_rows, data, self.program_hash
        )
        parts = [MAGIC, header]
        for proof in self.proofs:
            parts += [_PROOF_KIND.pack(*proof), *(self.caps[kind][proof] for kind in ShardKind)]
        return b"".join(parts)

    @cached_property
    def hash(self) -> bytes:
        """Keccak-256 of the file: keys with equal hashes verify the same proofs."""
        return keccak256(self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> "Key":
        """Parse the bytes of ``to_bytes``; raises a ValueError, `MalformedKey`, for any other bytes."""
        size, entry_bytes = len(MAGIC) + _HEADER.size, _PROOF_KIND.size + len(ShardKind) * DIGEST_BYTES
        if not data.startswith(MAGIC) or len(data) <= size or (len(data) - size) % entry_bytes:
            raise MalformedKey(
                "key.magic", "no verifying key, or one of another version: recreate it with `graphprover setup`"
            )
        machine, entry, zero_base, log_program, log_data, program_hash = _HEADER.unpack_from(data, len(MAGIC))
        if machine != MACHINE_DIGEST:
            raise MalformedKey(
                "key.machine", "the verifying key is for another machine: recreate it with `graphprover setup`"
            )
        logs = range(MIN_ROWS.bit_length() - 1, MAX_LOG_ROWS + 1)
        if log_program not in logs or log_data not in (*logs, _NO_DATA):
            raise MalformedKey(
                "key.rows",
                f"a table of the verifying key has not {MIN_ROWS} to 2^{MAX_LOG_ROWS} rows: the key is damaged",
            )
        if entry % 4 or zero_base % 8 or not entry < zero_base <= INPUT_BASE:
            raise MalformedKey(
                "key.addresses", "no program has the addresses of this verifying key: the key is damaged"
            )
        caps: dict[ShardKind, dict[ProofKind, bytes]] = {kind: {} for kind in ShardKind}
        last = ProofKind(-1, 0)
        for start in range(size, len(data), entry_bytes):
            proof = ProofKind(*_PROOF_KIND.unpack_from(data, start))
            if proof <= last or proof.hash_code >= len(HASH_NAMES) or proof.log_blowup not in RATES.values():
                raise MalformedKey(
                    "key.order", "the commitments of the verifying key are not in order: the key is damaged"
                )
            last, position = proof, start + _PROOF_KIND.size
            for kind in ShardKind:
                caps[kind][proof] = data[position : position + DIGEST_BYTES]
                position += DIGEST_BYTES
        rows = None if log_data == _NO_DATA else log_data
        return cls(entry, zero_base, log_program, rows, program_hash, caps)


@cache  # a table for each power of two
def _blank_program(rows: int) -> ProgramTable:
    return ProgramTable(np.zeros((len(FIELDS), 0), dtype=np.uint64), rows)


@cache
def _blank_data(rows: int) -> ImageMemory:
    nothing = np.zeros(0, dtype=np.uint64)
    return ImageMemory(nothing, nothing, rows)


class KeyStatement(GuestStatement):
    """A statement with preprocessed columns known by their commitment only."""

    def __init__(
        self, tables: Sequence[Table], label: str, program_hash: bytes, caps: Mapping[ProofKind, bytes]
    ) -> None:
        super().__init__(tables, label, program_hash)
        object.__setattr__(self, "_key_caps", caps)

    def preprocessed_cap(self, parameters: Parameters) -> tuple[bytes, ...] | None:
        """Return the key's commitment, a single digest; raise VerificationError if there is none."""
        caps: Mapping[ProofKind, bytes] = self._key_caps  # type: ignore[attr-defined]
        proof = proof_kind(parameters)
        if proof not in caps:
            raise VerificationError(
                "key.commitment",
                f"the verifying key has no commitment for a proof with {proof}, but for {', '.join(map(str, caps))}: "
                f"recreate it with `graphprover setup --hash {proof.hash} --rate {1 << proof.log_blowup}`",
            )
        if parameters.cap_height != CAP_HEIGHT:
            raise VerificationError(
                "key.commitment", f"the verifying key has no commitment with cap height {parameters.cap_height}"
            )
        return (caps[proof],)
