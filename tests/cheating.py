"""Provers that cheat: the real graph on a device that lies, so that the transcript is consistent with every lie.

A damaged proof usually fails because its challenges change. Only a prover that follows the protocol except in one
point shows whether each check is effective.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed

from graphprover.device import Device, Tree
from graphprover.device.interface import CPU_BATCH
from graphprover.field import Ext, P, ext_add, ext_inv, ext_mul, ext_sub
from graphprover.graphs import proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.builder import Graph
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.rounds import opening
from graphprover.graphs.task_keys import ShardNumber
from graphprover.kernels.operands import Operands
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.constraints import selectors_at
from graphprover.protocol.joint import Joint
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.preprocessed import preprocessed_cap
from graphprover.protocol.proof import TableOpenings, encode, exts_to_words, words_to_exts
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from tests.naive_constraints import Evaluations, fold_constraints, join_coordinates
from tests.naive_device import NaiveDevice

LOG_BLOWUP = 1  # of all forged proofs


def forge(
    statement: Statement,
    parameters: Parameters,
    device: Device | None = None,
    preprocessed: dict[int, np.ndarray] | None = None,
) -> Proof:
    """Return a proof of the statement from its traces, true or false, by a device that may lie.

    ``preprocessed``: columns to prove with instead of the statement's, by table.
    """
    traces = {i: np.asarray(table.main, dtype=np.uint64) for i, table in enumerate(statement.tables)}
    log_heights = [trace.shape[1].bit_length() - 1 for trace in traces.values()]
    layout = make_layout(statement.descriptions, log_heights, parameters)
    fixed = {i: table.preprocessed for i, table in enumerate(statement.tables) if table.preprocessed is not None}
    values = tuple(tuple(table.public_values or ()) for table in statement.tables)
    graph = Graph(device or NaiveDevice(), "test", batches(layout, CPU_BATCH))
    task = proof_graph.build(graph, layout, statement.label, traces, fixed | (preprocessed or {}), values)
    payload = encode(dask.compute(task, scheduler="synchronous")[0].proof)
    return Proof(statement.label, parameters, layout.log_heights, values, payload)


def forge_shards(
    shards: ShardedStatement,
    parameters: Parameters,
    devices: Mapping[int, Device] | None = None,
    numbers: Sequence[ShardNumber] | None = None,
    joint: Callable[[Joint], Joint] = lambda honest: honest,
    nonces: Mapping[int, int] | None = None,
) -> ShardedProof:
    """Return a proof of a sharded statement from its traces, true or false.

    Args:
        devices: devices that may lie, by shard.
        numbers: index that each shard claims.
        joint: maps the true joint commitment to the one that challenges are drawn from.
        nonces: nonces of shards that use others.
    """
    count, committed, layouts, given = len(shards.statements), [], [], []
    numbers = numbers or [ShardNumber(index, count) for index in range(count)]
    for statement in shards.statements:
        traces = {i: np.asarray(table.main, dtype=np.uint64) for i, table in enumerate(statement.tables)}
        log_heights = [trace.shape[1].bit_length() - 1 for trace in traces.values()]
        layouts.append(make_layout(statement.descriptions, log_heights, parameters, shard=True))
        fixed = {i: table.preprocessed for i, table in enumerate(statement.tables) if table.preprocessed is not None}
        values = tuple(tuple(table.public_values or ()) for table in statement.tables)
        given.append((layouts[-1], statement.label, traces, fixed, values))

    def graph(index: int) -> Graph:
        device = (devices or {}).get(index) or NaiveDevice()
        return Graph(device, "test", batches(layouts[index], CPU_BATCH), numbers[index])

    def compute(task: Delayed) -> Any:
        return dask.compute(task, scheduler="synchronous")[0]

    for index in range(count):
        committed.append(compute(proof_graph.committing(graph(index), *given[index], keep=Keep.NOTHING)))
    drawn_from = joint(Joint(tuple(shard.digest for shard in committed)))
    nonce = NaiveDevice().grind(drawn_from.grinding_seed(parameters.hash), parameters.lookup_pow_bits, parameters.hash)
    proofs = []
    for index in range(count):
        own = (nonces or {}).get(index, nonce)
        proven = compute(proof_graph.finishing(graph(index), *given[index], joint=drawn_from, nonce=own))
        _, label, _, _, values = given[index]
        proofs.append(Proof(label, parameters, layouts[index].log_heights, values, encode(proven.proof)))
    return ShardedProof(drawn_from, tuple(proofs))


class OtherTable(NaiveDevice):
    """A prover that sends the commitment to the statement's preprocessed columns, and uses other columns."""

    def __init__(self, statement: Statement, parameters: Parameters, traces: Sequence[np.ndarray]) -> None:
        self.shown = statement.preprocessed_cap(parameters)
        self.own = preprocessed_cap(traces, parameters.log_blowup, parameters.cap_height, parameters.hash)

    def cap(self, tree: Tree) -> tuple[bytes, ...]:
        cap = super().cap(tree)
        assert self.shown is not None
        return self.shown if cap == self.own else cap


