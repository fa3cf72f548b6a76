"""Verifying keys made from a program, and compared with one."""

from collections.abc import Collection

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.preprocessed import preprocessed_caps
from graphprover.protocol.security import CAP_HEIGHT
from graphprover.vm.statement.key import DEFAULT_PROOFS, Key, ProofKind
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_rules import ShardKind


def make_key(machine: Machine, proofs: Collection[ProofKind] = DEFAULT_PROOFS) -> Key:
    """Make the key of a program.

    Args:
        machine: The program.
        proofs: The kinds of proofs for which the key has commitments to the preprocessed columns.
    """
    columns = {
        number: machine.air(number, 0, 0).preprocessed_trace() for number in machine.preprocessed(ShardKind.FIRST)
    }
    caps: dict[ShardKind, dict[ProofKind, bytes]] = {kind: {} for kind in ShardKind}
    by_kind = [[columns[number] for number in machine.preprocessed(kind)] for kind in ShardKind]
    for hash in sorted({of.hash for of in proofs}):
        rates = {of.log_blowup: of for of in proofs if of.hash == hash}
        for kind, found in zip(ShardKind, preprocessed_caps(by_kind, sorted(rates), CAP_HEIGHT, hash), strict=True):
            caps[kind] |= {of: found[log_blowup][0] for log_blowup, of in rates.items()}
    program, data = machine.program(), machine.data()
    return Key(
        machine.entry,
        machine.zero_base,
        program.rows.bit_length() - 1,
        None if data is None else data.rows.bit_length() - 1,
        machine.program_hash,
        caps,
    )


def check_key(key: Key, machine: Machine) -> None:
    """Raise VerificationError, with the difference, unless this is the key of this program."""
    if key.program_hash != machine.program_hash:
        raise VerificationError(
            "key.program", f"the key of program {key.program_hash.hex()}, not of {machine.program_hash.hex()}"
        )
    own = make_key(machine, key.proofs)
    if key.caps != own.caps:
        raise VerificationError("key.other", "the key has the program's hash, but commits to another program")
    if key != own:
        raise VerificationError(
            "key.other", "the key has the program's hash and commitments, but another entry, memory or heights"
        )
