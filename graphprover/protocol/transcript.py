"""The transcript: the order in which data is absorbed and challenges are drawn (docs/protocol.md, section 7).

This is the only module to change if Plonky3's transcript changes. It matches the drivers of p3-batch-stark
(``transcript.rs``), p3-fri's PCS (``pcs_transcript.rs``) and FRI (``transcript.rs``). Each of the three protocols
starts by absorbing a seed that describes its steps.

Every step is a function from a `Challenger` (and the data to absorb) to a `Challenger` (and the challenges drawn).
Steps that start with a proof of work take its nonce, which the prover searches from the ``grinding_seed`` of the same
state. A nonce without the required work raises VerificationError.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

from graphprover.field import Ext, P
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import keccak256
from graphprover.protocol.layout import Layout

RELEASE = "0.8.0"  # release of p3-batch-stark and the crates it pins

Cap = Sequence[bytes]

_BASE = f"Algebra({P}^1;{keccak256(b'p3-scalar-basis-v1').hex()})"
_EXT = f"Algebra({P}^3;{keccak256(b'p3-power-basis-v1:X^3-X-1').hex()})"
_SEED_CHUNK = 7  # bytes that always fit one base element


def _step(kind: str, label: str, length: str, tag: str, hierarchy: str = "Atomic") -> str:
    return f"{hierarchy} {kind} {len(label)} {label} {length} {tag}"


def _cap(label: str) -> str:
    return _step("Message", label, "Scalar", "Opaque")


def _challenge(label: str) -> str:
    return _step("Challenge", label, "Scalar", _EXT)


def _work(label: str, bits: int) -> str:
    return _step("Pow", label, f"Fixed({bits})", _BASE)


def _bracket(label: str) -> list[str]:
    return [_step("Protocol", label, "None", "Marker", hierarchy) for hierarchy in ("Begin", "End")]


def _seed(name: bytes, steps: Sequence[str], numbers: Iterable[int]) -> bytes:
    """Return the encoded description of a protocol: its name, the fingerprint of its steps, and further numbers."""
    width = len(str(max(len(steps) - 1, 0)))
    lines = [f"{i:0{width}} {step}\n" for i, step in enumerate(steps)]
    fingerprint = keccak256(f"Plonky3 Fiat-Shamir Transcript ({len(steps)} interactions)\n{''.join(lines)}".encode())
    protocol = (b"\x01" + name).ljust(63, b"\0") + bytes([len(name)])
    label = b"".join((8).to_bytes(4, "big") + number.to_bytes(8, "big") for number in numbers)
    seed = protocol + fingerprint + len(label).to_bytes(4, "big") + label + b"\x80"
    chunks = [seed[i : i + _SEED_CHUNK] for i in range(0, len(seed), _SEED_CHUNK)]
    return b"".join([len(seed).to_bytes(8, "little"), *(chunk.ljust(8, b"\0") for chunk in chunks)])


def _absorb_cap(challenger: Challenger, cap: Cap) -> Challenger:
    return challenger.absorb(b"".join(cap))


def _absorb_exts(challenger: Challenger, values: Iterable[Ext]) -> Challenger:
    return challenger.absorb_words(*chain.from_iterable(values))


def check_work(challenger: Challenger, bits: int, nonce: int, guarded: str) -> Challenger:
    """Return the state after a proof of work.

    Args:
        challenger: the state before.
        bits: required work.
        nonce: the nonce.
        guarded: name of the guarded challenge in the error message.

    Raises:
        VerificationError: the nonce fails.
    """
    challenger, passed = challenger.check_work(bits, nonce)
    if not passed:
        raise VerificationError(
            "transcript.work",
            f"the proof of work before {guarded} misses its {bits} bits: a damaged proof, or one of another statement",
        )
    return challenger


# p3-batch-stark: trace, lookups, constraints.


def begin(layout: Layout, binding: bytes) -> Challenger:
    """Start from the statement's digest, absorb the description of the tables and the height of every table."""
    challenger = Challenger(layout.parameters.hash, binding).absorb(batch_seed(layout))
    return _absorb_exts(challenger, [(log_height, 0, 0) for log_height in layout.log_heights])


@lru_cache(maxsize=16)
def batch_seed(layout: Layout) -> bytes:
    parameters, airs = layout.parameters, layout.tables
    steps = [_step("Message", "degree_bits", "Scalar", _EXT) for _ in airs]
    steps.append(_cap("main_commitment"))
    steps += [_step("Public", "public_values", f"Fixed({air.num_public_values})", _BASE) for air in airs]
    if layout.preprocessed_tables:
        steps.append(_cap("preprocessed_commitment"))
    if layout.lookup_tables:
        steps.append(_work("lookup_pow", parameters.lookup_pow_bits))
        steps += [_challenge("lookup_alpha"), _challenge("lookup_beta"), _cap("permutation_commitment")]
        steps += [_step("Message", "lookup_terminal", "Scalar", _EXT) for _ in layout.lookup_tables]
    steps += [_challenge("constraint_challenge"), _cap("quotient_commitment")]
    steps += [_work("ood_pow", parameters.ood_pow_bits), _challenge("zeta"), *_bracket("opening_argument")]
    widths = [air.main_width for air in airs] + [air.preprocessed_width for air in airs]
    return _seed(b"p3-batch-stark", steps, [len(airs), *widths])


