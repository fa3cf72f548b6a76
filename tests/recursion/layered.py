"""Small proofs, and the statements that the verifier's program accepts them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from graphprover.protocol.layout import Layout
from graphprover.protocol.parameters import BLAKE3, Parameters
from graphprover.protocol.proof import BatchProof, Cap, decode
from graphprover.protocol.verification import Challenges, replay
from graphprover.recursion.head.head import Head, Start
from graphprover.recursion.head.heads import Child as Stated
from graphprover.recursion.head.heads import heads_of
from graphprover.recursion.layer import layer_statement
from graphprover.recursion.openings import Openings, openings_of
from graphprover.recursion.witness.run_data import Opened, RunData, run_data
from graphprover.statement.statement import Statement, Table, with_traces
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
    "rate 1/64": ("local lookup", {"log_blowup": 6}),
    "a longer final polynomial": ("preprocessed bytes", {"log_final_poly_len": 4}),
    "all rows": ("local lookup", {"num_queries": 250}),  # all of its 32 rows are opened
}


@dataclass(frozen=True)
class Child:
    """A proof that a layer is about, with everything that its verifier knows."""

    layout: Layout
    proof: BatchProof
    public_values: tuple[tuple[int, ...], ...]
    preprocessed: Cap | None
    binding: bytes

    def statement(self) -> Statement:
        """Return the statement that the proof is accepted."""
        return layer_statement([(self.stated, self.proof)])

    @property
    def stated(self) -> Stated:
        """The inputs of a head."""
        return Stated(self.layout, self.public_values, self.preprocessed, self.binding)

    @property
    def head(self) -> Head:
        """The head of a layer about this proof alone."""
        return heads_of([self.stated]).heads[0]

    def challenges(self) -> Challenges:
        """Return the challenges of the transcript."""
        return replay(self.layout, self.proof, self.public_values, self.preprocessed, self.binding)

    def opened(self, start: Start) -> Opened:
        """Return the proof with its openings, for a head at this place."""
        challenges = self.challenges()
        found = openings_of(self.layout, self.proof, challenges, self.preprocessed, start.tree)
        return Opened(self.stated, self.proof, challenges, found)

    def data(self, challenges: Challenges | None = None, found: Openings | None = None) -> RunData:
        """Return the data of a run about this proof alone, which may be with challenges and openings of another."""
        challenges = challenges or self.challenges()
        found = found or openings_of(self.layout, self.proof, challenges, self.preprocessed)
        return run_data(heads_of([self.stated]), [Opened(self.stated, self.proof, challenges, found)])


@cache
def child(name: str) -> Child:
    """Return the proof of a case."""
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
def layer(name: str) -> Statement:
    """Return the statement about the proof of a case, with its traces as arrays."""
    return with_traces(child(name).statement())
