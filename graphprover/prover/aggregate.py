"""aggregate(): one proof about several, by a tree of layers."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.proof.compressed import MOST_CHILDREN, AnyProof, CompressedProof, any_proof_from_bytes
from graphprover.protocol.level import COMPRESSED_POW_BITS, LAYER_RATE, Level
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.prover.compress import Layer, check_compressible, layer_of
from graphprover.prover.local import told
from graphprover.prover.pipeline import pays
from graphprover.prover.prove import prove_prepared
from graphprover.statement.statement import Statement

# Bytes of a proof for each compression of its verification: 34.9 of a guest's proof at 1/8, 39 of a layer's.
_PROOF_BYTES = 34

# Bytes of a device's memory for each compression of a layer, times the inverse of its rate.
_DEVICE_BYTES = 53_000
_MOST_LOG, _LEAST_LOG = 17, 14  # of the compressions of a layer


def aggregate(
    proofs: Sequence[AnyProof | bytes],
    statements: Sequence[Statement],
    executor: Any = THREADS,
    security: float = 128,
    rates: Sequence[int] = (LAYER_RATE,),
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    progress: bool | Tell = False,
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
    may be of any statements, of other sizes and rates, and compressed or aggregated before. Each must have one shard
    and the hash BLAKE3, as for `graphprover.compress`.

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
    if not proofs or not rates:
        raise ValueError("give at least one proof and one rate")
    names = names or [f"proof {number}" for number in range(1, len(proofs) + 1)]
    nodes = _nodes([any_proof_from_bytes(own) if isinstance(own, bytes) else own for own in proofs], statements, names)
    levels = [Level(security, rate, proximity, BLAKE3, pow_bits) for rate in rates]

    own_device = device_for(device) if isinstance(device, str) else device
    most = most_bytes(largest(own_device), rates[0])
    with told(progress) as tell:

        def layers(parts: Sequence[Sequence[_Node]], level: Level) -> Iterator[_Node]:
            ahead = len(parts) > 1 and pays(own_device)
            for of, layer in zip(parts, _prepared(parts, level, ahead), strict=True):
                made, _ = prove_prepared(layer.prepared, executor, device, _named(tell, of), layer.expected)
                own = [statement for node in of for statement in node.statements]
                yield _Node(layer.compressed(made), own, of[0].first, of[-1].last)

        while len(nodes) > 1 or not nodes[0].is_layer:
            groups = grouped([node.proof.size for node in nodes], [node.is_layer for node in nodes], most)
            parts = [nodes[begin:end] for begin, end in pairwise([0, *groups])]
            made = layers([of for of in parts if not _passes(of)], levels[0])
            nodes = [of[0] if _passes(of) else next(made) for of in parts]
        for level in levels[1:]:
            nodes = [*layers([nodes], level)]
    proof = nodes[0].proof
    assert isinstance(proof, CompressedProof)
    return proof


def _named(tell: Tell | None, of: Sequence["_Node"]) -> Tell | bool:
    """Return the progress of a layer about some proofs, whose tasks have their names; False without any progress."""
    if not tell:
        return False
    name = _name(of[0].first, of[-1].last)
    return lambda ended, total, task: tell(ended, total, f"{name}, {task}" if task else "")


def _passes(of: Sequence["_Node"]) -> bool:
    """Return whether a group of proofs is one layer, which needs no layer about it."""
    return len(of) == 1 and of[0].is_layer


def _prepared(parts: Sequence[Sequence["_Node"]], level: Level, ahead: bool) -> Iterator[Layer]:
    """Yield a layer about each part; ``ahead``: a thread prepares the next one while the caller proves one."""

    def prepared(of: Sequence[_Node]) -> Layer:
        return layer_of([(node.proof, node.statements) for node in of], level, names=[node.name for node in of])

    if not ahead:
        yield from map(prepared, parts)
        return
    with ThreadPoolExecutor(1, "layer") as beside:
        coming = beside.submit(prepared, parts[0])
        for later in parts[1:]:
            layer, coming = coming.result(), beside.submit(prepared, later)
            yield layer
        yield coming.result()


@dataclass(frozen=True, eq=False)
class _Node:
    """A proof that another layer is to be about."""

    proof: AnyProof
    statements: Sequence[Statement]  # of its members
    first: str  # name of the first given proof that it is about, for messages
    last: str  # name of the last one

    @property
    def name(self) -> str:
        return _name(self.first, self.last)

    @property
    def is_layer(self) -> bool:
        return isinstance(self.proof, CompressedProof)


def _nodes(proofs: Sequence[AnyProof], statements: Sequence[Statement], names: Sequence[str]) -> list[_Node]:
    """Return the proofs with their statements; raise ValueError if one cannot be compressed."""
    counts = [len(proof.members) if isinstance(proof, CompressedProof) else 1 for proof in proofs]
    if sum(counts) != len(statements):
        raise ValueError(f"the proofs are about {sum(counts)} statements, and {len(statements)} are given")
    found = []
    for name, proof, end, count in zip(names, proofs, accumulate(counts), counts, strict=True):
        try:
            check_compressible(proof)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        found.append(_Node(proof, statements[end - count : end], name, name))
    return found


def _name(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def most_bytes(memory: int, rate: int) -> int:
    """Return how many bytes the proofs may have that a layer is about.

    Args:
        memory: The bytes of the device's memory that a proof may have.
        rate: The rate of the layer is 1/``rate``.
    """
    logs = range(_MOST_LOG, _LEAST_LOG, -1)
    return _PROOF_BYTES << next((log for log in logs if _DEVICE_BYTES * rate << log <= memory), _LEAST_LOG)


def grouped(sizes: Sequence[int], layers: Sequence[bool], most: int) -> list[int]:
    """Return the ends of groups of consecutive proofs, each of at most ``most`` bytes if it can be.

    A group has one proof at least, and two if both are layers, so that the number of proofs falls in each turn.

    Args:
        sizes: The bytes of each proof.
        layers: Whether each proof is compressed.
        most: The bytes of a group.
    """
    ends, begin, total = list[int](), 0, 0
    for number, (size, is_layer) in enumerate(zip(sizes, layers, strict=True)):
        alone = number - begin == 1 and is_layer and layers[begin]
        if number > begin and (number - begin == MOST_CHILDREN or (total + size > most and not alone)):
            ends.append(number)
            begin, total = number, 0
        total += size
    return [*ends, len(sizes)]
