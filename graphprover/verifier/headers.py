"""Headers against statements: the security of a proof, the tables of each shard, and their layouts.

No payload is read here. A layout follows from the header and the statement, so no length is taken from a proof.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

from graphprover.air.description import check_multiplicity_bound
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof
from graphprover.proof.sizes import security_of
from graphprover.protocol.errors import RuleError, VerificationError, shard_error
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.security import Security, most_bits
from graphprover.statement.shards import ShardedStatement, shards_of
from graphprover.statement.statement import Statement


def check_level(proof: Proof | ShardedProof, security: float) -> None:
    """Raise VerificationError if a proof's parameters rule out ``security`` bits for every statement.

    A short file with few queries could otherwise name a statement that costs more than the verification of an honest
    proof.
    """
    most = most_bits(proof.parameters, len(proof.proofs))
    if not most >= security:
        raise VerificationError(
            "security.level", f"the proof has {most:.1f} provable bits at most; {security:g} were asked for"
        )


def layouts_of_proof(proof: Proof | ShardedProof, statement: Statement | ShardedStatement) -> list[Layout]:
    """Return the layout of each shard of a proof, as `layout_of_proof`; an error names the shard."""
    return layouts_of_shards(proof, statements_of(proof, statement))


def layouts_of_shards(proof: Proof | ShardedProof, statements: Sequence[Statement]) -> list[Layout]:
    """Return the same by the statement of each shard."""
    layouts = []
    for index, (own, of_shard) in enumerate(zip(proof.proofs, statements, strict=True)):
        with blamed_shard(proof, index):
            layouts.append(layout_of_proof(own, of_shard, shard=proof.heads > 0))
    return layouts


def statements_of(proof: Proof | ShardedProof, statement: Statement | ShardedStatement) -> tuple[Statement, ...]:
    """Return the statement of each shard of a proof.

    The heads of a sharded proof say which shard each table of a statement of one shard is in.

    Raises:
        VerificationError: if the shards of the proof are not shards of the statement.
    """
    statements = statement.statements
    if proof.heads > statement.heads:
        shares = [own.public_values[0] if own.public_values else () for own in proof.proofs]
        try:
            statements = shards_of(statements[0], shares).statements
        except RuleError as error:
            raise error.refusal() from None
    elif proof.heads < statement.heads:
        raise VerificationError("shards.number", f"the proof is not in shards, the statement is in {len(statements)}")
    if len(proof.proofs) != len(statements):
        raise VerificationError(
            "shards.number", f"the proof is in {len(proof.proofs)} shards, not in {len(statements)}"
        )
    return statements


def layout_of_proof(proof: Proof, statement: Statement, *, shard: bool) -> Layout:
    """Return the layout of a proof.

    Args:
        proof: The proof, or a shard of one.
        statement: The statement of its tables.
        shard: Whether it is one of several shards.

    Raises:
        VerificationError: if the header does not agree with the statement.
    """
    airs = statement.descriptions
    if len(proof.log_heights) != len(airs):
        raise VerificationError(
            "statement.tables", f"the proof is of {len(proof.log_heights)} tables, the statement of {len(airs)}"
        )
    for table, air, log_height, values in zip(
        statement.tables, airs, proof.log_heights, proof.public_values, strict=True
    ):
        if len(values) != air.num_public_values:
            raise VerificationError(
                "statement.value_count",
                f"table {air.name}: {len(values)} public values instead of {air.num_public_values}",
            )
        if table.public_values is not None and tuple(table.public_values) != values:
            raise VerificationError("statement.values", f"table {air.name}: the proof states other public values")
        if table.preprocessed is not None and table.preprocessed.shape[1] != 1 << log_height:
            raise VerificationError("statement.height", f"table {air.name}: not as tall as its preprocessed columns")
    try:
        return make_layout(airs, proof.log_heights, proof.parameters, shard=shard)
    except RuleError as error:
        raise error.refusal() from None


def check_counts(layouts: Sequence[Layout]) -> None:
    """Raise VerificationError if the tables of all shards together could send p or more tuples."""
    airs = list(chain.from_iterable(layout.tables for layout in layouts))
    heights = [1 << log_height for layout in layouts for log_height in layout.log_heights]
    try:
        check_multiplicity_bound(airs, heights)
    except ValueError as error:
        raise VerificationError("layout.counts", str(error)) from None


def proven_security(layouts: Sequence[Layout], security: float, proximity: str) -> Security:
    """Return the security of a proof whose shards have these layouts; raises VerificationError if it is too low."""
    proven = security_of(*layouts)
    regime = proven.by(proximity)
    if not regime.bits >= security:  # so that a NaN asks for more than there is
        raise VerificationError(
            "security.level",
            f"the proof has {regime.bits:.1f} provable bits by {regime.name}; {security:g} were asked for",
        )
    return proven


def check_header(header: Proof, committed: Proof) -> None:
    """Raise VerificationError unless the header of a shard is the committed one; both are without payload."""
    if header != committed:
        raise VerificationError("shards.header", "its header is not what it has committed to")


@contextmanager
def blamed_shard(proof: Proof | ShardedProof | Shard, index: int) -> Iterator[None]:
    """Name the shard whose verification fails, unless it is the only one."""
    try:
        yield
    except VerificationError as error:
        raise shard_error(index, error) if proof.joint else error from None
