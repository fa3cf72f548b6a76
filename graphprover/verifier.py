"""verify(): one pass over a proof, in Python and NumPy; no Dask, no GPU, and a compiler only where it is at hand."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Protocol

from graphprover.air.description import check_multiplicity_bound
from graphprover.field import ZERO, Ext, ext_sum
from graphprover.proof.compressed import AnyProof, CompressedProof, any_proof_from_bytes
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof
from graphprover.proof.sizes import security_of
from graphprover.protocol.errors import RuleError, VerificationError, shard_error
from graphprover.protocol.joint import Joint
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.proof import BatchProof, Cap, decode
from graphprover.protocol.security import JOHNSON_PROXIMITY, Security, most_bits
from graphprover.protocol.verification import check_batch, check_shard, prepare
from graphprover.runtime.display.notebook import html
from graphprover.statement.shards import ShardedStatement, shards_of
from graphprover.statement.statement import Statement, binding_digest

if TYPE_CHECKING:
    from graphprover.vm.statement.claim import Claim


@dataclass(frozen=True)
class Verdict:
    """The claim of a valid proof, and its security; of a sharded proof without the heads."""

    security: Security  # provable, round by round
    public_values: tuple[tuple[int, ...], ...]  # of each table
    log_heights: tuple[int, ...]  # log2 of each table's rows
    shards: int = 1  # that the proof is in
    claim: "Claim | None" = None  # of a guest's proof, as values; None for tables, whose claim is their public values

    @property
    def bits(self) -> float:
        """Provable security."""
        return self.security.bits

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        tables = zip(self.log_heights, self.public_values, strict=True)
        rows = [(i, f"2^{log_height}", *_shown(values)) for i, (log_height, values) in enumerate(tables)]
        claim = self.claim.describe() if self.claim else {}
        return html(self._title, claim, [("table", "rows", "public values", "the first of them"), *rows])

    @property
    def _title(self) -> str:
        return f"Verdict: valid, {f'{self.shards} shards, ' * (self.shards > 1)}{self.security.summary}"


def _shown(values: Sequence[int], most: int = 4) -> tuple[int, str]:
    """Return the number of a table's public values, and the first of them."""
    return len(values), ", ".join(map(str, values[:most])) + ", ..." * (len(values) > most)


def verify(
    proof: AnyProof | bytes,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Cap | None = None,
) -> Verdict:
    """Check that a proof proves ``statement`` with at least ``security`` provable bits.

    The proof has one shard or several, or is a compressed one of one member (`graphprover.verify_aggregate` takes
    several).

    A statement about a guest accepts every exit code, which the verdict's claim has: `Prover.verify` and `Key.verify`
    compare it.

    Args:
        proof: The proof, or its bytes.
        statement: The statement. A proof of its tables may assign them to shards in any way; a proof of a sharded
            statement has the same shards.
        security: The least provable security, in bits.
        proximity: ``"unique"`` counts unique decoding alone.
        preprocessed: The commitment to the preprocessed columns of a proof of one shard, if the caller has made it, as
            a prover that checks its own proof. It is computed here otherwise, which takes most of the time if the
            columns are tall. `verify_shards` takes the commitments of several shards.

    Returns:
        The verdict.

    Raises:
        VerificationError: for every proof that does not convince, however malformed; it says why.
        ValueError: if the statement is malformed.
    """
    if isinstance(proof, str | PathLike):
        raise TypeError(f"{proof!r} is a file, not a proof: verify(load_proof({str(proof)!r}), ...)")
    if isinstance(proof, bytes):
        proof = any_proof_from_bytes(proof)
    caps = None if preprocessed is None or proof.header.joint else (preprocessed,)
    if isinstance(proof, CompressedProof):
        from graphprover.recursion.compressed import verify_compressed  # here, because other proofs do not need it

        return verify_compressed(proof, statement, security, proximity, preprocessed=caps)
    return verify_shards(proof, statement, security, proximity, preprocessed=caps)


