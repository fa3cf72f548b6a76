"""Whether a proof proves the tables of a layout: Plonky3's ``verify_batch``, in Python and NumPy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from graphprover.field import (
    GENERATOR,
    ZERO,
    Ext,
    array_add,
    array_dot,
    array_mul,
    array_pow,
    array_reverse_bits,
    array_sub,
    ext_array,
    ext_array_dot,
    ext_array_inv,
    ext_array_mul,
    ext_array_powers,
    ext_mul,
    ext_pow,
    ext_scale,
    ext_sum,
    inv,
    root_of_unity,
)
from graphprover.protocol import transcript
from graphprover.protocol.constraints import (
    Evaluations,
    fold_constraints,
    join_coordinates,
    join_quotient,
    selectors_at,
)
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout
from graphprover.protocol.lookup import lookup_prefixes
from graphprover.protocol.merkle import Opening, verify_openings
from graphprover.protocol.pieces import Joint, digest_of, draw_lookup_challenges, piece_binding, resume
from graphprover.protocol.proof import BatchProof, Cap, opened_values, rows_by_height, words_to_exts

Rows = Mapping[int, np.ndarray]  # by log2 of their height, the rows of a commitment at the queries (queries, words)

INVERSE_OF_TWO = inv(2)


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
    _check_tables(layout, proof, public_values, challenges)
    if total_of(proof) != ZERO:
        raise VerificationError("the buses do not balance: the lookup terminals do not sum to zero")
    _check_words(layout, proof, preprocessed, challenges)


def check_piece(
    layout: Layout,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
    joint: Joint,
    index: int,
) -> None:
    """`check_batch` of piece ``index`` of those that have committed to ``joint``, but for the sum of its terminals.

    ``binding``: the digest of its tables as if they were a proof's by themselves.
    """
    binding = piece_binding(binding, len(joint.digests), index)
    challenges = _replay(layout, proof, public_values, preprocessed, binding, (joint, index))
    _check_tables(layout, proof, public_values, challenges)
    _check_words(layout, proof, preprocessed, challenges)


def total_of(proof: BatchProof) -> Ext:
    """The sum of all lookup terminals."""
    return ext_sum(terminal for terminal in proof.terminals if terminal is not None)


def _check_tables(
    layout: Layout, proof: BatchProof, public_values: Sequence[Sequence[int]], challenges: Challenges
) -> None:
    """Every table's constraints hold at zeta."""
    for table in range(len(layout.tables)):
        _check_constraints(layout, proof, public_values[table], challenges, table)


def _check_words(layout: Layout, proof: BatchProof, preprocessed: Cap | None, challenges: Challenges) -> None:
    """What was opened is what was committed to, and of low degree."""
    rows = [rows_by_height(*pair) for pair in zip(layout.rounds, proof.round_queries, strict=True)]
    _check_rows(layout, proof, rows, preprocessed, challenges)
    _check_folds(layout, proof, challenges, _reduce_openings(layout, proof, rows, challenges))


def _replay(
    layout: Layout,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
    piece: tuple[Joint, int] | None = None,
) -> Challenges:
    """Run the transcript over the proof, or over a piece of one, given what all have committed to and its index."""
    state = transcript.begin(layout, binding)
    state = transcript.absorb_main(state, proof.main_cap, public_values, preprocessed)
    sigma = tau = ZERO
    if piece:
        joint, index = piece
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
    layout: Layout, proof: BatchProof, public_values: Sequence[int], challenges: Challenges, table: int
) -> None:
    """The folded constraints of one table are its quotient times the vanishing polynomial, at zeta."""
    air, openings = layout.tables[table], proof.openings[table]
    selectors = selectors_at(layout.log_heights[table], challenges.zeta)
    at = Evaluations(
        main=words_to_exts(openings.main),
        main_next=_opened(openings.main_next, air.main_width),
        preprocessed=_opened(openings.preprocessed, air.preprocessed_width),
        preprocessed_next=_opened(openings.preprocessed_next, air.preprocessed_width),
        permutation=join_coordinates(words_to_exts(openings.permutation)),
        permutation_next=join_coordinates(words_to_exts(openings.permutation_next)),
        public_values=public_values,
        terminal=proof.terminals[table],
    )
    folded = fold_constraints(air, at, selectors, challenges.prefixes[table], challenges.tau, challenges.alpha)
    chunks = [words_to_exts(chunk) for chunk in openings.quotient]
    quotient = join_quotient(layout.log_heights[table], chunks, challenges.zeta)
    if folded != ext_mul(quotient, selectors.vanishing):
        raise VerificationError(f"table {air.name}: the constraints do not hold at the out-of-domain point")


