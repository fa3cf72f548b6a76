"""The verifier of a proof for the tables of a layout: Plonky3's ``verify_batch`` in Python and NumPy.

Specification: docs/protocol.md, sections 8 (constraints), 9 (codewords), 10 (FRI), 13 (checks) and 16 (shards).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphprover.field import (
    EXTENSION_DEGREE,
    GENERATOR,
    ZERO,
    Ext,
    array_add,
    array_reverse_bits,
    array_sub,
    ext_mul,
    ext_pow,
    ext_scale,
    inv,
    root_of_unity,
)
from graphprover.protocol import arrays, transcript
from graphprover.protocol.circuit import circuit
from graphprover.protocol.constraints import fold_constraints, join_quotients, selectors_of, words_to_array
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import (
    JointPart,
    absorb_separated,
    digest_of,
    draw_lookup_challenges,
    draw_separating_point,
    resume,
)
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout, Matrix, Point
from graphprover.protocol.lookup import lookup_prefixes
from graphprover.protocol.merkle import Opening, verify_openings
from graphprover.protocol.proof import BatchProof, Cap, opened_values, separated_values

Rows = Mapping[int, np.ndarray]  # queried rows of all matrices of a height, uint64 (queries, columns), by log2 of it


@dataclass(frozen=True)
class Challenges:
    """All challenges of a transcript."""

    separating: Ext  # the separating point of a shard; zero without shards
    prefixes: list[list[Ext]]  # [table][lookup]: constant term of the lookup's denominators
    sigma: Ext  # the part of these terms that all lookups share
    tau: Ext  # combines the elements of a tuple
    alpha: Ext  # folds the constraints
    zeta: Ext  # the out-of-domain point
    gamma: Ext  # batches the openings
    betas: list[Ext]  # one for each fold
    queries: np.ndarray  # rows of the tallest codeword, int64


def check_batch(
    layout: Layout,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
    joint: JointPart | None = None,
) -> None:
    """Verify a proof of the tables of ``layout`` as Plonky3's ``verify_batch``, or a shard of one.

    The caller checks that the totals of all shards sum to zero.

    Args:
        layout: shape of the proof.
        proof: the proof.
        public_values: public values of each table.
        preprocessed: the verifier's own commitment to the preprocessed columns, or None without any.
        binding: initial state of the challenger (docs/protocol.md, section 11).
        joint: for a shard, the part of its transcript that depends on all shards.

    Raises:
        VerificationError: the proof does not prove the tables.
    """
    challenges = replay(layout, proof, public_values, preprocessed, binding, joint)
    _check_constraints(layout, proof, public_values, challenges)
    if joint is None and proof.total != ZERO:
        raise VerificationError("lookups.balance", "the buses do not balance: the lookup terminals do not sum to zero")
    _check_words(layout, proof, preprocessed, challenges)


def prepare(layout: Layout) -> None:
    """Compute and cache the data for verification that depends only on the layout."""
    circuit(layout.tables)
    batches_of(layout)


def _check_words(layout: Layout, proof: BatchProof, preprocessed: Cap | None, challenges: Challenges) -> None:
    """Check that the opened values are values of the committed polynomials, which have low degree."""
    openings, folded = openings_of_queries(layout, proof, preprocessed, challenges)
    verify_openings(layout.parameters.hash, challenges.queries, layout.log_max_rows, openings)
    _check_degree(layout, proof, challenges, folded)


def openings_of_queries(
    layout: Layout, proof: BatchProof, preprocessed: Cap | None, challenges: Challenges
) -> tuple[list[Opening], np.ndarray]:
    """Return all openings at the queries, of which nothing is checked yet.

    Args:
        layout: shape of the proof.
        proof: the proof.
        preprocessed: commitment to the preprocessed columns, or None without any.
        challenges: the challenges of its transcript.

    Returns:
        The openings of all commitments, the rounds in their order and then the folds, and the final value of every
        query, uint64 (3, queries).

    Raises:
        VerificationError: no codeword follows from the rows.
    """
    rows = rows_by_height(layout, proof)
    openings = _openings_of_rows(layout, proof, rows, preprocessed)
    reduced = _reduce_openings(layout, proof, rows, challenges)
    folds, folded = _fold(layout, proof, challenges, reduced)
    return openings + folds, folded


def replay(
    layout: Layout,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
    joint: JointPart | None = None,
) -> Challenges:
    """Replay the transcript of a proof, or of a shard.

    Args:
        layout: shape of the proof.
        proof: the proof.
        public_values: public values of each table.
        preprocessed: the verifier's own commitment to the preprocessed columns, or None without any.
        binding: initial state of the challenger (docs/protocol.md, section 11).
        joint: for a shard, the part of its transcript that depends on all shards.

    Returns:
        All challenges.

    Raises:
        VerificationError: a proof of work is missing, or the shard is none of these.
    """
    state = transcript.begin(layout, binding)
    state = transcript.absorb_main(state, proof.main_cap, public_values, preprocessed)
    separating = sigma = tau = ZERO
    if joint:
        state, separating = draw_separating_point(state)
        state = absorb_separated(state, separated_values(proof.openings))
        if digest_of(state) != joint.digest:
            raise VerificationError(
                "shards.digest", "not what the lookup challenges were drawn from: damaged, or another statement"
            )
        sigma, tau = draw_lookup_challenges(joint.seed, layout.parameters, joint.nonce)
        state = resume(state, joint.seed, joint.nonce)
    elif proof.lookup_nonce is not None:
        state, sigma, tau = transcript.draw_lookup_challenges(state, layout, proof.lookup_nonce)
    prefixes = lookup_prefixes(layout.tables, sigma, tau)
    terminals = [terminal for terminal in proof.terminals if terminal is not None]
    state, alpha = transcript.draw_constraint_challenge(state, proof.permutation_cap, terminals)
    state = transcript.absorb_quotient(state, proof.quotient_cap)
    state, zeta = transcript.draw_zeta(state, layout, proof.zeta_nonce)
    state = transcript.absorb_openings(state, layout, opened_values(layout, proof.openings))
    state, gamma = transcript.draw_batching_challenge(state, layout, proof.batch_nonce)
    state = transcript.begin_fri(state, layout)
    betas = []
    for cap, nonce in zip(proof.fold_caps, proof.fold_nonces, strict=True):
        state, beta = transcript.draw_fold_challenge(transcript.absorb_fold(state, cap), layout, nonce)
        betas.append(beta)
    state = transcript.absorb_final_polynomial(state, proof.final_polynomial)
    queries = transcript.draw_queries(state, layout, proof.query_nonce)
    indices = np.array(queries, dtype=np.int64)
    return Challenges(separating, prefixes, sigma, tau, alpha, zeta, gamma, betas, indices)


def _check_constraints(
    layout: Layout, proof: BatchProof, public_values: Sequence[Sequence[int]], challenges: Challenges
) -> None:
    """Check at zeta that each table's folded constraints equal its quotient times the vanishing polynomial."""
    selectors = selectors_of(layout, challenges.zeta)
    folded = fold_constraints(
        layout,
        proof.openings,
        public_values,
        proof.terminals,
        selectors,
        challenges.prefixes,
        challenges.tau,
        challenges.alpha,
    )
    vanishing = arrays.exts([of_table.vanishing for of_table in selectors])
    expected = arrays.ext_multiply(join_quotients(layout, proof.openings, challenges.zeta), vanishing)  # (3, tables)
    for table in np.flatnonzero((folded != expected).any(axis=0))[:1]:
        air = layout.tables[table]
        raise VerificationError(
            "constraints.identity", f"table {air.name}: the constraints do not hold at the out-of-domain point"
        )


