"""The transcript as tasks between the rounds, so that a proof needs no round trip to the client.

Each task does the proof of work of its challenge on the device and then the verifier's step
(``graphprover.protocol.transcript``) with the nonce. The comment at a challenge gives the attack of a prover who knew
it earlier, and the function of ``protocol.security`` that bounds the remaining attack. docs/protocol.md has the
notation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphprover.device import Device, Tree
from graphprover.field import ZERO, Ext
from graphprover.graphs.batches import merged
from graphprover.graphs.rounds.commit import Extensions
from graphprover.graphs.task_keys import ShardNumber
from graphprover.protocol import joint as shards
from graphprover.protocol import transcript
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.joint import Joint
from graphprover.protocol.layout import Layout
from graphprover.protocol.lookup import lookup_prefixes
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.proof import TableOpenings, opened_values
from graphprover.statement.statement import binding_digest

TRANSCRIPT = "transcript"
BEGIN, LOOKUP, CONSTRAINT, ZETA, BATCHING, QUERIES = "begin", "lookup", "constraint", "zeta", "batching", "queries"
# Of a shard, before the joint challenge: its separating point, the values there, and the digest.
SEPARATION, SEPARATED, DIGEST = "separation", "separated", "digest"


def fold_step(number: int) -> str:
    """Return the name of the step that draws a fold's challenge."""
    return f"fold{number}"


class OtherShard(RuntimeError):
    """A shard's recomputed commitment differs from its first one."""


@dataclass(frozen=True)
class Drawn:
    """A state of the transcript, the challenge drawn to reach it, and the nonce of the proof of work before."""

    state: Challenger
    challenge: Any
    nonce: int


@dataclass(frozen=True)
class LookupChallenges:
    """The challenges of all tables' lookup argument."""

    prefixes: list[list[Ext]]  # constant terms of the lookups' denominators, by table
    tau: Ext  # combines the elements of a tuple


def begin(
    device: Device,
    tree: Tree,
    preprocessed: Tree | None,
    *,
    layout: Layout,
    label: str,
    public_values: Sequence[Sequence[int]],
    shard: ShardNumber | None,
) -> Challenger:
    """Bind the statement, then absorb the main commitment, the public values and the preprocessed commitment."""
    # The statement comes first: a prover who could choose it last would fit its constraints to the challenges.
    preprocessed_cap = None if preprocessed is None else device.cap(preprocessed)
    binding = binding_digest(layout, label, preprocessed_cap)
    if shard is not None:
        binding = shards.shard_binding(layout.parameters.hash, binding, shard.count, shard.index)
    state = transcript.begin(layout, binding)
    return transcript.absorb_main(state, device.cap(tree), public_values, preprocessed_cap)


def separating_point(device: Device, state: Challenger) -> Drawn:
    """Draw the separating point of a shard."""
    # After all main columns: a prover who knew the point would commit to words with two candidates that agree there,
    # and choose between the candidates after σ and τ (security.separation_errors).
    return Drawn(*shards.draw_separating_point(state), 0)


def separated(device: Device, drawn: Drawn, values: Sequence[Mapping[int, bytes]]) -> Challenger:
    """Absorb the values of the main columns at the separating point, given by batch and table."""
    return shards.absorb_separated(drawn.state, merged(values).values())


def lookup_challenges(device: Device, state: Challenger, *, layout: Layout) -> Drawn:
    """Draw σ and τ for the fingerprints; without lookups nothing."""
    if not layout.lookup_tables:
        return Drawn(state, LookupChallenges([[] for _ in layout.tables], ZERO), 0)
    # After all main columns: a prover who knew σ and τ could send messages whose fingerprints equal the received ones,
    # or fractions that cancel without being equal (security.lookup_errors).
    nonce = device.grind(state.grinding_seed(), layout.parameters.lookup_pow_bits, state.hash)
    state, sigma, tau = transcript.draw_lookup_challenges(state, layout, nonce)
    return Drawn(state, LookupChallenges(lookup_prefixes(layout.tables, sigma, tau), tau), nonce)


def joint_nonce(device: Device, joint: Joint, parameters: Parameters) -> int:
    """Return the nonce of the proof of work before the lookup challenges of all shards."""
    with device.task():
        return device.grind(joint.grinding_seed(parameters.hash), parameters.lookup_pow_bits, parameters.hash)