def _opened(values: bytes | None, width: int) -> tuple[Ext, ...]:
    """What was opened; zeros where nothing is read."""
    return (ZERO,) * width if values is None else words_to_exts(values)


def _check_rows(
    layout: Layout, proof: BatchProof, rows: Sequence[Rows], preprocessed: Cap | None, challenges: Challenges
) -> None:
    """All queried rows are the committed ones."""
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
    verify_openings(challenges.queries, layout.log_max_rows, openings)


@dataclass(frozen=True)
class Batch:
    """All openings of the matrices of one height, side by side in the order of the layout."""

    rows: np.ndarray  # the queried rows, (queries, columns)
    weights: np.ndarray  # (points, 3, columns): gamma^k; 0 for a column that is not opened at the point
    values: np.ndarray  # (points, 3, columns): what was opened there, 0 for nothing


def _batches(layout: Layout, proof: BatchProof, rows: Sequence[Rows], gamma: Ext) -> dict[int, Batch]:
    """The openings by log2 of the height of their codewords."""
    count = max(m.offset + m.width * m.points for round_ in layout.rounds for m in round_.matrices)
    gammas = ext_array_powers(gamma, count)
    values = iter(opened_values(layout, proof.openings))
    parts: dict[int, list[np.ndarray]] = {log_rows: [] for log_rows in layout.fri_log_heights}
    for round_ in layout.rounds:
        for matrix in round_.matrices:
            both = np.zeros((2, 2, 3, matrix.width), dtype=np.uint64)  # weights and values, at both points
            for point in range(matrix.points):
                first = matrix.offset + point * matrix.width
                both[0, point] = gammas[:, first : first + matrix.width]
                both[1, point] = np.frombuffer(next(values), dtype="<u8").reshape(-1, 3).T
            parts[matrix.log_rows].append(both)
    points = dict.fromkeys(parts, 1)
    for matrix in chain.from_iterable(round_.matrices for round_ in layout.rounds):
        points[matrix.log_rows] = max(points[matrix.log_rows], matrix.points)
    batches = {}
    for log_rows, part in parts.items():
        weights, opened = np.concatenate(part, axis=-1)[:, : points[log_rows]]
        queried = np.concatenate([by_height[log_rows] for by_height in rows if log_rows in by_height], axis=1)
        batches[log_rows] = Batch(queried, weights, opened)
    return batches


def _reduce_openings(
    layout: Layout, proof: BatchProof, rows: Sequence[Rows], challenges: Challenges
) -> dict[int, np.ndarray]:
    """For each codeword height (as log2) the batched quotient of all openings there at every query, (3, queries).

    That is the sum over matrices, points z and columns p of gamma^k (p(z) - p(x)) / (z - x), k counting openings.
    """
    batches = _batches(layout, proof, rows, challenges.gamma)
    differences, numerators = [], []
    # x / 7 at every query in the tallest domain; its square is that in the next one.
    exponents = array_reverse_bits(challenges.queries, layout.log_max_rows)
    x, log_domain = array_pow(root_of_unity(layout.log_max_rows), exponents), layout.log_max_rows
    for log_rows, batch in batches.items():
        for _ in range(log_domain - log_rows):
            x = array_mul(x, x)
        log_domain = log_rows
        generator = root_of_unity(log_rows - layout.parameters.log_blowup)
        at_rows = array_dot(batch.rows, batch.weights.reshape(-1, batch.rows.shape[1]).T).T.reshape(-1, 3, len(x))
        for point, at_x in enumerate(at_rows):
            z = ext_scale(challenges.zeta, generator if point else 1)
            at_z = ext_array_dot(batch.weights[point], batch.values[point])
            coset = array_mul(x, np.array([GENERATOR], dtype=np.uint64))
            differences.append(array_sub(ext_array([z]), np.stack([coset, np.zeros_like(x), np.zeros_like(x)])))
            numerators.append(array_sub(ext_array([at_z]), at_x))
    if not np.concatenate(differences, axis=1).any(axis=0).all():
        raise VerificationError("a query point is an opening point")
    inverses = ext_array_inv(np.concatenate(differences, axis=1))
    quotients = iter(np.split(ext_array_mul(np.concatenate(numerators, axis=1), inverses), len(numerators), axis=1))
    reduced = {}
    for log_rows, batch in batches.items():
        reduced[log_rows] = next(quotients)
        for _ in range(1, len(batch.weights)):
            reduced[log_rows] = array_add(reduced[log_rows], next(quotients))
    # A table of one row is constant, so its openings leave nothing.
    if layout.parameters.log_blowup in reduced and reduced[layout.parameters.log_blowup].any():
        raise VerificationError("a table of one row is not constant")
    return reduced


