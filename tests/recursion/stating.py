"""Statements that messages have digests, for tests: their verifier knows the messages and the digests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.evaluate import evaluate
from graphprover.recursion.tables.blake3 import Blake3, CallUse
from graphprover.recursion.tables.buses import MACHINE, MessageTag, message
from graphprover.recursion.tables.fixed import FIELDS, Fixed
from graphprover.statement.statement import Statement, Table
from tests.recursion.machines import HEAD_PLACE, NO_DIGEST, height
from tests.recursion.naive import Call, blake3_trace, fixed_trace

BLAKE3_TABLE = Blake3()
FIXED = Fixed(np.zeros((FIELDS, 1), dtype=np.uint64), HEAD_PLACE)


@dataclass(frozen=True)
class Claim:
    """A statement about one call."""

    call: Call
    digest: Sequence[int]
    chained: bool = False  # the block before is the claim before


class Stated(Air):
    """The claims as preprocessed columns; the prover says which call each of them is."""

    preprocessed = ("node", "part", "ends", "chained", "parameters[4]", "block[16]", "digest[8]")
    columns = ("number",)

    def __init__(self, claims: Sequence[Claim], rows: int) -> None:
        self._trace = np.zeros((Columns(self.preprocessed).width, rows), dtype=np.uint64)
        t = Columns(self.preprocessed).view(self._trace)
        for i, claim in enumerate(claims):
            use = claim.call.use
            t.node[i], t.part[i] = CallUse.NODE in use, CallUse.PART in use
            t.ends[i], t.chained[i] = CallUse.PART in use and CallUse.CHAIN not in use, claim.chained
            t.parameters[:, i], t.block[:, i], t.digest[:, i] = claim.call.parameters, claim.call.block, claim.digest

    def preprocessed_trace(self) -> np.ndarray:
        return self._trace

    def define(self, t: TableBuilder) -> None:
        t.transition(t.next.chained * (t.next.number - t.number - 1), "a block follows the one before")
        t.receive(MACHINE, message(MessageTag.NODE, *t.block, *t.digest), t.node, weight=1)
        part = message(MessageTag.PART, t.number, t.chained, *t.parameters, *t.block[:8])
        t.receive(MACHINE, part, t.part, weight=1)
        t.receive(MACHINE, message(MessageTag.REST, t.number, *t.block[8:]), t.part, weight=1)
        t.receive(MACHINE, message(MessageTag.DIGEST, t.number, *t.digest), t.ends, weight=1)


class Agreeing(Air):
    """Receives whatever a trace of `blake3` sends to users, so that a finding is about the trace alone."""

    preprocessed = ("count", "element[25]")
    columns = ("nothing",)
    unread = ("nothing",)

    def __init__(self, main: np.ndarray) -> None:
        description = BLAKE3_TABLE.describe()
        said = [i.tuples[0] for i in description.globals if i.bus == MACHINE.name]
        roots = [node for found in said for node in (found.multiplicity, *found.fields)]
        parts = [
            np.stack(values).reshape(len(said), 26, -1) for _, values in evaluate(description, main, None, (), roots)
        ]
        self._trace = np.concatenate([part[i] for part in parts for i in range(len(said))], axis=1)
        rows = height(self._trace.shape[1], 1)
        self._trace = np.pad(self._trace, ((0, 0), (0, rows - self._trace.shape[1])))

    def preprocessed_trace(self) -> np.ndarray:
        return self._trace

    def define(self, t: TableBuilder) -> None:
        t.receive(MACHINE, t.element, t.count, weight=2**20)


def agreed(main: np.ndarray) -> Statement:
    """Return the statement that a trace of `blake3` is right, whatever it says."""
    users = Agreeing(main)
    nothing = np.zeros((1, users.preprocessed_trace().shape[1]), dtype=np.uint64)
    return Statement(
        [Table(BLAKE3_TABLE, [], main), Table(FIXED, NO_DIGEST, fixed_trace(main)), Table(users, [], nothing)]
    )


def claims_of(calls: Sequence[Call]) -> list[Claim]:
    """Return the true claims about calls."""
    chained = [False, *(CallUse.CHAIN in call.use for call in calls[:-1])]
    return [Claim(call, call.digest, after) for call, after in zip(calls, chained, strict=True)]


def statement(
    claims: Sequence[Claim],
    calls: Sequence[Call] = (),
    *,
    main: np.ndarray | None = None,
    numbers: Sequence[int] | None = None,
) -> Statement:
    """Return a statement of claims, with the traces of calls, by default the claimed ones, or with the trace ``main``.

    The claims are about the calls with these numbers, by default in order.
    """
    calls = calls or [claim.call for claim in claims]
    if main is None:
        main = blake3_trace(calls, height(max(1, len(calls)), 16))
    stated = Stated(claims, height(len(claims), 1))
    number = np.arange(stated.preprocessed_trace().shape[1], dtype=np.uint64)
    number[: len(numbers or ())] = numbers or ()
    tables = [
        Table(BLAKE3_TABLE, [], main),
        Table(FIXED, NO_DIGEST, fixed_trace(main)),
        Table(stated, [], number[None]),
    ]
    return Statement(tables)