def verify_shards(
    proof: Proof | ShardedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Sequence[Cap | None] | None = None,
) -> Verdict:
    """Check a proof as `verify` does, with the preprocessed commitments of all its shards.

    A proof of one shard is verified by the same steps as a sharded one.

    Args:
        proof: The proof.
        statement: The statement; of a sharded one, the proof must have the same shards.
        security: The least provable security, in bits.
        proximity: The regime that counts, as in `verify`.
        preprocessed: The commitment of each shard to its preprocessed columns, if the caller has made them.

    Returns:
        The verdict, with the tables of each shard in turn, or in the order of a statement of one shard.

    Raises:
        VerificationError: if the proof does not convince; it names the shard at fault, if there is one.
        ValueError: if the statement is malformed.
    """
    expected = expect_header(proof, statement, security, proximity, preprocessed)
    batches = [expected.decoded(index, own) for index, own in enumerate(proof.proofs)]
    verdict = expected.verdict(batches)
    # Last, as it takes longest and needs no proof: what does not parse should cost nothing.
    for index, (own, batch) in enumerate(zip(proof.proofs, batches, strict=True)):
        expected.check_decoded(index, own, batch)
    return verdict


@dataclass(frozen=True, eq=False)
class Expected:
    """The verification of a proof whose header is known: each shard by itself, then all together."""

    headers: Proof | ShardedProof  # the proof; its payloads may be empty
    statement: Statement | ShardedStatement
    statements: tuple[Statement, ...]  # of each shard
    layouts: Sequence[Layout]  # of each shard
    caps: Sequence[Cap | None] | None  # the commitment of each to its preprocessed columns; None: not made yet
    security: Security

    def check(self, index: int, proof: Proof) -> BatchProof:
        """Verify a shard that comes after its header.

        Args:
            index: The index of the shard.
            proof: The shard.

        Returns:
            The decoded payload.

        Raises:
            VerificationError: if the shard does not hold by itself, or its header is another one.
        """
        batch = self.opened(index, proof)
        self.check_decoded(index, proof, batch)
        return batch

    def opened(self, index: int, proof: Proof) -> BatchProof:
        """Compare the header of a shard that comes after it, and decode the payload, without further verification.

        Raises:
            VerificationError: if the header is another one, or the payload is malformed.
        """
        with blamed_shard(self.headers, index):
            check_header(proof.without_payload(), self.headers.proofs[index].without_payload())
        return self.decoded(index, proof)

    def shard_check(self, index: int) -> "ShardCheck":
        """Return the rest of the verification of a shard, for another process."""
        assert self.caps is not None, "the commitments to the preprocessed columns are made with the headers"
        return ShardCheck(self.layouts[index], self.headers.joint, index, self.caps[index])

    def decoded(self, index: int, proof: Proof) -> BatchProof:
        """Decode the payload of a shard; raises VerificationError for a malformed one."""
        with blamed_shard(self.headers, index):
            return decode(proof.payload, self.layouts[index])

    def check_decoded(self, index: int, proof: Proof, batch: BatchProof) -> None:
        """Raise VerificationError if a shard, whose payload is decoded, does not hold by itself."""
        with blamed_shard(self.headers, index):
            cap = None if self.caps is None else self.caps[index]
            _check_shard(proof, self.headers.joint, index, self.statements[index], self.layouts[index], batch, cap)

    def verdict(self, shards: "Sequence[InCommon]") -> Verdict:
        """Return the verdict on a proof whose shards hold each by itself.

        Args:
            shards: The decoded payloads of all shards, or their values that `check_in_common` takes.

        Raises:
            VerificationError: if the shards do not hold together.
        """
        check_in_common(self.layouts, shards)
        proofs, heads = self.headers.proofs, self.headers.heads
        values = [*chain.from_iterable(own.public_values[heads:] for own in proofs)]
        log_heights = [*chain.from_iterable(own.log_heights[heads:] for own in proofs)]
        if heads > self.statement.heads:  # the tables of a statement of one shard: in their order there
            numbers = chain.from_iterable(own.public_values[0] for own in proofs)
            order = [place for _, place in sorted((table, place) for place, table in enumerate(numbers))]
            values, log_heights = [values[i] for i in order], [log_heights[i] for i in order]
        claim = self.statements[0].claim_of(values)
        return Verdict(self.security, tuple(values), tuple(log_heights), len(proofs), claim)


