"""verify(): one pass over a proof, in Python and NumPy; no Dask, no GPU, and a compiler only where it is at hand."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from graphprover.air.description import check_multiplicity_bound
from graphprover.field import ZERO, ext_sum
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof, proof_from_bytes
from graphprover.proof.sizes import security_of
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.proof import BatchProof, Cap, decode
from graphprover.protocol.security import JOHNSON_PROXIMITY, Security, most_bits
from graphprover.protocol.verification import check_batch, check_shard, prepare, total_of
from graphprover.reports.notebook import html
from graphprover.statement.shards import ShardedStatement, shards_of
from graphprover.statement.statement import Statement, binding_digest


@dataclass(frozen=True)
class Verdict:
    """What a valid proof says. Of a sharded proof: about the tables of all, heads left out."""

    security: Security  # provable, round by round
    public_values: tuple[tuple[int, ...], ...]  # of each table
    log_heights: tuple[int, ...]  # log2 of each table's rows
    shards: int = 1  # that the proof is in

    @property
    def bits(self) -> float:
        """Provable security."""
        return self.security.bits

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        tables = zip(self.log_heights, self.public_values, strict=True)
        rows = [(i, f"2^{log_height}", *_shown(values)) for i, (log_height, values) in enumerate(tables)]
        return html(self._title, {}, [("table", "rows", "public values", "the first of them"), *rows])

    @property
    def _title(self) -> str:
        return f"Verdict: valid, {f'{self.shards} shards, ' * (self.shards > 1)}{self.security.summary}"


def _shown(values: Sequence[int], most: int = 4) -> tuple[int, str]:
    """How many public values a table has, and some of them."""
    return len(values), ", ".join(map(str, values[:most])) + ", ..." * (len(values) > most)


def verify(
    proof: Proof | ShardedProof | bytes,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Cap | None = None,
) -> Verdict:
    """Check that ``proof``, in shards or not, proves ``statement`` with at least ``security`` provable bits.

    With ``proximity="unique"`` by unique decoding alone. A statement's tables may be dealt to shards in any way; of a
    sharded statement, the proof is in the same ones. ``preprocessed``: the commitment to the statement's preprocessed
    columns where the caller has made it already, as a prover that checks its own proof; computed here otherwise, which
    takes longest where they are tall. For a sharded proof see `verify_shards`.

    Returns the verdict. Raises VerificationError, with the reason, for every proof that does not convince, however
    malformed; raises ValueError when the statement itself is malformed.
    """
    if isinstance(proof, bytes):
        proof = proof_from_bytes(proof)
    if isinstance(proof, ShardedProof):
        if isinstance(statement, ShardedStatement):
            return verify_shards(proof, statement, security, proximity)
        dealt = shards_stated(proof, statement)
        return _in_order(verify_shards(proof, dealt, security, proximity), dealt)
    (statement,) = statements_of(proof, statement)
    check_level(proof, security)
    layout = layout_of_proof(proof, statement)
    proven = _proven([layout], security, proximity)
    batch = decode(proof.payload, layout)
    # Last, as it takes longest and needs no proof: what does not parse should cost nothing.
    if preprocessed is None:
        preprocessed = statement.preprocessed_cap(proof.parameters.log_blowup, proof.parameters.cap_height)
    binding = binding_digest(layout, proof.label, preprocessed)
    check_batch(layout, batch, proof.public_values, preprocessed, binding)
    return Verdict(proven, proof.public_values, proof.log_heights)


def _in_order(verdict: Verdict, dealt: ShardedStatement) -> Verdict:
    """A verdict about shards that a statement's tables were dealt to, in the order of these tables."""
    place = {table: i for i, table in enumerate(chain.from_iterable(dealt.shares))}
    order = [place[table] for table in range(len(place))]
    values = tuple(verdict.public_values[i] for i in order)
    return replace(verdict, public_values=values, log_heights=tuple(verdict.log_heights[i] for i in order))


def verify_shards(
    proof: ShardedProof,
    shards: ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Sequence[Cap | None] | None = None,
) -> Verdict:
    """`verify` of a proof in the shards that the statement is in.

    ``preprocessed``: the commitment of each shard, where the caller has made all of them already. The verdict has the
    tables of each shard in turn. An error names the shard where there is one to blame.
    """
    check_level(proof, security)
    layouts = layouts_of_proof(proof, shards)
    proven = _proven(layouts, security, proximity)
    batches = []
    for index, (of_shard, layout) in enumerate(zip(proof.proofs, layouts, strict=True)):
        with _blamed(index):
            batches.append(decode(of_shard.payload, layout))
    check_in_common(layouts, batches)
    for index, (shard, layout, batch) in enumerate(zip(proof.shards, layouts, batches, strict=True)):
        with _blamed(index):
            cap = None if preprocessed is None else preprocessed[index]
            _check_shard(shard, shards.statements[index], layout, batch, cap)
    return _verdict_of_shards(proof, proven)


