"""Whether a proof proves the tables of a layout: Plonky3's ``verify_batch``, in Python and NumPy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

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
    ext_sum,
    inv,
    root_of_unity,
)
from graphprover.protocol import arrays, transcript
from graphprover.protocol.circuit import circuit
from graphprover.protocol.constraints import fold_constraints, join_quotients, selectors_of, words_to_array
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import Joint, digest_of, draw_lookup_challenges, resume, shard_binding
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout
from graphprover.protocol.lookup import lookup_prefixes
from graphprover.protocol.merkle import Opening, verify_openings
from graphprover.protocol.proof import BatchProof, Cap, opened_values, rows_by_height

Rows = Mapping[int, np.ndarray]  # by log2 of their height, the rows of a commitment at the queries (queries, words)


@dataclass(frozen=True)
class Challenges:
    """Everything the transcript draws."""

    prefixes: list[list[Ext]]  # the constant term of each lookup's denominators, for each table
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
) -> None:
    """Plonky3's ``verify_batch``: raises VerificationError unless the proof proves the tables of ``layout``.

    ``preprocessed`` is the verifier's own commitment to the preprocessed columns, ``binding`` the challenger's
    initial state.
    """
    challenges = _replay(layout, proof, public_values, preprocessed, binding)
    _check_constraints(layout, proof, public_values, challenges)
    if total_of(proof) != ZERO:
        raise VerificationError("the buses do not balance: the lookup terminals do not sum to zero")
    _check_words(layout, proof, preprocessed, challenges)


def check_shard(
    layout: Layout,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
    joint: Joint,
    index: int,
) -> None:
    """`check_batch` of shard ``index`` of those that have committed to ``joint``, but for the sum of its terminals.

    ``binding``: the digest of its tables as if they were a proof's by themselves.
    """
    binding = shard_binding(binding, len(joint.digests), index)
    challenges = _replay(layout, proof, public_values, preprocessed, binding, (joint, index))
    _check_constraints(layout, proof, public_values, challenges)
    _check_words(layout, proof, preprocessed, challenges)


def prepare(layout: Layout) -> None:
    """Make what checking takes of a layout alone, and is kept, before there is a proof."""
    circuit(layout.tables)
    _batches(layout)


def total_of(proof: BatchProof) -> Ext:
    """The sum of all lookup terminals."""
    return ext_sum(terminal for terminal in proof.terminals if terminal is not None)


def _check_words(layout: Layout, proof: BatchProof, preprocessed: Cap | None, challenges: Challenges) -> None:
    """What was opened is what was committed to, and of low degree."""
    rows = [rows_by_height(*pair) for pair in zip(layout.rounds, proof.round_queries, strict=True)]
    openings = _openings_of_rows(layout, proof, rows, preprocessed)
    reduced = _reduce_openings(layout, proof, rows, challenges)
    folds, folded = _fold(layout, proof, challenges, reduced)
    verify_openings(challenges.queries, layout.log_max_rows, openings + folds)
    _check_degree(layout, proof, challenges, folded)


def _replay(
    layout: Layout,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
    shard: tuple[Joint, int] | None = None,
) -> Challenges:
    """Run the transcript over the proof, or over a shard of one, given what all have committed to and its index."""
    state = transcript.begin(layout, binding)
    state = transcript.absorb_main(state, proof.main_cap, public_values, preprocessed)
    sigma = tau = ZERO
    if shard:
        joint, index = shard
        if digest_of(state) != joint.digests[index]:
            raise VerificationError("not what the lookup challenges were drawn from: damaged, or another statement")
        assert proof.lookup_nonce is not None, "a head has lookups"
        sigma, tau = draw_lookup_challenges(joint, layout.parameters, proof.lookup_nonce)
        state = resume(state, joint, proof.lookup_nonce)
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
    return Challenges(prefixes, tau, alpha, zeta, gamma, betas, np.array(queries, dtype=np.int64))


def _check_constraints(
    layout: Layout, proof: BatchProof, public_values: Sequence[Sequence[int]], challenges: Challenges
) -> None:
    """The folded constraints of each table are its quotient times the vanishing polynomial, at zeta."""
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
    expected = arrays.ext_multiply(join_quotients(layout, proof.openings, challenges.zeta), vanishing)
    for table in np.flatnonzero((folded != expected).any(axis=0))[:1]:
        air = layout.tables[table]
        raise VerificationError(f"table {air.name}: the constraints do not hold at the out-of-domain point")


def _openings_of_rows(
    layout: Layout, proof: BatchProof, rows: Sequence[Rows], preprocessed: Cap | None
) -> list[Opening]:
    """That all queried rows are the committed ones, to be checked."""
    caps = {
        MAIN: proof.main_cap,
        QUOTIENT: proof.quotient_cap,
        PREPROCESSED: preprocessed,
        PERMUTATION: proof.permutation_cap,
    }
    openings = []
    for round_, queries, by_height in zip(layout.rounds, proof.round_queries, rows, strict=True):
        cap = caps[round_.name]
        assert cap is not None
        openings.append(Opening(f"the {round_.name} commitment", cap, by_height, queries.path))
    return openings


@dataclass(frozen=True, eq=False)
class Batch:
    """The columns of all matrices of one height, in the order of commitments, at one or two points."""

    opened: (
        np.ndarray
    )  # which opened value each is at each point, the one after all where it is none: (points, columns)
    powers: np.ndarray  # which power of the batching challenge goes with it, likewise


@lru_cache(maxsize=16)
def _batches(layout: Layout) -> dict[int, Batch]:
    """By log2 of their rows, tallest first."""
    matrices = list(chain.from_iterable(round_.matrices for round_ in layout.rounds))
    count = sum(matrix.width * matrix.points for matrix in matrices)
    parts: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {log_rows: [] for log_rows in layout.fri_log_heights}
    first = 0
    for matrix in matrices:
        own = np.arange(2 * matrix.width).reshape(2, matrix.width)
        there = own < matrix.points * matrix.width
        parts[matrix.log_rows].append((np.where(there, first + own, count), np.where(there, matrix.offset + own, -1)))
        first += matrix.points * matrix.width
    batches = {}
    for log_rows, part in parts.items():
        opened, powers = (np.concatenate(indices, axis=1) for indices in zip(*part, strict=True))
        points = 2 if (opened[1] < count).any() else 1
        batches[log_rows] = Batch(opened[:points], powers[:points])
    return batches


def _reduce_openings(
    layout: Layout, proof: BatchProof, rows: Sequence[Rows], challenges: Challenges
) -> dict[int, np.ndarray]:
    """For each codeword height (as log2) the batched quotient of all openings there at every query, (3, queries).

    That is the sum over matrices, points z and columns p of gamma^k (p(z) - p(x)) / (z - x), k counting openings.
    """
    batches = _batches(layout)
    nothing = np.zeros((EXTENSION_DEGREE, 1), dtype=np.uint64)
    opened = np.append(words_to_array(opened_values(layout, proof.openings)), nothing, axis=1)
    count = 1 + max(int(batch.powers.max()) for batch in batches.values())
    gammas = np.append(arrays.ext_powers_of(challenges.gamma, count), nothing, axis=1)
    queries = len(challenges.queries)
    # Of all heights and points, one after the other: z, x / 7 at the queries, and what p(z) and p(x) sum up to.
    zs, xs, at_z, at_x = [], [], [], []
    # x / 7 at every query in the tallest domain; its square is that in the next one.
    exponents = array_reverse_bits(challenges.queries, layout.log_max_rows)
    x, log_domain = arrays.powers_of(root_of_unity(layout.log_max_rows), exponents), layout.log_max_rows
    for log_rows, batch in batches.items():
        for _ in range(log_domain - log_rows):
            x = arrays.multiply(x, x)
        log_domain = log_rows
        generator = root_of_unity(log_rows - layout.parameters.log_blowup)
        points, columns = batch.opened.shape
        # Rows at the queries and, below them, the coordinates at each point, times those of the weights of each.
        values = np.empty((queries + EXTENSION_DEGREE * points, columns), dtype=np.uint64)
        parts = [by_height[log_rows] for by_height in rows if log_rows in by_height]
        np.concatenate(parts, axis=1, out=values[:queries])
        values[queries:] = np.moveaxis(opened[:, batch.opened], 1, 0).reshape(-1, columns)
        weights = np.moveaxis(gammas[:, batch.powers], 1, 0).reshape(-1, columns)
        sums = arrays.dot(values, weights.T)
        for point in range(points):
            of_point = slice(EXTENSION_DEGREE * point, EXTENSION_DEGREE * (point + 1))
            zs.append(ext_scale(challenges.zeta, generator if point else 1))
            xs.append(x)
            at_z.append(sums[queries:][of_point, of_point])
            at_x.append(sums[:queries, of_point].T)
    differences = np.repeat(arrays.exts(zs), queries, axis=1)
    coset = arrays.multiply(np.concatenate(xs), np.array([GENERATOR], dtype=np.uint64))
    differences[0] = array_sub(differences[0], coset)
    if not differences.any(axis=0).all():
        raise VerificationError("a query point is an opening point")
    numerators = np.repeat(arrays.reduced(np.stack(at_z, axis=-1)), queries, axis=1)
    numerators = array_sub(numerators, np.concatenate(at_x, axis=1))
    products = arrays.ext_multiply(numerators, arrays.ext_inverses(differences))
    quotients = iter(np.split(products, len(zs), axis=1))
    reduced = {}
    for log_rows, batch in batches.items():
        reduced[log_rows] = next(quotients)
        for _ in range(1, len(batch.opened)):
            reduced[log_rows] = array_add(reduced[log_rows], next(quotients))
    # A table of one row is constant, so its openings leave nothing.
    if layout.parameters.log_blowup in reduced and reduced[layout.parameters.log_blowup].any():
        raise VerificationError("a table of one row is not constant")
    return reduced


def _fold(
    layout: Layout, proof: BatchProof, challenges: Challenges, reduced: Mapping[int, np.ndarray]
) -> tuple[list[Opening], np.ndarray]:
    """That every folded group is the committed one, to be checked, and what every query folds to, (3, queries)."""
    indices, folded, openings = challenges.queries, reduced[layout.log_max_rows], []
    for fold, (log_arity, log_rows) in enumerate(zip(layout.fold_log_arities, layout.folded_log_heights, strict=True)):
        beta, queries = challenges.betas[fold], proof.fold_queries[fold]
        own = np.arange(1 << log_arity) == (indices & ((1 << log_arity) - 1))[:, None]
        groups = np.empty((*own.shape, 3), dtype=np.uint64)  # (queries, arity, 3)
        groups[own] = folded.T
        groups[~own] = np.frombuffer(b"".join(queries.siblings), dtype="<u8").reshape(-1, 3)
        what = f"the commitment of fold {fold}"
        openings.append(
            Opening(what, proof.fold_caps[fold], {log_rows: groups.reshape(len(indices), -1)}, queries.path)
        )
        indices = indices >> log_arity
        folded = fold_groups(np.moveaxis(groups, 2, 0), indices, log_rows, beta)
        if log_rows in reduced:
            joining = arrays.ext_multiply(reduced[log_rows], arrays.exts([ext_pow(beta, 1 << log_arity)]))
            folded = array_add(folded, joining)
    return openings, folded


def _check_degree(layout: Layout, proof: BatchProof, challenges: Challenges, folded: np.ndarray) -> None:
    """Every query folds to the final polynomial."""
    indices = challenges.queries >> sum(layout.fold_log_arities)
    x = arrays.powers_of(root_of_unity(layout.log_max_rows), array_reverse_bits(indices, layout.log_max_rows))
    if (evaluate(proof.final_polynomial, x) != folded).any():
        raise VerificationError("a query does not fold to the final polynomial")


def fold_groups(groups: np.ndarray, indices: np.ndarray, log_rows: int, beta: Ext) -> np.ndarray:
    """The values (3, n) at beta of the polynomials through groups of a folded codeword (p3-fri ``fold_row``).

    Each of the ``groups`` (3, n, arity) is in bit-reversed order over s·<w>; ``indices`` of 2^log_rows are their rows.
    Folds by two until one is left.
    """
    arity = groups.shape[2]
    log_size = arity.bit_length() - 1
    # Pair 0 of a group stands at s and -s, with s the domain's point of this bit-reversed index.
    s_inverse = arrays.powers_of(inv(root_of_unity(log_rows + log_size)), array_reverse_bits(indices, log_rows))
    while log_size:
        low, high = groups[:, :, 0::2], groups[:, :, 1::2]
        inverses = arrays.multiply(s_inverse[:, None], _inverses_of_pairs(log_size))
        odd = arrays.ext_multiply(arrays.multiply(array_sub(low, high), inverses), arrays.exts([beta])[:, :, None])
        groups = array_add(array_add(low, high), odd)  # twice what it folds to
        beta, s_inverse = ext_mul(beta, beta), arrays.multiply(s_inverse, s_inverse)
        log_size -= 1
    return arrays.multiply(groups[:, :, 0], np.array([inv(arity)], dtype=np.uint64))


@lru_cache
def _inverses_of_pairs(log_size: int) -> np.ndarray:
    """1 / w^i for every pair i of a group of 2^log_size, in bit-reversed order, with w their root of unity."""
    pairs = array_reverse_bits(np.arange(1 << (log_size - 1)), log_size - 1)
    return arrays.powers_of(inv(root_of_unity(log_size)), pairs)


def evaluate(polynomial: Sequence[Ext], x: np.ndarray) -> np.ndarray:
    """The values (3, n) of a polynomial of 2^k coefficients at points of the base field, about 2^(k / 2) at a time."""
    size = 1 << (len(polynomial).bit_length() // 2)
    powers = np.ones((1, len(x)), dtype=np.uint64)
    while len(powers) < size:
        step = arrays.multiply(powers[-1], x)
        powers = np.concatenate([powers, arrays.multiply(powers, step)])
    coefficients = arrays.exts(polynomial).reshape(3, -1, size)
    blocks = arrays.dot(coefficients.reshape(-1, size), powers).reshape(3, -1, len(x))
    total, step = blocks[:, -1], arrays.multiply(powers[-1], x)
    for block in range(blocks.shape[1] - 2, -1, -1):
        total = array_add(arrays.multiply(total, step), blocks[:, block])
    return total
