"""The programs of the members of an aggregated proof."""

from collections.abc import Sequence
from contextlib import suppress

from graphprover.cli import text_output
from graphprover.cli.errors import UsageError
from graphprover.jobs.programs import Program, ProgramError, load_packaged, open_program
from graphprover.proof.compressed import AnyProof, CompressedProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.verifier import Verdict


def headers_of(proof: AnyProof) -> Sequence[Proof | ShardedProof]:
    """Return the headers of all members of a proof, or the proof itself."""
    return proof.members if isinstance(proof, CompressedProof) else [proof]


def programs_of(headers: Sequence[Proof | ShardedProof], given: Sequence[str], hint: str) -> list[Program]:
    """Return the program of each proof: the given one that the proof names, or the only one that is given.

    The name in a proof is chosen by its prover. It selects one of the given programs, or a packaged example if none is
    given; a proof of another program is refused later.

    Args:
        headers: The headers.
        given: The programs of the command line.
        hint: How to give a program.

    Raises:
        UsageError: No program is the one that a proof names.
    """
    programs = [open_program(name) for name in given]
    by_label: dict[str, Program] = {}
    for label in {header.label for header in headers}:
        named = programs if len(programs) == 1 else [program for program in programs if _is_named(program, label)]
        if not programs:
            with suppress(ProgramError):
                named = [load_packaged(label)]
        if not named:
            what = "none of the given programs is" if programs else "is no packaged example"
            raise UsageError(f"the proof names {label!r}, which {what}: give the program, as in {hint}")
        by_label[label] = named[0]
    return [by_label[header.label] for header in headers]


def statements_of(
    programs: Sequence[Program], headers: Sequence[Proof | ShardedProof], names: Sequence[str]
) -> list[Statement | ShardedStatement]:
    """Return the statement of each proof about its program; the name of a proof begins the error about it."""
    found = []
    for program, header, name in zip(programs, headers, names, strict=True):
        try:
            found.append(program.statement_of(header, coming=not header.proofs[0].payload))
        except VerificationError as error:
            raise error.refusal(f"{name}: {error}") from error
    return found


def _is_named(program: Program, label: str) -> bool:
    """Return whether a proof's label is of a program: of a guest it ends with the program's hash."""
    hash = program.program_hash
    return label.endswith(f" {hash}") if hash else label == program.label


def members_report(programs: Sequence[Program], verdicts: Sequence[Verdict]) -> list[text_output.Block]:
    """Return the program and the statement of each member of a valid proof, and the security."""
    blocks = list[text_output.Block]()
    for number, (program, verdict) in enumerate(zip(programs, verdicts, strict=True), 1):
        blocks += [f"member {number}", {"program": program.name} | program.describe(verdict.public_values), ""]
    return [*blocks, text_output.worth(verdicts[0])]