@dataclass(frozen=True, eq=False)
class ShardCheck:
    """The verification of a shard whose header is known, which travels to another process (`prover.checking.Check`)."""

    layout: Layout
    joint: Joint | None
    index: int
    preprocessed: Cap | None

    def load(self) -> None:
        """Do nothing: no program is needed."""

    def __call__(self, proof: AnyProof, caps: object) -> None:
        """Raise VerificationError if the payload of a shard does not hold."""
        assert isinstance(proof, Proof)
        batch = decode(proof.payload, self.layout)
        check_made_shard(self.layout, proof, batch, self.joint, self.index, self.preprocessed)


def expect(
    headers: Proof | ShardedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Expected:
    """Verify the header of a proof, and prepare the verification of its shards.

    The preprocessed commitments are made here, before the payloads are there.

    Args:
        headers: The proof, with or without payloads.
        statement: As in `verify`.
        security: As in `verify`.
        proximity: As in `verify`.

    Raises:
        VerificationError: if no payloads make this a proof that convinces.
        ValueError: if the statement is malformed.
    """
    expected, parameters = expect_header(headers, statement, security, proximity), headers.parameters
    caps = [own.preprocessed_cap(parameters) for own in expected.statements]
    for layout, cap in zip(expected.layouts, caps, strict=True):
        binding_digest(layout, headers.label, cap)
        prepare(layout)
    return replace(expected, caps=caps)


def expect_header(
    proof: Proof | ShardedProof,
    statement: Statement | ShardedStatement,
    security: float,
    proximity: str,
    caps: Sequence[Cap | None] | None = None,
) -> Expected:
    """Verify the header of a proof, and return the verification of its payloads.

    Arguments and errors are as for `verify_shards`; no commitment is made.
    """
    check_level(proof, security)
    statements = statements_of(proof, statement)
    layouts = _layouts(proof, statements)
    _check_counts(layouts)
    return Expected(proof, statement, statements, layouts, caps, _proven(layouts, security, proximity))


def verify_header(
    proof: AnyProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Security:
    """Verify the header of a proof, and return its provable security if the payloads hold.

    Of a compressed proof these are the headers of all its proofs, and the lowest security. Arguments and errors are as
    for `verify`.
    """
    if isinstance(proof, CompressedProof):
        from graphprover.recursion.compressed import verify_headers  # here, because other proofs do not need it

        return verify_headers(proof, statement, security, proximity)
    return expect_header(proof, statement, security, proximity).security


def verify_shard(
    shard: Shard, shards: ShardedStatement, *, preprocessed: Cap | None = None
) -> tuple[Layout, BatchProof]:
    """Check one shard of a proof by itself, without a level; `check_in_common` checks the rest.

    Args:
        shard: The shard.
        shards: The statement in the same shards.
        preprocessed: The commitment of the shard to its preprocessed columns, if the caller has made it.

    Returns:
        The layout and the decoded payload, which `check_in_common` takes.

    Raises:
        VerificationError: if the shard does not hold; it names the shard.
    """
    with blamed_shard(shard, shard.index):
        if len(shard.joint.digests) != len(shards.statements):
            raise VerificationError(
                "shards.number", f"it is one of {len(shard.joint.digests)}, not of {len(shards.statements)}"
            )
        statement = shards.statements[shard.index]
        layout = layout_of_proof(shard.proof, statement, shard=True)
        batch = decode(shard.proof.payload, layout)
        _check_shard(shard.proof, shard.joint, shard.index, statement, layout, batch, preprocessed)
    return layout, batch


def check_header(header: Proof, committed: Proof) -> None:
    """Raise VerificationError unless the header of a shard is the committed one; both are without payload."""
    if header != committed:
        raise VerificationError("shards.header", "its header is not what it has committed to")


class InCommon(Protocol):
    """The values of a shard that all shards are checked together by: a `BatchProof` has them."""

    @property
    def lookup_nonce(self) -> int | None:
        """The nonce before the lookup challenges; None without lookups."""

    @property
    def total(self) -> Ext:
        """The sum of all lookup terminals."""


def check_in_common(layouts: Sequence[Layout], shards: Sequence[InCommon]) -> None:
    """Check that shards which hold each by itself hold together.

    They must have the same parameters and the same nonce before the lookup challenges, keep the bound on counts, and
    balance the buses. A single shard passes: it draws its own challenges, and its own check includes the balance.

    Args:
        layouts: The layout of each shard.
        shards: The decoded payload of each shard, or its values.

    Raises:
        VerificationError: if they do not hold together.
    """
    if len(layouts) == 1:
        return
    if any(layout.parameters != layouts[0].parameters for layout in layouts):
        raise VerificationError("shards.parameters", "the shards have different parameters")
    _check_counts(layouts)
    if len({shard.lookup_nonce for shard in shards}) > 1:
        raise VerificationError("shards.nonce", "the shards have different nonces before the lookup challenges")
    if ext_sum(shard.total for shard in shards) != ZERO:
        raise VerificationError(
            "lookups.balance", "the buses do not balance: the lookup terminals of all shards do not sum to zero"
        )


def _check_counts(layouts: Sequence[Layout]) -> None:
    """Raise VerificationError if the tables of all shards together could send p or more tuples."""
    airs = list(chain.from_iterable(layout.tables for layout in layouts))
    heights = [1 << log_height for layout in layouts for log_height in layout.log_heights]
    try:
        check_multiplicity_bound(airs, heights)
    except ValueError as error:
        raise VerificationError("layout.counts", str(error)) from None


def layouts_of_proof(proof: Proof | ShardedProof, statement: Statement | ShardedStatement) -> list[Layout]:
    """Return the layout of each shard of a proof, as `layout_of_proof`; an error names the shard."""
    return _layouts(proof, statements_of(proof, statement))


def _layouts(proof: Proof | ShardedProof, statements: Sequence[Statement]) -> list[Layout]:
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


def _check_shard(
    proof: Proof,
    joint: Joint | None,
    index: int,
    statement: Statement,
    layout: Layout,
    batch: BatchProof,
    preprocessed: Cap | None,
) -> None:
    """Raise VerificationError if a shard does not hold by itself; ``joint``: None of a proof of one shard."""
    parameters = layout.parameters
    if preprocessed is None:
        preprocessed = statement.preprocessed_cap(parameters)
    check_made_shard(layout, proof, batch, joint, index, preprocessed)


def check_made_shard(
    layout: Layout, proof: Proof, batch: BatchProof, joint: Joint | None, index: int, preprocessed: Cap | None
) -> None:
    """Raise VerificationError if a shard with these preprocessed columns does not prove the tables of a layout.

    Args:
        layout: The layout.
        proof: The shard.
        batch: Its decoded payload.
        joint: The commitments of all shards; None of a proof of one shard.
        index: The index of the shard.
        preprocessed: The commitment to the preprocessed columns.
    """
    binding = binding_digest(layout, proof.label, preprocessed)
    if joint is None:
        check_batch(layout, batch, proof.public_values, preprocessed, binding)
    else:
        check_shard(layout, batch, proof.public_values, preprocessed, binding, joint, index)


@contextmanager
def blamed_shard(proof: Proof | ShardedProof | Shard, index: int) -> Iterator[None]:
    """Name the shard whose verification fails, unless it is the only one."""
    try:
        yield
    except VerificationError as error:
        raise shard_error(index, error) if proof.joint else error from None


def _proven(layouts: Sequence[Layout], security: float, proximity: str) -> Security:
    """Return the security of a proof whose shards have these layouts; raises VerificationError if it is too low."""
    proven = security_of(*layouts)
    regime = proven.by(proximity)
    if not regime.bits >= security:  # so that a NaN asks for more than there is
        raise VerificationError(
            "security.level",
            f"the proof has {regime.bits:.1f} provable bits by {regime.name}; {security:g} were asked for",
        )
    return proven


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
