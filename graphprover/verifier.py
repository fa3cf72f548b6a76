"""verify(): one pass over a proof, in plain Python and NumPy; no Dask, no Numba, no GPU."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.envelope import Proof
from graphprover.field import (
    GENERATOR,
    ZERO,
    Ext,
    P,
    array_mul,
    array_sum,
    ext,
    ext_add,
    ext_batch_inv,
    ext_mul,
    ext_powers,
    ext_scale,
    ext_sub,
    ext_sum,
    inv,
    reverse_bits,
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
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout, make_layout
from graphprover.protocol.lookup import lookup_prefixes
from graphprover.protocol.merkle import verify_rows
from graphprover.protocol.proof import BatchProof, Cap, by_matrix, decode, opened_values, words_to_exts
from graphprover.protocol.security import JOHNSON_PROXIMITY, Security, analyse, shape_of
from graphprover.statement import Statement, binding_digest

HALF = inv(2)


@dataclass(frozen=True)
class Verdict:
    """What a valid proof says."""

    security: Security  # provable, round by round
    public_values: tuple[tuple[int, ...], ...]  # of each table
    log_heights: tuple[int, ...]  # log2 of each table's rows

    @property
    def bits(self) -> float:
        """Provable security."""
        return self.security.bits


@dataclass(frozen=True)
class Challenges:
    """Everything the transcript draws."""

    prefixes: list[list[Ext]]  # the constant term of each lookup's denominators, for each table
    beta: Ext  # combines the elements of a tuple
    alpha: Ext  # folds the constraints
    zeta: Ext  # the out-of-domain point
    batching: Ext  # batches the openings
    folds: list[Ext]  # one for each fold
    queries: list[int]  # rows of the tallest codeword


def verify(
    proof: Proof | bytes, statement: Statement, security: float = 128, proximity: str = JOHNSON_PROXIMITY
) -> Verdict:
    """Check that ``proof`` proves ``statement`` with at least ``security`` provable bits.

    With ``proximity="unique"`` by unique decoding alone. Returns the verdict. Raises VerificationError, with reason,
    for every proof that does not convince, however malformed; raises ValueError when the statement itself is malformed.
    """
    if not isinstance(proof, Proof):
        proof = Proof.from_bytes(proof)
    layout = _layout(proof, statement)
    proven = analyse(shape_of(layout.tables, layout.log_heights), proof.parameters)
    regime = proven.by(proximity)
    if not regime.bits >= security:  # so that a NaN asks for more than there is
        raise VerificationError(
            f"the proof has {regime.bits:.1f} provable bits by {regime.name}; {security:g} were asked for"
        )
    batch = decode(proof.payload, layout)
    # Last, as it takes longest and needs no proof: what does not parse should cost nothing.
    preprocessed = statement.preprocessed_cap(proof.parameters.log_blowup, proof.parameters.cap_height)
    binding = binding_digest(layout, proof.label, preprocessed)
    check_batch(layout, batch, proof.public_values, preprocessed, binding)
    return Verdict(proven, proof.public_values, proof.log_heights)


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
    for table in range(len(layout.tables)):
        _check_constraints(layout, proof, public_values[table], challenges, table)
    if ext_sum(terminal for terminal in proof.terminals if terminal is not None) != ZERO:
        raise VerificationError("the buses do not balance: the lookup terminals do not sum to zero")
    _check_rows(layout, proof, preprocessed, challenges)
    _check_folds(layout, proof, challenges, _reduce_openings(layout, proof, challenges))


def _layout(proof: Proof, statement: Statement) -> Layout:
    """The shape the proof must have, once its header agrees with the statement."""
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


def _replay(
    layout: Layout,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
) -> Challenges:
    """Run the transcript over the proof."""
    state = transcript.begin(layout, binding)
    state = transcript.absorb_main(state, proof.main_cap, public_values, preprocessed)
    alpha = beta = ZERO
    if proof.lookup_nonce is not None:
        state, alpha, beta = transcript.draw_lookup_challenges(state, layout, proof.lookup_nonce)
    prefixes = lookup_prefixes(layout.tables, alpha, beta)
    terminals = [terminal for terminal in proof.terminals if terminal is not None]
    state, constraint = transcript.draw_constraint_challenge(state, proof.permutation_cap, terminals)
    state = transcript.absorb_quotient(state, proof.quotient_cap)
    state, zeta = transcript.draw_zeta(state, layout, proof.zeta_nonce)
    state = transcript.absorb_openings(state, layout, opened_values(layout, proof.openings))
    state, batching = transcript.draw_batching_challenge(state, layout, proof.batch_nonce)
    state = transcript.begin_fri(state, layout)
    folds = []
    for cap, nonce in zip(proof.fold_caps, proof.fold_nonces, strict=True):
        state, fold = transcript.draw_fold_challenge(transcript.absorb_fold(state, cap), layout, nonce)
        folds.append(fold)
    state = transcript.absorb_final_polynomial(state, proof.final_polynomial)
    queries = transcript.draw_queries(state, layout, proof.query_nonce)
    return Challenges(prefixes, beta, constraint, zeta, batching, folds, queries)


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
    folded = fold_constraints(air, at, selectors, challenges.prefixes[table], challenges.beta, challenges.alpha)
    chunks = [words_to_exts(chunk) for chunk in openings.quotient]
    quotient = join_quotient(layout.log_heights[table], chunks, challenges.zeta)
    if folded != ext_mul(quotient, selectors.vanishing):
        raise VerificationError(f"table {air.name}: the constraints do not hold at the out-of-domain point")


def _opened(values: bytes | None, width: int) -> tuple[Ext, ...]:
    """What was opened; zeros where nothing is read."""
    return (ZERO,) * width if values is None else words_to_exts(values)


def _check_rows(layout: Layout, proof: BatchProof, preprocessed: Cap | None, challenges: Challenges) -> None:
    """All queried rows and folded groups are the committed ones; groups need the folded values, see `_check_folds`."""
    caps = {
        MAIN: proof.main_cap,
        QUOTIENT: proof.quotient_cap,
        PREPROCESSED: preprocessed,
        PERMUTATION: proof.permutation_cap,
    }
    for each, queries in zip(layout.rounds, proof.round_queries, strict=True):
        cap = caps[each.name]
        assert cap is not None
        indices = [index >> (layout.log_max_rows - each.log_rows) for index in challenges.queries]
        log_rows = [matrix.log_rows for matrix in each.matrices]
        rows = by_matrix(queries.rows, each.widths)
        verify_rows(cap, log_rows, indices, rows, queries.path, f"the {each.name} commitment")


def _reduce_openings(layout: Layout, proof: BatchProof, challenges: Challenges) -> dict[int, list[Ext]]:
    """For each codeword height (as log2) the batched quotient of all openings there, at every query.

    That is the sum over matrices, points z and columns p of alpha^k (p(z) - p(x)) / (z - x), k counting openings.
    """
    count = max(m.offset + m.width * m.points for each in layout.rounds for m in each.matrices)
    alphas = ext_powers(challenges.batching, count)
    alpha_columns = np.array(alphas, dtype=np.uint64).T  # (3, count)
    values = iter(opened_values(layout, proof.openings))
    # By height and point: the batched opened value, and the batched rows at each query.
    opened: dict[tuple[int, int], list[Ext]] = {}
    at_rows: dict[tuple[int, int], list[np.ndarray]] = {}
    for each, queries in zip(layout.rounds, proof.round_queries, strict=True):
        words = np.frombuffer(queries.rows, dtype="<u8").astype(np.uint64).reshape(len(challenges.queries), -1)
        ends = np.cumsum(each.widths)
        for matrix, end in zip(each.matrices, ends, strict=True):
            rows = words[:, end - matrix.width : end]
            for point in range(matrix.points):
                first = matrix.offset + point * matrix.width
                key = (matrix.log_rows, point)
                value = words_to_exts(next(values))
                weights = alphas[first : first + matrix.width]
                opened.setdefault(key, []).append(ext_sum(map(ext_mul, weights, value)))
                sums = [array_sum(array_mul(rows, weight[first : first + matrix.width])) for weight in alpha_columns]
                at_rows.setdefault(key, []).append(np.stack(sums))
    reduced: dict[int, list[Ext]] = {}
    for log_rows in layout.fri_log_heights:
        log_height = log_rows - layout.parameters.log_blowup
        points = (challenges.zeta, ext_scale(challenges.zeta, root_of_unity(log_height)))
        xs = [
            GENERATOR * pow(root_of_unity(log_rows), reverse_bits(q >> (layout.log_max_rows - log_rows), log_rows), P)
            for q in challenges.queries
        ]
        totals = [ZERO] * len(xs)
        for point, z in enumerate(points):
            key = (log_rows, point)
            if key not in opened:
                continue
            differences = [ext_sub(z, ext(x)) for x in xs]
            if ZERO in differences:
                raise VerificationError("a query point is an opening point")
            at_z = ext_sum(opened[key])
            at_x = array_sum(np.stack(at_rows[key], axis=-1)).T.tolist()
            for query, inverse in enumerate(ext_batch_inv(differences)):
                c0, c1, c2 = at_x[query]
                totals[query] = ext_add(totals[query], ext_mul(ext_sub(at_z, (c0, c1, c2)), inverse))
        reduced[log_rows] = totals
    # A table of one row is constant, so its openings leave nothing.
    if any(total != ZERO for total in reduced.get(layout.parameters.log_blowup, ())):
        raise VerificationError("a table of one row is not constant")
    return reduced


def _check_folds(layout: Layout, proof: BatchProof, challenges: Challenges, reduced: dict[int, list[Ext]]) -> None:
    """Every query folds to the final polynomial, and every folded group is the committed one."""
    count = len(challenges.queries)
    indices = list(challenges.queries)
    folded = reduced[layout.log_max_rows]
    for fold, (log_arity, log_rows) in enumerate(zip(layout.fold_log_arities, layout.folded_log_heights, strict=True)):
        beta = challenges.folds[fold]
        groups = []
        for query in range(count):
            own = indices[query] & ((1 << log_arity) - 1)
            siblings = words_to_exts(proof.fold_queries[fold].siblings[query])
            groups.append((*siblings[:own], folded[query], *siblings[own:]))
        indices = [index >> log_arity for index in indices]
        rows = [[np.array(group, dtype="<u8").tobytes()] for group in groups]
        path = proof.fold_queries[fold].path
        verify_rows(proof.fold_caps[fold], [log_rows], indices, rows, path, f"the commitment of fold {fold}")
        folded = [fold_group(group, index, log_rows, beta) for group, index in zip(groups, indices, strict=True)]
        if log_rows in reduced:
            beta_power = beta
            for _ in range(log_arity):
                beta_power = ext_mul(beta_power, beta_power)
            joining = reduced[log_rows]
            folded = [ext_add(f, ext_mul(beta_power, j)) for f, j in zip(folded, joining, strict=True)]
    root = root_of_unity(layout.log_max_rows)
    for index, value in zip(indices, folded, strict=True):
        x = pow(root, reverse_bits(index, layout.log_max_rows), P)
        evaluated = ZERO
        for coefficient in reversed(proof.final_polynomial):
            evaluated = ext_add(ext_scale(evaluated, x), coefficient)
        if evaluated != value:
            raise VerificationError("a query does not fold to the final polynomial")


def fold_group(group: Sequence[Ext], index: int, log_rows: int, beta: Ext) -> Ext:
    """The value at beta of the polynomial through one group of a folded codeword (p3-fri ``fold_row``).

    ``group`` is in bit-reversed order over s·<w>; ``index`` of 2^log_rows is its row. Folds by two until one is left.
    """
    log_size = len(group).bit_length() - 1
    log_domain = log_rows + log_size
    # Pair 0 of the group stands at s and -s, with s the domain's point of this bit-reversed index.
    x_inverse = inv(pow(root_of_unity(log_domain), reverse_bits(index, log_rows), P))
    values = list(group)
    while log_size:
        step = inv(root_of_unity(log_size))
        next_values = []
        for pair in range(len(values) // 2):
            low, high = values[2 * pair], values[2 * pair + 1]
            inverse = x_inverse * pow(step, reverse_bits(pair, log_size - 1), P) % P
            odd = ext_scale(ext_sub(low, high), inverse * HALF % P)
            next_values.append(ext_add(ext_scale(ext_add(low, high), HALF), ext_mul(odd, beta)))
        values, beta = next_values, ext_mul(beta, beta)
        x_inverse = x_inverse * x_inverse % P
        log_size -= 1
    return values[0]