class OtherConstraints(NaiveDevice):
    """A prover that replaces one constraint of one table by zero."""

    def __init__(self, name: str, constraint: int) -> None:
        self.name, self.constraint = name, constraint

    def quotient_of(self, table: Operands, *challenges: Any) -> np.ndarray:
        air = table.air
        if air.name == self.name:
            nodes = (*air.nodes, (0, 0, 0))  # the constant 0
            constraints = list(air.constraints)
            constraints[self.constraint] = len(air.nodes)
            table = replace(table, air=replace(air, nodes=nodes, constraints=tuple(constraints)))
        return super().quotient_of(table, *challenges)


class OtherLookups(NaiveDevice):
    """A prover that adds to one table's terminal, and compensates in one place of its lookup columns."""

    def __init__(self, name: str, amount: Ext, place: str) -> None:
        self.name, self.amount, self.changed = name, amount, place

    def lookups(self, table: Operands, tau: Ext) -> tuple[np.ndarray, Ext]:
        columns, terminal = super().lookups(table, tau)
        if table.air.name != self.name:
            return columns, terminal
        terminal = ext_add(terminal, self.amount)
        rows = {"accumulator": slice(0, None), "last step": slice(-1, None), "nowhere": slice(0, 0)}.get(self.changed)
        for coordinate, word in enumerate(self.amount):
            if rows is not None:
                columns[coordinate, rows] = [(int(cell) + word) % P for cell in columns[coordinate, rows]]
            else:  # "fraction": fraction of the first lookup on the last row
                columns[3 + coordinate, -1] = (int(columns[3 + coordinate, -1]) + word) % P
        return columns, terminal


class OnWholeDomain(NaiveDevice):
    """A prover that computes DEEP quotients on all of 7·K, so that wrong openings give codewords of high degree."""

    def inverse_denominators(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        return super().inverse_denominators([(log_rows + LOG_BLOWUP, point) for log_rows, point in domains])

    def sum_vectors(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        self.codeword = super().sum_vectors(vectors)
        return self.codeword

    def extend_chunks(
        self, quotients: Sequence[np.ndarray], log_chunks: Sequence[int], log_blowup: int
    ) -> list[np.ndarray]:
        if quotients[0] is getattr(self, "codeword", None):
            return [*quotients]
        return super().extend_chunks(quotients, log_chunks, log_blowup)


class OtherOpenings(OnWholeDomain):
    """A prover that opens the quotient of its only table at values that satisfy the constraints out of domain."""

    def quotient_of(self, table: Operands, tau: Ext, alpha: Ext, log_blowup: int) -> np.ndarray:
        self.table, self.tau, self.alpha = table, tau, alpha
        return super().quotient_of(table, tau, alpha, log_blowup)

    def weights(self, log_height: int, point: Ext) -> np.ndarray:
        self.points = [*getattr(self, "points", []), (log_height, point)]
        return super().weights(log_height, point)

    def lie(self, honest: TableOpenings) -> TableOpenings:
        table = self.table
        selectors = selectors_at(*self.points[0])
        at = Evaluations(
            words_to_exts(honest.main),
            words_to_exts(honest.main_next or bytes(len(honest.main))),
            words_to_exts(honest.preprocessed or b""),
            words_to_exts(honest.preprocessed_next or b""),
            join_coordinates(words_to_exts(honest.permutation)),
            join_coordinates(words_to_exts(honest.permutation_next)),
            table.public_values,
            table.terminal,
        )
        folded = fold_constraints(table.air, at, selectors, table.prefixes, self.tau, self.alpha)
        (chunk,) = map(words_to_exts, honest.quotient)
        missing = ext_sub(ext_mul(folded, ext_inv(selectors.vanishing)), join_coordinates(chunk)[0])
        return replace(honest, quotient=(exts_to_words([ext_add(chunk[0], missing), *chunk[1:]]),))


def lying_openings(device: OtherOpenings, *inputs: Any, **fixed: Any) -> dict[int, TableOpenings]:
    """Return a replacement for ``graphs.rounds.opening.openings``."""
    return {table: device.lie(opened) for table, opened in HONEST_OPENINGS(device, *inputs, **fixed).items()}


HONEST_OPENINGS = opening.openings


class ZeroCodewords(NaiveDevice):
    """A prover that folds zeros, which have low degree, instead of the openings' codewords."""

    def sum_vectors(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        return np.zeros_like(vectors[0])


class NothingJoins(NaiveDevice):
    """A prover that omits the codewords of shorter tables from the folds."""

    def fold(self, codeword: np.ndarray, log_arity: int, beta: Ext, joining: np.ndarray | None) -> np.ndarray:
        return super().fold(codeword, log_arity, beta, None)


class NotLowDegree(OnWholeDomain):
    """A prover that commits to one trace column of high degree at some height: every other word is one more."""

    def __init__(self, height: int) -> None:
        self.height = height

    def extended(self, columns: np.ndarray, log_blowup: int) -> np.ndarray:
        extended = super().extended(columns, log_blowup)
        if columns.shape[1] == self.height:
            extended[0, ::2] = [(int(word) + 1) % P for word in extended[0, ::2]]
        return extended


class NoWork(NaiveDevice):
    """A prover without proof of work at one of its sites, counted from 0."""

    def __init__(self, site: int) -> None:
        self.left = site

    def grind(self, seed: bytes, bits: int, hash: str) -> int:
        self.left -= 1
        nonce = super().grind(seed, bits, hash)
        return nonce + 1 if self.left == -1 else nonce  # the successor of the least passing nonce most likely fails