def absorb_main(
    challenger: Challenger, cap: Cap, public_values: Sequence[Sequence[int]], preprocessed_cap: Cap | None
) -> Challenger:
    """Absorb the main commitment, the public values of every table, and the preprocessed commitment if any."""
    challenger = _absorb_cap(challenger, cap)
    challenger = challenger.absorb_words(*chain.from_iterable(public_values))
    return challenger if preprocessed_cap is None else _absorb_cap(challenger, preprocessed_cap)


def draw_lookup_challenges(challenger: Challenger, layout: Layout, nonce: int) -> tuple[Challenger, Ext, Ext]:
    """Check the nonce and draw the challenges sigma and tau of the lookup argument."""
    bits = layout.parameters.lookup_pow_bits
    challenger, sigma = check_work(challenger, bits, nonce, "the lookup challenges").sample_ext()
    challenger, tau = challenger.sample_ext()
    return challenger, sigma, tau


def draw_constraint_challenge(
    challenger: Challenger, permutation_cap: Cap | None, terminals: Sequence[Ext]
) -> tuple[Challenger, Ext]:
    """Absorb the permutation commitment and terminals, if any; draw the challenge that folds all constraints."""
    if permutation_cap is not None:
        challenger = _absorb_exts(_absorb_cap(challenger, permutation_cap), terminals)
    return challenger.sample_ext()


def absorb_quotient(challenger: Challenger, cap: Cap) -> Challenger:
    """Absorb the commitment to the quotient chunks."""
    return _absorb_cap(challenger, cap)


def draw_zeta(challenger: Challenger, layout: Layout, nonce: int) -> tuple[Challenger, Ext]:
    """Check the nonce and draw the out-of-domain point."""
    return check_work(challenger, layout.parameters.ood_pow_bits, nonce, "the out-of-domain point").sample_ext()


# The opening argument.


def absorb_openings(challenger: Challenger, layout: Layout, openings: Iterable[bytes]) -> Challenger:
    """Absorb the description of the opening argument and all opened values by round, matrix, point and column."""
    return challenger.absorb(b"".join([opening_seed(layout), *openings]))


@lru_cache(maxsize=16)
def opening_seed(layout: Layout) -> bytes:
    steps = [
        _step("Message", "claimed_evaluations", f"Fixed({matrix.width})", _EXT)
        for round_ in layout.rounds
        for matrix in round_.matrices
        for _ in matrix.points
    ]
    if layout.parameters.batch_pow_bits:
        steps.append(_work("batch_pow", layout.parameters.batch_pow_bits))
    steps += [_challenge("alpha"), *_bracket("low_degree_test")]
    numbers = [len(layout.rounds)]
    for round_ in layout.rounds:
        numbers += [len(round_.matrices), *(len(matrix.points) for matrix in round_.matrices)]
    return _seed(b"p3-fri-pcs", steps, numbers)


def draw_batching_challenge(challenger: Challenger, layout: Layout, nonce: int) -> tuple[Challenger, Ext]:
    """Check the nonce and draw the challenge that batches all openings into one codeword for each height."""
    bits = layout.parameters.batch_pow_bits
    return check_work(challenger, bits, nonce, "the batching challenge").sample_ext()


# FRI.


def begin_fri(challenger: Challenger, layout: Layout) -> Challenger:
    """Absorb the description of the low-degree test."""
    return challenger.absorb(fri_seed(layout))


@lru_cache(maxsize=16)
def fri_seed(layout: Layout) -> bytes:
    parameters = layout.parameters
    fold = [_cap("commit_phase_commitment")]
    if parameters.commit_pow_bits:
        fold.append(_work("commit_pow", parameters.commit_pow_bits))
    fold.append(_challenge("fold_challenge"))
    steps = fold * len(layout.fold_log_arities)
    steps.append(_step("Message", "final_poly", f"Fixed({1 << parameters.log_final_poly_len})", _EXT))
    if parameters.query_pow_bits:
        steps.append(_work("query_pow", parameters.query_pow_bits))
    queries = f"Fixed({parameters.num_queries})"
    steps.append(_step("Challenge", "query_indices", queries, f"Bits({layout.log_max_rows})"))
    numbers = [parameters.log_blowup, parameters.max_log_arity, *layout.fold_log_arities]
    return _seed(b"p3-fri", steps, numbers)


def absorb_fold(challenger: Challenger, cap: Cap) -> Challenger:
    """Absorb the commitment to the codeword about to be folded."""
    return _absorb_cap(challenger, cap)


def draw_fold_challenge(challenger: Challenger, layout: Layout, nonce: int) -> tuple[Challenger, Ext]:
    """Check the nonce and draw the challenge of one fold."""
    return check_work(challenger, layout.parameters.commit_pow_bits, nonce, "a folding challenge").sample_ext()


def absorb_final_polynomial(challenger: Challenger, coefficients: Sequence[Ext]) -> Challenger:
    """Absorb the coefficients of the polynomial that remains after the last fold."""
    return _absorb_exts(challenger, coefficients)


def draw_queries(challenger: Challenger, layout: Layout, nonce: int) -> list[int]:
    """Check the nonce and draw the queried rows of the tallest codeword, repetitions included; the last step."""
    challenger = check_work(challenger, layout.parameters.query_pow_bits, nonce, "the queries")
    return challenger.sample_bits(layout.log_max_rows, layout.parameters.num_queries)[1]
