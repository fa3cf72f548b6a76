"""Small proofs, and the statements that the verifier's program accepts them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol import verification
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import Joint, shard_binding
from graphprover.protocol.layout import Layout
from graphprover.protocol.parameters import BLAKE3, Parameters
from graphprover.protocol.proof import BatchProof, Cap, decode
from graphprover.protocol.verification import Challenges, replay
from graphprover.proving.prove import prove
from graphprover.recursion.head.head import ProofHead, Start
from graphprover.recursion.head.heads import Child as Stated
from graphprover.recursion.head.heads import heads_of
from graphprover.recursion.head.messages import ShardTerms, shard_terms
from graphprover.recursion.layer import layer_statement
from graphprover.recursion.openings import Openings, openings_of
from graphprover.recursion.witness.run_data import OpenedProof, RunData, run_data
from graphprover.statement.shards import shards_of
from graphprover.statement.statement import Statement, Table, binding_digest, with_traces
from graphprover.verifier.headers import layout_of_proof
from tests.interop.case import Case
from tests.interop.tables import statements

ROWS = 16  # least rows of a table: a final polynomial has 8 coefficients
COMMON = {"cap_height": 0, "log_final_poly_len": 3, "max_log_arity": 3}
CASES: Mapping[str, tuple[str, Mapping[str, int]]] = {  # statement of tests/interop/tables.py, and its parameters
    "two heights": ("preprocessed bytes", {"log_blowup": 3}),
    "one height": ("local lookup", {"num_queries": 5}),
    "work before each challenge": ("mixed", {"log_blowup": 2, "num_queries": 9}),
    "work before the first query alone": (
        "mixed",
        {"num_queries": 6, "lookup_pow_bits": 0, "ood_pow_bits": 0, "batch_pow_bits": 0, "commit_pow_bits": 0},
    ),
    "no work": ("preprocessed bytes", {"num_queries": 12}),
    "folds by 4": ("mixed", {"log_blowup": 3, "max_log_arity": 2, "num_queries": 3}),
    "rate 1/256": ("local lookup", {"log_blowup": 8}),
    "eight messages a column": ("eight messages a column", {"log_blowup": 8}),
    "a longer final polynomial": ("preprocessed bytes", {"log_final_poly_len": 4}),
    "all rows": ("local lookup", {"num_queries": 250}),  # all of its 32 rows are opened
}
# Statements of tests/interop/tables.py, whose tables that are not too short are in these shards; the child is the last.
SHARDS: Mapping[str, tuple[Sequence[str], Mapping[str, int], Sequence[Sequence[int]]]] = {
    "a shard": (["mixed"], {"num_queries": 7}, ((0, 2, 5), (1, 3, 4, 6))),
    "a shard of three without work": (["preprocessed bytes"] * 2, {"log_blowup": 3}, ((1,), (2, 3), (0,))),
    "a wide shard": (["wide, BLAKE3", "mixed"], {"num_queries": 3}, ((1, 2, 3), (0, 4, 5, 6, 7))),
    "a shard of one height": (["local lookup"] * 2, {"num_queries": 5}, ((0,), (1,))),
    "a shard with a query": (["preprocessed bytes", "wide, BLAKE3"], {"num_queries": 1}, ((0, 1), (2,))),
}


@dataclass(frozen=True)
class Child:
    """A proof that a layer is about, with everything that its verifier knows."""

    layout: Layout
    proof: BatchProof
    public_values: tuple[tuple[int, ...], ...]
    preprocessed: Cap | None
    binding: bytes
    shard: ShardTerms | None = None

    def statement(self, merged: bool = False) -> Statement:
        """Return the statement that the proof is accepted."""
        return layer_statement([(self.stated, self.proof)], merged)

    @property
    def stated(self) -> Stated:
        """The inputs of a head."""
        return Stated(self.layout, self.public_values, self.preprocessed, self.binding, self.shard)

    @property
    def head(self) -> ProofHead:
        """The head of a layer about this proof alone."""
        return heads_of([self.stated]).heads[0]

    def challenges(self) -> Challenges:
        """Return the challenges of the transcript."""
        joint = None if self.shard is None else self.shard.joint
        return replay(self.layout, self.proof, self.public_values, self.preprocessed, self.binding, joint)

    def check(self) -> None:
        """Raise VerificationError unless the verifier accepts the proof; of a shard, with the values in its head."""
        joint = None if self.shard is None else self.shard.joint
        given = self.layout, self.proof, self.public_values, self.preprocessed, self.binding
        verification.check_batch(*given, joint)
        if self.shard is not None and self.proof.total != self.shard.total:
            raise VerificationError("lookups.balance", "another sum of terminals than in the head")

    def opened(self, start: Start) -> OpenedProof:
        """Return the proof with its openings, for a head at this place."""
        challenges = self.challenges()
        found = openings_of(self.layout, self.proof, challenges, self.preprocessed, start.tree)
        return OpenedProof(self.stated, self.proof, challenges, found)

    def data(self, challenges: Challenges | None = None, found: Openings | None = None) -> RunData:
        """Return the data of a run about this proof alone, which may be with challenges and openings of another."""
        challenges = challenges or self.challenges()
        found = found or openings_of(self.layout, self.proof, challenges, self.preprocessed)
        return run_data(heads_of([self.stated]), [OpenedProof(self.stated, self.proof, challenges, found)])


@cache
def child(name: str) -> Child:
    """Return the proof of a case."""
    if name in SHARDS:
        return shards(name)[-1]
    of, changes = CASES[name]
    parameters, tables = statements()[of]
    return child_of(tables, replace(parameters, **{**COMMON, **changes}))


def child_of(tables: Sequence[Table], parameters: Parameters) -> Child:
    """Return a proof by BLAKE3 of the tables that are not too short."""
    kept = [table for table in tables if table.main.shape[1] >= ROWS]
    case = Case(replace(parameters, hash=BLAKE3), Statement(kept))
    values = tuple(tuple(table.public_values or ()) for table in kept)
    cap = case.statement.preprocessed_cap(case.parameters)
    return Child(case.layout, decode(case.prove(), case.layout), values, cap, case.binding)


@cache
def shards(name: str) -> list[Child]:
    """Return all shards of a case."""
    names, changes, shares = SHARDS[name]
    parameters = replace(statements()[names[-1]][0], hash=BLAKE3, **{**COMMON, **changes})
    tables = [table for of in names for table in statements()[of][1] if table.main.shape[1] >= ROWS]
    statement = shards_of(Statement(tables), shares)
    proof = prove(Statement(tables), "sync", parameters=parameters, device="cpu", shards=shares)
    assert isinstance(proof, ShardedProof)
    found = []
    for index, (own, of) in enumerate(zip(proof.proofs, statement.statements, strict=True)):
        layout = layout_of_proof(own, of, shard=True)
        found.append(shard_child(proof.joint, index, own, layout, of.preprocessed_cap(parameters)))
    return found


def shard_child(joint: Joint, index: int, proof: Proof, layout: Layout, cap: Cap | None) -> Child:
    """Return a shard of a proof."""
    batch, hash = decode(proof.payload, layout), layout.parameters.hash
    assert batch.lookup_nonce is not None
    part = joint.part(index, hash, batch.lookup_nonce)
    binding = shard_binding(hash, binding_digest(layout, proof.label, cap), len(joint.digests), index)
    return Child(layout, batch, proof.public_values, cap, binding, shard_terms(part, layout.parameters, batch.total))


@cache
def layer(name: str) -> Statement:
    """Return the statement about the proof of a case, with its traces as arrays."""
    return with_traces(child(name).statement())