def _verdict_of_shards(proof: ShardedProof, proven: Security) -> Verdict:
    values = tuple(chain.from_iterable(of_shard.public_values[1:] for of_shard in proof.proofs))
    log_heights = tuple(chain.from_iterable(of_shard.log_heights[1:] for of_shard in proof.proofs))
    return Verdict(proven, values, log_heights, len(proof.proofs))


@dataclass(frozen=True, eq=False)
class Expected:
    """A sharded proof of which what they have committed to is known: each is verified as it comes, then all."""

    headers: ShardedProof  # of proofs without their payloads
    shards: ShardedStatement
    dealt: bool  # from a statement that is in none
    layouts: tuple[Layout, ...]
    caps: tuple[Cap | None, ...]  # the commitment of each to its preprocessed columns
    security: Security

    def check(self, index: int, proof: Proof) -> BatchProof:
        """What is in a shard; raises VerificationError, naming it, where it does not hold by itself."""
        with _blamed(index):
            if replace(proof, payload=b"") != self.headers.proofs[index]:
                raise VerificationError("its header is not what it has committed to")
            layout, shard = self.layouts[index], Shard(self.headers.joint, index, proof)
            batch = decode(proof.payload, layout)
            _check_shard(shard, self.shards.statements[index], layout, batch, self.caps[index])
        return batch

    def verdict(self, batches: Sequence[BatchProof]) -> Verdict:
        """Of all shards, each of which holds by itself; raises VerificationError where they do not hold together."""
        check_in_common(self.layouts, batches)
        verdict = _verdict_of_shards(self.headers, self.security)
        return _in_order(verdict, self.shards) if self.dealt else verdict


