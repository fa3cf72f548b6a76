"""compress(): replace a proof by a smaller proof that the verifier accepts it."""

from collections.abc import Sequence
from typing import Any

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.proof.compressed import AnyProof, CompressedProof, any_proof_from_bytes, expect_proof
from graphprover.protocol.level import COMPRESSED_POW_BITS, LAYER_RATE, LayerLevel
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.proof import Cap
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.prover.layer_tree import TreeNode, joined, nodes_of
from graphprover.prover.local import told
from graphprover.proving.executor import Executor, executor_of
from graphprover.statement.shards import ShardedStatement, expect_statement
from graphprover.statement.statement import Statement
from graphprover.telemetry.subscribe import publish


def compress(
    proof: AnyProof | bytes,
    statement: Statement | ShardedStatement,
    executor: Any = THREADS,
    security: float = 128,
    rate: int = LAYER_RATE,
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    progress: bool | Tell | None = None,
    *,
    pow_bits: int = COMPRESSED_POW_BITS,
    preprocessed: Cap | None = None,
) -> CompressedProof:
    """Compress a proof: verify it, and prove that a verifier accepts it. A compressed proof gets one more layer.

    The size of the compressed proof hardly depends on the run that the first proof is about. `graphprover.verify` takes
    it with the same statement. The first proof must have the hash BLAKE3. For one in several shards, layers are about
    as many of them as fit, others about these layers, and so on, until one is about all.

    Args:
        proof: The proof, or its bytes.
        statement: The statement that it proves.
        executor: As in `graphprover.prove`.
        security: The provable bits of the second proof, and the least ones of the first.
        rate: The rate of the second proof is 1/``rate``, with a power of two from 2 to 256.
        device: As in `graphprover.prove`.
        proximity: ``"unique"`` counts unique decoding alone, for both proofs.
        progress: As in `graphprover.prove`, of the second proof.
        pow_bits: The proof of work of the second proof, as in `graphprover.prove`.
        preprocessed: The commitment to the preprocessed columns of the statement, if the caller has made it.

    Returns:
        The compressed proof, which is not verified.

    Raises:
        ValueError: Proofs of this kind cannot be compressed, or an option is not offered; the message says why.
        VerificationError: The proof does not convince.
        MemoryError: As in `graphprover.prove`.
    """
    expect_proof(proof)
    expect_statement(statement, "compress")
    if isinstance(proof, bytes):
        proof = any_proof_from_bytes(proof)
    caps = None if preprocessed is None else [preprocessed]
    level = LayerLevel(security, rate, proximity, BLAKE3, pow_bits)
    nodes = nodes_of([proof], [statement], level, [""], caps)
    more = isinstance(proof, CompressedProof)  # which is one layer already
    return prove_tree(nodes, [level] * (1 + more), executor_of(executor, device), progress)


def prove_tree(
    nodes: Sequence[TreeNode], levels: Sequence[LayerLevel], executor: Executor, progress: bool | Tell | None
) -> CompressedProof:
    """Prove one layer about all proofs of a tree by an executor (`graphprover.prover.layer_tree.joined`)."""
    with told(progress) as tell, executor.layers(tell) as (prove, target):
        made = joined(nodes, levels, prove, target)
    if made.observation:
        publish(made.observation)
    assert isinstance(made.proof, CompressedProof)
    return made.proof