def _openings_of_rows(layout: Layout, proof: BatchProof, rows: Rows, preprocessed: Cap | None) -> list[Opening]:
    """Return the openings that remain to be checked: the queried rows under each commitment."""
    caps = {
        MAIN: proof.main_cap,
        QUOTIENT: proof.quotient_cap,
        PREPROCESSED: preprocessed,
        PERMUTATION: proof.permutation_cap,
    }
    heights = batches_of(layout).heights
    openings = []
    for round_, queries in zip(layout.rounds, proof.round_queries, strict=True):
        cap, name = caps[round_.name], round_.name
        assert cap is not None
        own = {log: rows[log][:, batch.rounds[name]] for log, batch in heights.items() if name in batch.rounds}
        openings.append(Opening(f"the {name} commitment", cap, own, queries.path))
    return openings


@dataclass(frozen=True, eq=False)
class HeightBatch:
    """The columns of all matrices of one height, in the order of commitments, at the points of any of them.

    The arrays have shape (points, columns).
    """

    points: tuple[Point, ...]  # in order
    matrices: tuple[tuple[int, slice], ...]  # index of each matrix's round, and its columns in the rows of the round
    rounds: dict[str, slice]  # by round: its columns in the batch
    opened: np.ndarray  # index of the opened value in transcript order; -1 if not opened there
    powers: np.ndarray  # power of the batching challenge; -1 if not opened there


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches of all heights, and all openings in order of height, point and column.

    There is a pair for each height and each of its points, B pairs in all.
    """

    heights: dict[int, HeightBatch]  # by log2 of the rows, tallest first
    opened: np.ndarray  # index of each opening's value in transcript order
    powers: np.ndarray  # power of the batching challenge of each opening
    starts: np.ndarray  # (B,): index of the first opening of each pair


@lru_cache(maxsize=16)
def batches_of(layout: Layout) -> Batches:
    """Return the batches of a layout."""
    parts: dict[int, list[tuple[int, slice, np.ndarray, np.ndarray]]] = {log: [] for log in layout.fri_log_heights}
    value = 0  # index of the first opened value of the matrix
    for i, round_ in enumerate(layout.rounds):
        column = 0
        for matrix in round_.matrices:
            opened, powers = (_numbered(matrix, first) for first in (value, matrix.offset))
            parts[matrix.log_rows].append((i, slice(column, column + matrix.width), opened, powers))
            column += matrix.width
            value += len(matrix.points) * matrix.width
    heights = {}
    for log_rows, part in parts.items():
        opened, powers = (np.concatenate([entry[j] for entry in part], axis=1) for j in (2, 3))
        points = tuple(point for point in Point if (powers[point] >= 0).any())
        matrices = tuple((i, columns) for i, columns, _, _ in part)
        rounds, last = {}, 0
        for i, round_ in enumerate(layout.rounds):
            width = sum(columns.stop - columns.start for of, columns in matrices if of == i)
            if width:
                rounds[round_.name] = slice(last, last + width)
            last += width
        heights[log_rows] = HeightBatch(points, matrices, rounds, opened[list(points)], powers[list(points)])
    pairs = [
        (of[of >= 0], by[by >= 0])
        for batch in heights.values()
        for of, by in zip(batch.opened, batch.powers, strict=True)
    ]
    opened, powers = (np.concatenate(indices) for indices in zip(*pairs, strict=True))
    return Batches(heights, opened, powers, np.cumsum([0, *(len(of) for of, _ in pairs[:-1])]))


def _numbered(matrix: Matrix, first: int) -> np.ndarray:
    """Return numbers from ``first`` on of a matrix's openings by point and column, int64 (points, columns).

    The points are all of `Point`; -1: not opened there.
    """
    numbers = np.full((len(Point), matrix.width), -1, dtype=np.int64)
    numbers[list(matrix.points)] = first + np.arange(len(matrix.points) * matrix.width).reshape(-1, matrix.width)
    return numbers


def _exponents(layout: Layout, queries: np.ndarray, log_rows: Sequence[int], log_points: Sequence[int]) -> np.ndarray:
    """Return the exponents e of the points w^e of all queries in some domains, int64 (domains, queries).

    Here w generates the tallest domain, of 2^n points. A domain of 2^k points has w^(rev(i) 2^(n - k)) at index i, with
    rev(i) the k bits of i reversed. The index is the row of the query in a codeword of 2^l rows, times 2^(k - l).

    Args:
        layout: shape of the proof.
        queries: rows of the tallest codeword, int64.
        log_rows: l of each domain.
        log_points: k of each domain.
    """
    reversed_ = array_reverse_bits(queries, layout.log_max_rows)  # the low l bits are the reversed row of 2^l rows
    rows, points = (np.array(logs, dtype=np.int64)[:, None] for logs in (log_rows, log_points))
    return (reversed_ & ((1 << rows) - 1)) << (layout.log_max_rows - points)


def rows_by_height(layout: Layout, proof: BatchProof) -> dict[int, np.ndarray]:
    """Return the queried rows of the columns of each `HeightBatch`, uint64 (queries, columns), by its log2."""
    words = [
        np.frombuffer(queries.rows, dtype="<u8").reshape(-1, sum(queries.widths)) for queries in proof.round_queries
    ]
    return {
        log_rows: np.concatenate([words[i][:, columns] for i, columns in batch.matrices], axis=1)
        for log_rows, batch in batches_of(layout).heights.items()
    }


def _reduce_openings(layout: Layout, proof: BatchProof, rows: Rows, challenges: Challenges) -> dict[int, np.ndarray]:
    """Return the batched quotient of all openings at every query, (3, queries), by log2 of the codeword height.

    At a query point x it is the sum over matrices, points z and columns p of gamma^k (p(z) - p(x)) / (z - x), where k
    numbers the openings of the height (docs/protocol.md, section 9).

    Raises:
        VerificationError: x equals z for some query, or the quotient of tables of one row is not zero.
    """
    batches = batches_of(layout)
    gammas = arrays.ext_powers_of(challenges.gamma, int(batches.powers.max()) + 1)  # (3, powers)
    opened = words_to_array(opened_values(layout, proof.openings))[:, batches.opened]  # (3, openings)
    # Sum of gamma^k p(z) of each of the B pairs, (3, B).
    at_z = arrays.sums(arrays.ext_multiply(opened, gammas[:, batches.powers]), batches.starts)

    # One more column of zeros, for columns that are not opened at a point, which have power -1.
    gammas = np.append(gammas, np.zeros((EXTENSION_DEGREE, 1), dtype=np.uint64), axis=1)
    opening_points: list[Ext] = []  # z of each pair
    sums_at_x: list[np.ndarray] = []  # for each height: sum of gamma^k p(x) for every query, (queries, 3 points)
    for log_rows, batch in batches.heights.items():
        columns = batch.powers.shape[1]
        generator = root_of_unity(log_rows - layout.parameters.log_blowup)
        at = (challenges.zeta, ext_scale(challenges.zeta, generator), challenges.separating)  # by Point
        opening_points += [at[point] for point in batch.points]
        # (3, points, columns) to (points, 3, columns) to (3 points, columns)
        weights = np.moveaxis(gammas[:, batch.powers], 1, 0).reshape(-1, columns)
        sums_at_x.append(arrays.dot(rows[log_rows], weights.T))
    at_x = np.concatenate(sums_at_x, axis=1).T.reshape(-1, EXTENSION_DEGREE, len(challenges.queries))  # (B, 3, queries)

    # From here on all B pairs together, (3, B, queries).
    heights = [log_rows for log_rows, batch in batches.heights.items() for _ in batch.powers]  # of each pair
    exponents = _exponents(layout, challenges.queries, heights, heights)
    powers = arrays.powers_of(root_of_unity(layout.log_max_rows), exponents)
    coset = arrays.multiply(powers, np.array([GENERATOR], dtype=np.uint64))  # x, (B, queries)
    differences = np.repeat(arrays.exts(opening_points)[:, :, None], coset.shape[1], axis=2)  # z - x
    differences[0] = array_sub(differences[0], coset)
    if not differences.any(axis=0).all():
        raise VerificationError("codeword.point", "a query point is an opening point")
    numerators = array_sub(at_z[:, :, None], np.moveaxis(at_x, 1, 0))
    inverses = arrays.ext_inverses(differences.reshape(EXTENSION_DEGREE, -1)).reshape(differences.shape)
    quotients = iter(np.moveaxis(arrays.ext_multiply(numerators, inverses), 1, 0))  # (3, queries) for each pair
    reduced = {}
    for log_rows, batch in batches.heights.items():
        reduced[log_rows] = next(quotients)
        for _ in range(1, len(batch.powers)):
            reduced[log_rows] = array_add(reduced[log_rows], next(quotients))
    # Columns of a table of one row are constant, so p(z) - p(x) is zero.
    if layout.parameters.log_blowup in reduced and reduced[layout.parameters.log_blowup].any():
        raise VerificationError("codeword.one_row", "a table of one row is not constant")
    return reduced


def _fold(
    layout: Layout, proof: BatchProof, challenges: Challenges, reduced: Mapping[int, np.ndarray]
) -> tuple[list[Opening], np.ndarray]:
    """Fold the codewords at every query (docs/protocol.md, section 10).

    Returns:
        The openings that remain to be checked (the groups under each fold's commitment), and the final value of every
        query, (3, queries).
    """
    indices, folded, openings = challenges.queries, reduced[layout.log_max_rows], []
    heights = layout.folded_log_heights
    before = [sum(pair) for pair in zip(heights, layout.fold_log_arities, strict=True)]
    inverses = inv(root_of_unity(layout.log_max_rows))
    s_inverses = arrays.powers_of(inverses, _exponents(layout, indices, heights, before))  # (folds, queries)
    for fold, (log_arity, log_rows) in enumerate(zip(layout.fold_log_arities, heights, strict=True)):
        beta, queries = challenges.betas[fold], proof.fold_queries[fold]
        # (queries, arity): true for the element of the group that the query has folded to; the proof sends the others.
        queried = np.arange(1 << log_arity) == (indices & ((1 << log_arity) - 1))[:, None]
        groups = np.empty((*queried.shape, 3), dtype=np.uint64)  # (queries, arity, 3)
        groups[queried] = folded.T
        groups[~queried] = np.frombuffer(queries.siblings, dtype="<u8").reshape(-1, 3)
        what = f"the commitment of fold {fold}"
        openings.append(
            Opening(what, proof.fold_caps[fold], {log_rows: groups.reshape(len(indices), -1)}, queries.path)
        )
        indices = indices >> log_arity
        folded = fold_groups(np.moveaxis(groups, 2, 0), s_inverses[fold], beta)
        if log_rows in reduced:
            joining = arrays.ext_multiply(reduced[log_rows], arrays.exts([ext_pow(beta, 1 << log_arity)]))
            folded = array_add(folded, joining)
    return openings, folded


def _check_degree(layout: Layout, proof: BatchProof, challenges: Challenges, folded: np.ndarray) -> None:
    """Check that every query's final value is a value of the final polynomial."""
    log_rows = layout.log_max_rows - sum(layout.fold_log_arities)
    (exponents,) = _exponents(layout, challenges.queries, [log_rows], [log_rows])
    x = arrays.powers_of(root_of_unity(layout.log_max_rows), exponents)
    if (evaluate(proof.final_polynomial, x) != folded).any():
        raise VerificationError("fri.final", "a query does not fold to the final polynomial")


def fold_groups(groups: np.ndarray, s_inverse: np.ndarray, beta: Ext) -> np.ndarray:
    """Return the values at beta of the polynomials through groups of a codeword (p3-fri ``fold_row``).

    Args:
        groups: n groups (3, n, arity), each in bit-reversed order over s·<w>.
        s_inverse: 1 / s for each group, (n,).
        beta: folding challenge.

    Returns:
        uint64 array (3, n).
    """
    arity = groups.shape[2]
    log_size = arity.bit_length() - 1
    if products := arrays.kernels():
        own, target = np.array(groups, order="C"), np.empty(groups.shape[:2], dtype=np.uint64)
        of_pairs, of_beta = _inverses_of_pairs(log_size), np.array(beta, dtype=np.uint64)
        products.fold_groups(own, s_inverse, of_pairs, of_beta, np.uint64(inv(arity)), target)
        return target
    while log_size:  # fold by two; pair 0 of a group is at s and -s
        low, high = groups[:, :, 0::2], groups[:, :, 1::2]  # (3, n, pairs)
        inverses = arrays.multiply(s_inverse[:, None], _inverses_of_pairs(log_size))  # (n, pairs)
        odd = arrays.ext_multiply(arrays.multiply(array_sub(low, high), inverses), arrays.exts([beta])[:, :, None])
        groups = array_add(array_add(low, high), odd)  # twice the folded values; the factor is removed at the end
        beta, s_inverse = ext_mul(beta, beta), arrays.multiply(s_inverse, s_inverse)
        log_size -= 1
    return arrays.multiply(groups[:, :, 0], np.array([inv(arity)], dtype=np.uint64))


@lru_cache
def _inverses_of_pairs(log_size: int) -> np.ndarray:
    """Return 1 / w^i for every pair i of a group of 2^log_size, in bit-reversed order, with w of order 2^log_size."""
    pairs = array_reverse_bits(np.arange(1 << (log_size - 1)), log_size - 1)
    return arrays.powers_of(inv(root_of_unity(log_size)), pairs)


def evaluate(polynomial: Sequence[Ext], x: np.ndarray) -> np.ndarray:
    """Return the values of a polynomial at points of the base field, by Horner's rule over blocks of coefficients.

    Args:
        polynomial: 2^k coefficients, lowest first.
        x: base elements, (n,).

    Returns:
        uint64 array (3, n).
    """
    size = 1 << (len(polynomial).bit_length() // 2)  # coefficients of a block, about 2^(k / 2)
    powers = np.ones((1, len(x)), dtype=np.uint64)  # x^0 ... x^(size - 1), (size, n)
    while len(powers) < size:
        step = arrays.multiply(powers[-1], x)
        powers = np.concatenate([powers, arrays.multiply(powers, step)])
    coefficients = arrays.exts(polynomial).reshape(3, -1, size)  # (3, blocks, size)
    blocks = arrays.dot(coefficients.reshape(-1, size), powers).reshape(3, -1, len(x))  # (3, blocks, n)
    total, step = blocks[:, -1], arrays.multiply(powers[-1], x)  # (3, n), x^size (n,)
    for block in range(blocks.shape[1] - 2, -1, -1):
        total = array_add(arrays.multiply(total, step), blocks[:, block])
    return total