def joint_lookup_challenges(
    device: Device, state: Challenger, *, layout: Layout, shard: ShardNumber, joint: Joint, nonce: int
) -> Drawn:
    """Draw σ and τ of all shards, after their joint proof of work; raises OtherShard for a different digest."""
    # After all main columns of all shards: a bus may cross shards. Each shard continues from the joint state, so it
    # cannot be finished with other challenges (security.lookup_errors).
    if shards.digest_of(state) != joint.digests[shard.index]:
        raise OtherShard(
            f"{shard}: recomputed commitment differs from the first one: a trace function is not deterministic"
        )
    seed = joint.seed(state.hash)
    sigma, tau = shards.draw_lookup_challenges(seed, layout.parameters, nonce)
    prefixes = lookup_prefixes(layout.tables, sigma, tau)
    return Drawn(shards.resume(state, seed, nonce), LookupChallenges(prefixes, tau), nonce)


def constraint_challenge(device: Device, drawn: Drawn, tree: Tree | None, lookups: Sequence[Extensions]) -> Drawn:
    """Absorb the commitment to the lookup columns and their terminals, if any; draw α, which folds the constraints."""
    # After all columns that constraints read: a prover who knew α would violate two of them so that their sum is zero
    # (security.constraint_errors).
    cap = None if tree is None else device.cap(tree)
    terminals = [columns.terminal for columns in merged(lookups).values() if columns.terminal is not None]
    return Drawn(*transcript.draw_constraint_challenge(drawn.state, cap, terminals), 0)


def zeta(device: Device, drawn: Drawn, tree: Tree, *, layout: Layout) -> Drawn:
    """Absorb the quotient commitment and draw ζ, the out-of-domain point."""
    # After the quotient: a prover who knew ζ would commit to a polynomial that is correct there and nowhere else
    # (security.out_of_domain_errors).
    state = transcript.absorb_quotient(drawn.state, device.cap(tree))
    nonce = device.grind(state.grinding_seed(), layout.parameters.ood_pow_bits, state.hash)
    return Drawn(*transcript.draw_zeta(state, layout, nonce), nonce)


def batching_challenge(
    device: Device, drawn: Drawn, openings: Sequence[Mapping[int, TableOpenings]], *, layout: Layout
) -> Drawn:
    """Absorb all openings and draw γ, which batches them."""
    # After the claimed values: a prover who knew γ would claim false ones whose quotients add up to a polynomial
    # (security.batching_errors).
    state = transcript.absorb_openings(drawn.state, layout, opened_values(layout, merged(openings)))
    nonce = device.grind(state.grinding_seed(), layout.parameters.batch_pow_bits, state.hash)
    return Drawn(*transcript.draw_batching_challenge(state, layout, nonce), nonce)


def fold_challenge(device: Device, drawn: Drawn, tree: Tree, *, layout: Layout, fold: int) -> Drawn:
    """Absorb the commitment to a codeword and draw its folding challenge β; the first also absorbs FRI's parameters."""
    # After the codeword: a prover who knew β would commit to a word far from the code that folds to a codeword
    # (security.folds counts the curve's degree, security.exceptional the challenges where that happens by itself).
    state = transcript.begin_fri(drawn.state, layout) if fold == 0 else drawn.state
    state = transcript.absorb_fold(state, device.cap(tree))
    nonce = device.grind(state.grinding_seed(), layout.parameters.commit_pow_bits, state.hash)
    return Drawn(*transcript.draw_fold_challenge(state, layout, nonce), nonce)


def queries(device: Device, drawn: Drawn, final_polynomial: Sequence[Ext], *, layout: Layout) -> Drawn:
    """Absorb the final polynomial and draw the queried rows."""
    # Last of all: a prover who knew the rows would be honest there and nowhere else (security.query_bits).
    state = drawn.state if layout.fold_log_arities else transcript.begin_fri(drawn.state, layout)
    state = transcript.absorb_final_polynomial(state, final_polynomial)
    nonce = device.grind(state.grinding_seed(), layout.parameters.query_pow_bits, state.hash)
    return Drawn(state, transcript.draw_queries(state, layout, nonce), nonce)