def expect(
    headers: ShardedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Expected:
    """Verify what `verify` does before it reads payloads, which are not there yet, and make what it takes besides.

    Arguments and errors are those of `verify`.
    """
    check_level(headers, security)
    dealt = isinstance(statement, Statement)
    shards = shards_stated(headers, statement) if isinstance(statement, Statement) else statement
    layouts, parameters = layouts_of_proof(headers, shards), headers.parameters
    proven = _proven(layouts, security, proximity)
    caps = [shard.preprocessed_cap(parameters.log_blowup, parameters.cap_height) for shard in shards.statements]
    for layout, cap in zip(layouts, caps, strict=True):
        binding_digest(layout, headers.label, cap)
        prepare(layout)
    return Expected(headers, shards, dealt, tuple(layouts), tuple(caps), proven)


def verify_header(
    proof: Proof | ShardedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Security:
    """Verify what `verify` does before it reads payloads, and return what the proof is worth if these hold.

    Arguments and errors are those of `verify`.
    """
    check_level(proof, security)
    return _proven(layouts_of_proof(proof, statement), security, proximity)


def verify_shard(
    shard: Shard, shards: ShardedStatement, *, preprocessed: Cap | None = None
) -> tuple[Layout, BatchProof]:
    """Check one shard by itself; what it must have in common with the others is left to `check_in_common`.

    No level is asked for. Returns what that takes. Raises VerificationError, naming the shard.
    """
    with _blamed(shard.index):
        if len(shard.joint.digests) != len(shards.statements):
            raise VerificationError(f"it is one of {len(shard.joint.digests)}, not of {len(shards.statements)}")
        statement = shards.statements[shard.index]
        layout = layout_of_proof(shard.proof, statement)
        batch = decode(shard.proof.payload, layout)
        _check_shard(shard, statement, layout, batch, preprocessed)
    return layout, batch


def check_in_common(layouts: Sequence[Layout], batches: Sequence[BatchProof]) -> None:
    """Raises VerificationError unless shards that hold each by itself hold together: parameters, bound on counts, nonce
    before the lookup challenges, balance of buses."""
    if any(layout.parameters != layouts[0].parameters for layout in layouts):
        raise VerificationError("the shards have different parameters")
    airs = list(chain.from_iterable(layout.tables for layout in layouts))
    heights = [1 << log_height for layout in layouts for log_height in layout.log_heights]
    try:
        check_multiplicity_bound(airs, heights)
    except ValueError as error:
        raise VerificationError(str(error)) from None
    if len({batch.lookup_nonce for batch in batches}) > 1:
        raise VerificationError("the shards have different nonces before the lookup challenges")
    if ext_sum(map(total_of, batches)) != ZERO:
        raise VerificationError("the buses do not balance: the lookup terminals of all shards do not sum to zero")


def shards_stated(proof: ShardedProof, statement: Statement) -> ShardedStatement:
    """The sharded statement as the proof's heads say; VerificationError where they do not share out its tables."""
    shares = [shard.public_values[0] if shard.public_values else () for shard in proof.proofs]
    try:
        return shards_of(statement, shares)
    except ValueError as error:
        raise VerificationError(str(error)) from None


def layouts_of_proof(proof: Proof | ShardedProof, statement: Statement | ShardedStatement) -> list[Layout]:
    """`layout_of_proof` of each shard, or of a proof that is in none; an error names the shard."""
    statements = statements_of(proof, statement)
    if isinstance(proof, Proof):
        return [layout_of_proof(proof, statements[0])]
    layouts = []
    for index, (of_shard, own) in enumerate(zip(proof.proofs, statements, strict=True)):
        with _blamed(index):
            layouts.append(layout_of_proof(of_shard, own))
    return layouts


def statements_of(proof: Proof | ShardedProof, statement: Statement | ShardedStatement) -> tuple[Statement, ...]:
    """The statement of each shard, or the one of a proof in none; VerificationError where its shards are other ones."""
    if isinstance(proof, Proof):
        if isinstance(statement, ShardedStatement):
            raise VerificationError(f"the proof is not in shards, the statement is in {len(statement.statements)}")
        return (statement,)
    shards = statement if isinstance(statement, ShardedStatement) else shards_stated(proof, statement)
    if len(proof.proofs) != len(shards.statements):
        raise VerificationError(f"the proof is in {len(proof.proofs)} shards, not in {len(shards.statements)}")
    return shards.statements


def _check_shard(
    shard: Shard, statement: Statement, layout: Layout, batch: BatchProof, preprocessed: Cap | None
) -> None:
    parameters = layout.parameters
    if preprocessed is None:
        preprocessed = statement.preprocessed_cap(parameters.log_blowup, parameters.cap_height)
    binding = binding_digest(layout, shard.proof.label, preprocessed)
    check_shard(layout, batch, shard.proof.public_values, preprocessed, binding, shard.joint, shard.index)


@contextmanager
def _blamed(index: int) -> Iterator[None]:
    """Says which shard it is whose verification fails."""
    try:
        yield
    except VerificationError as error:
        raise shard_error(index, error) from None


def _proven(layouts: Sequence[Layout], security: float, proximity: str) -> Security:
    """What proofs of these layouts, one a shard, are worth; raises VerificationError for less than was asked for."""
    proven = security_of(*layouts)
    regime = proven.by(proximity)
    if not regime.bits >= security:  # so that a NaN asks for more than there is
        raise VerificationError(
            f"the proof has {regime.bits:.1f} provable bits by {regime.name}; {security:g} were asked for"
        )
    return proven


def check_level(proof: Proof | ShardedProof, security: float) -> None:
    """Raises VerificationError where the proof's parameters rule out ``security`` bits, whatever its statement is.

    So few queries make a file so short that finding out its statement would cost more than verifying an honest one.
    """
    most = most_bits(proof.parameters, len(proof.proofs) if isinstance(proof, ShardedProof) else 1)
    if not most >= security:
        raise VerificationError(f"the proof has {most:.1f} provable bits at most; {security:g} were asked for")


def layout_of_proof(proof: Proof, statement: Statement) -> Layout:
    """The shape the proof must have, once its header agrees with the statement; VerificationError if it does not."""
    airs = statement.descriptions
    if len(proof.log_heights) != len(airs):
        raise VerificationError(f"the proof is of {len(proof.log_heights)} tables, the statement of {len(airs)}")
    for table, air, log_height, values in zip(
        statement.tables, airs, proof.log_heights, proof.public_values, strict=True
    ):
        if len(values) != air.num_public_values:
            raise VerificationError(f"table {air.name}: {len(values)} public values instead of {air.num_public_values}")
        if table.public_values is not None and tuple(table.public_values) != values:
            raise VerificationError(f"table {air.name}: the proof states other public values")
        if table.preprocessed is not None and table.preprocessed.shape[1] != 1 << log_height:
            raise VerificationError(f"table {air.name}: not as tall as its preprocessed columns")
    try:
        return make_layout(airs, proof.log_heights, proof.parameters)
    except ValueError as error:
        raise VerificationError(str(error)) from None