def _check_folds(layout: Layout, proof: BatchProof, challenges: Challenges, reduced: Mapping[int, np.ndarray]) -> None:
    """Every query folds to the final polynomial, and every folded group is the committed one."""
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
            joining = ext_array_mul(reduced[log_rows], ext_array([ext_pow(beta, 1 << log_arity)]))
            folded = array_add(folded, joining)
    if openings:
        log_first = openings[0].log_rows
        verify_openings(challenges.queries >> (layout.log_max_rows - log_first), log_first, openings)
    x = array_pow(root_of_unity(layout.log_max_rows), array_reverse_bits(indices, layout.log_max_rows))
    if (evaluate(proof.final_polynomial, x) != folded).any():
        raise VerificationError("a query does not fold to the final polynomial")


def fold_groups(groups: np.ndarray, indices: np.ndarray, log_rows: int, beta: Ext) -> np.ndarray:
    """The values (3, n) at beta of the polynomials through groups of a folded codeword (p3-fri ``fold_row``).

    Each of the ``groups`` (3, n, arity) is in bit-reversed order over s·<w>; ``indices`` of 2^log_rows are their rows.
    Folds by two until one is left.
    """
    log_size = groups.shape[2].bit_length() - 1
    # Pair 0 of a group stands at s and -s, with s the domain's point of this bit-reversed index.
    x_inverse = array_pow(inv(root_of_unity(log_rows + log_size)), array_reverse_bits(indices, log_rows))
    while log_size:
        low, high = groups[:, :, 0::2], groups[:, :, 1::2]
        pairs = array_reverse_bits(np.arange(low.shape[2]), log_size - 1)
        inverses = array_mul(x_inverse[:, None], array_pow(inv(root_of_unity(log_size)), pairs))
        odd = ext_array_mul(array_mul(array_sub(low, high), inverses), ext_array([beta])[:, :, None])
        groups = array_mul(array_add(array_add(low, high), odd), np.array([INVERSE_OF_TWO], dtype=np.uint64))
        beta, x_inverse = ext_mul(beta, beta), array_mul(x_inverse, x_inverse)
        log_size -= 1
    return groups[:, :, 0]


def evaluate(polynomial: Sequence[Ext], x: np.ndarray) -> np.ndarray:
    """The values (3, n) of a polynomial of 2^k coefficients at points of the base field, about 2^(k / 2) at a time."""
    size = 1 << (len(polynomial).bit_length() // 2)
    powers = np.ones((1, len(x)), dtype=np.uint64)
    while len(powers) < size:
        step = array_mul(powers[-1], x)
        powers = np.concatenate([powers, array_mul(powers, step)])
    coefficients = ext_array(polynomial).reshape(3, -1, size)
    blocks = array_dot(coefficients.reshape(-1, size), powers).reshape(3, -1, len(x))
    total, step = blocks[:, -1], array_mul(powers[-1], x)
    for block in range(blocks.shape[1] - 2, -1, -1):
        total = array_add(array_mul(total, step), blocks[:, block])
    return total
