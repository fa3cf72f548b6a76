"""aggregate(): one proof about several, by a tree of layers."""

from collections.abc import Sequence
from typing import Any

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.proof.compressed import AnyProof, CompressedProof, any_proof_from_bytes, expect_proof
from graphprover.protocol.level import COMPRESSED_POW_BITS, LAYER_RATE, LayerLevel
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.prover.layer_tree import nodes_of
from graphprover.proving.compress import prove_tree
from graphprover.proving.executor import executor_of
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement


def aggregate(
    proofs: Sequence[AnyProof | bytes],
    statements: Sequence[Statement | ShardedStatement],
    executor: Any = THREADS,
    security: float = 128,
    rates: Sequence[int] = (LAYER_RATE,),
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    progress: bool | Tell | None = None,
    *,
    pow_bits: int = COMPRESSED_POW_BITS,
    names: Sequence[str] | None = None,
) -> CompressedProof:
    """Prove that a verifier accepts all of several proofs: one compressed proof about all of them, its members.

        from graphprover import Prover, aggregate, verify_aggregate

        prover = Prover("examples/guests/sha256.elf", rate=8)
        proofs = [prover.prove(data) for data in (b"one", b"two", b"three")]
        statements = [prover.program.statement_of(proof.header) for proof in proofs]
        proof = aggregate(proofs, statements)
        print([verdict.claim for verdict in verify_aggregate(proof, statements)])

    Layers are about as many proofs as fit, others are about these layers, and so on, until one is about all. The proofs
    may be of any statements, of other sizes and rates, in one shard or several, and compressed or aggregated before.
    Each must have the hash BLAKE3, as for `graphprover.compress`.

    Args:
        proofs: The proofs, or their bytes.
        statements: The statement of each proof. An aggregated proof has a statement for each of its members.
        executor: As in `graphprover.prove`.
        security: The provable bits of all layers, and the least ones of the proofs.
        rates: N of the rates 1/N of the layers. All layers have the first rate. For each further one there is one more
            layer, about the last one: the lower its rate, the smaller the proof.
        device: As in `graphprover.prove`.
        proximity: As in `graphprover.compress`.
        progress: As in `graphprover.prove`, of each layer. Tasks have the names of the layer's members.
        pow_bits: The proof of work of the layers, as in `graphprover.prove`.
        names: The name of each proof in messages. By default it is "proof" with its number, from 1 on.

    Returns:
        The proof, which is not verified.

    Raises:
        ValueError: Proofs of this kind cannot be compressed, or an option is not offered; the message says why.
        VerificationError: A proof does not convince; the message names it.
        MemoryError: As in `graphprover.prove`.
    """
    for own in () if isinstance(proofs, str | bytes) else proofs:
        expect_proof(own)
    if not proofs or not rates:
        raise ValueError("give at least one proof and one rate")
    names = names or [f"proof {number}" for number in range(1, len(proofs) + 1)]
    levels = [LayerLevel(security, rate, proximity, BLAKE3, pow_bits) for rate in rates]
    parsed = [any_proof_from_bytes(own) if isinstance(own, bytes) else own for own in proofs]
    nodes = nodes_of(parsed, statements, levels[0], names)
    return prove_tree(nodes, levels, executor_of(executor, device), progress)
