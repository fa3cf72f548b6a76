"""The tree of layers: from proofs and shards to one layer about all of them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate, pairwise

from graphprover.device import Device
from graphprover.graphs.observer import timed
from graphprover.graphs.progress import Tell
from graphprover.proof.compressed import MOST_CHILDREN, Accepted, AnyProof, CompressedProof, ShardHeaders
from graphprover.proof.proof import Proof
from graphprover.protocol.level import Level
from graphprover.protocol.proof import Caps
from graphprover.prover.layers import LayerJob, LayerSubject, check_compressible, subjects_of
from graphprover.prover.local import make, pays, told
from graphprover.prover.made import Made
from graphprover.prover.prepare import Prepared
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.telemetry.layers import ObservedLayer, with_layers
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock
from graphprover.verifier.compressed import blamed

# Bytes of a proof for each compression of its verification.
_BYTES_OF_BASE, _BYTES_OF_LAYER = 34, 39

# Bytes of a device's memory for each compression of a layer, times the inverse of its rate.
_DEVICE_BYTES = 53_000
_MOST_LOG, _LEAST_LOG = 17, 14  # of the compressions of a layer


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A proof, or a shard of one, that a layer is to be about."""

    proof: Proof  # without payload if that is in another process
    size: int  # the bytes of the proof with its payload
    children: tuple[Accepted, ...]  # the proofs that it is about, if it is a layer
    subject: Callable[[], LayerSubject]
    first: str  # name of the first given proof that it is about, for messages
    last: str  # name of the last one

    @property
    def name(self) -> str:
        """The name for people."""
        return _span_name(self.first, self.last)

    @property
    def is_layer(self) -> bool:
        """Whether it is a layer, which can be the last one."""
        return bool(self.children)

    @property
    def compressions(self) -> int:
        """About how many compressions a layer about it has."""
        return self.size // (_BYTES_OF_LAYER if self.is_layer else _BYTES_OF_BASE)


def nodes_of(
    proofs: Sequence[AnyProof],
    statements: Sequence[Statement | ShardedStatement],
    level: Level,
    names: Sequence[str],
    preprocessed: Caps = None,
) -> list[TreeNode]:
    """Return proofs as nodes, of which nothing is verified yet; each shard is one.

    Args:
        proofs: The proofs, or the headers of their shards.
        statements: The statement of each member of each proof, in their order.
        level: The level of the first layer about them.
        names: The name of each proof in messages; none for the only one.
        preprocessed: The commitments of the shards of the only member to their preprocessed columns, if known.

    Raises:
        ValueError: There are more or fewer statements, or a proof cannot be compressed; the message names the proof.
    """
    counts = [len(proof.members) if isinstance(proof, CompressedProof) else 1 for proof in proofs]
    if sum(counts) != len(statements):
        raise ValueError(f"the proofs are about {sum(counts)} statements, and {len(statements)} are given")
    found = []
    for name, proof, end, count in zip(names, proofs, accumulate(counts), counts, strict=True):
        try:
            check_compressible(proof)
        except ValueError as error:
            raise ValueError(f"{name}: {error}" if name else str(error)) from None
        found += _nodes_of_one(proof, statements[end - count : end], level, name, preprocessed)
    return found


def _nodes_of_one(
    proof: AnyProof, statements: Sequence[Statement | ShardedStatement], level: Level, name: str, preprocessed: Caps
) -> list[TreeNode]:
    def subjects() -> list[LayerSubject]:
        with blamed(partial(str, name)):
            return subjects_of(proof, statements, level, preprocessed)

    def node(of: Proof, size: int, own_name: str, subject: Callable[[], LayerSubject]) -> TreeNode:
        children = proof.children if isinstance(proof, CompressedProof) else ()
        return TreeNode(of, size, children, subject, own_name, own_name)

    if isinstance(proof, CompressedProof):
        return [node(proof.layer, proof.layer.size, name, lambda: subjects()[0])]
    if isinstance(proof, Proof):
        return [node(proof, proof.size, name, lambda: subjects()[0])]
    once = cache(subjects)  # the shards are verified together
    sizes = proof.sizes if isinstance(proof, ShardHeaders) else [own.size for own in proof.proofs]
    return [
        node(own, size, ", ".join([*[name] * bool(name), f"shard {index}"]), partial(lambda at: once()[at], index))
        for index, (own, size) in enumerate(zip(proof.proofs, sizes, strict=True))
    ]


@dataclass(frozen=True, eq=False)
class LayerPlan:
    """Proofs that one layer is to be about."""

    nodes: Sequence[TreeNode]
    level: Level  # of the layer

    @property
    def is_layer(self) -> bool:
        """Whether it is one layer, which needs no layer about it."""
        return len(self.nodes) == 1 and self.nodes[0].is_layer

    @property
    def name(self) -> str:
        """The name for people."""
        return _span_name(self.nodes[0].first, self.nodes[-1].last)

    def layer(self) -> LayerJob:
        """Return the layer, whose proofs have verified headers; raises as `graphprover.prover.layers.subjects_of`."""
        subjects, names = tuple(node.subject() for node in self.nodes), tuple(node.name for node in self.nodes)
        return LayerJob(subjects, self.level, names, self.name)

    def proved(self, layer: LayerJob, proof: Proof) -> TreeNode:
        """Return the node with the proof of its layer."""
        return TreeNode(
            proof, proof.size, layer.children, layer.subject_by(proof), self.nodes[0].first, self.nodes[-1].last
        )


# Prepares and proves the layers about some proofs, in their order: each with its record.
ProveLayers = Callable[[Sequence[LayerPlan]], Iterator[tuple[LayerJob, Made]]]


def compressed(
    base: Made, statement: Statement | ShardedStatement, levels: Sequence[Level], prove: ProveLayers, memory: int
) -> Made:
    """Compress a proof: `joined` of its shards, with the cost of the proof itself.

    Args:
        base: The proof, which is verified by its layers, or its headers; it is not compressed yet.
        statement: The statement that it proves.
        levels: As in `joined`.
        prove: As in `joined`.
        memory: As in `joined`.
    """
    began = clock()
    nodes = nodes_of([base.proof], [statement], levels[0], [""], base.preprocessed_caps)
    made = joined(nodes, levels, prove, memory, base.observation)
    return replace(
        base,
        proof=made.proof,
        seconds={**base.seconds, "compress": clock() - began},
        peak_bytes=max(base.peak_bytes, made.peak_bytes),
        cells=base.cells + made.cells,
        observation=made.observation,
        base_bytes=base.proof.size,
    )


def joined(
    nodes: Sequence[TreeNode],
    levels: Sequence[Level],
    prove: ProveLayers,
    memory: int,
    base: Observation | None = None,
) -> Made:
    """Return one layer about all proofs: layers are about the proofs that fit, others about these layers, and so on.

    Args:
        nodes: The proofs.
        levels: The level of all layers up to the first one about all. For each further level there is one more layer.
        prove: Proves the layers of a level of the tree.
        memory: The bytes of the memory that the proof of a layer may have.
        base: The observation of the proofs, if there is one.

    Raises:
        ValueError: As in `graphprover.compress`.
        VerificationError: A proof does not convince.
    """
    rate = levels[0].rate
    assert rate is not None, "a layer has a rate"
    most = most_compressions(memory, rate)
    tree = _Tree(nodes)
    while len(tree.nodes) > 1 or not tree.nodes[0].is_layer:
        ends = grouped([node.compressions for node in tree.nodes], [node.is_layer for node in tree.nodes], most)
        tree.grow(ends, levels[0], prove)
    for level in levels[1:]:
        tree.grow([1], level, prove, more=True)
    (last,) = tree.nodes
    return Made(
        CompressedProof(last.children, last.proof),
        peak_bytes=tree.peak_bytes,
        cells=tree.cells,
        observation=with_layers(base, tree.given, tree.layers) if tree.layers else base,
    )


class _Tree:
    """The upper end of a tree as it grows."""

    def __init__(self, nodes: Sequence[TreeNode]) -> None:
        self.nodes, self.given = nodes, [node.name for node in nodes]
        self.layers = list[ObservedLayer]()
        self.peak_bytes = self.cells = 0  # of all layers
        self._numbers = list(range(len(nodes)))  # of the nodes, in the order in which all were made
        self._made = len(nodes)

    def grow(self, ends: Sequence[int], level: Level, prove: ProveLayers, more: bool = False) -> None:
        """Replace groups of nodes by layers about them.

        Args:
            ends: The ends of the groups.
            level: The level of the layers.
            prove: Proves the layers.
            more: Whether a layer of its own gets another layer, too.
        """
        spans = [*pairwise([0, *ends])]
        parts = [LayerPlan(self.nodes[begin:end], level) for begin, end in spans]
        proved = prove([part for part in parts if more or not part.is_layer])
        nodes, numbers = list[TreeNode](), list[int]()
        for part, (begin, end) in zip(parts, spans, strict=True):
            if part.is_layer and not more:
                nodes.append(part.nodes[0])
                numbers.append(self._numbers[begin])
                continue
            layer, made = next(proved)
            assert isinstance(made.proof, Proof)
            nodes.append(part.proved(layer, made.proof))
            numbers.append(self._made)
            self._made += 1
            self.peak_bytes, self.cells = max(self.peak_bytes, made.peak_bytes), self.cells + made.cells
            if made.observation:
                self.layers.append(ObservedLayer(part.name, tuple(self._numbers[begin:end]), made.observation))
        self.nodes, self._numbers = nodes, numbers


def layers_by(
    executor: str,
    device: Device,
    progress: bool | Tell = False,
    check_room: Callable[[Prepared], None] = lambda prepared: None,
    waits: bool = True,
) -> ProveLayers:
    """Return the function that proves layers one after another by a device of this process.

    On a GPU a thread prepares the next layer during a proof.

    Args:
        executor: ``"threads"`` or ``"sync"``.
        device: The device.
        progress: As in `graphprover.prove`, of each layer.
        check_room: Called with each prepared layer before it is proved.
        waits: As in `graphprover.prover.local.make`.
    """

    def prove(parts: Sequence[LayerPlan]) -> Iterator[tuple[LayerJob, Made]]:
        ahead = pays(device) and len(parts) > 1
        for part, (layer, prepared, stage) in zip(parts, _prepared(parts, ahead), strict=True):
            check_room(prepared)
            with timed(lambda layout: False), told(progress) as tell:  # a caller's times are of the first proof's tasks
                made = make(prepared, executor, device, _named(tell, part.name), verified=False, waits=waits)
            yield layer, made.with_stage("prepare", stage.start, stage.end)

    return prove


def _named(tell: Tell | None, name: str) -> Tell | bool:
    """Return the progress of a layer about some proofs, whose tasks have their names; False without any progress."""
    if not tell or not name:
        return tell or False
    return lambda ended, total, task: tell(ended, total, f"{name}, {task}" if task else "")


def _prepared(parts: Sequence[LayerPlan], ahead: bool) -> Iterator[tuple[LayerJob, Prepared, Stage]]:
    """Yield the layer about each part, the prepared statement, and the stage of its preparation."""

    def prepared(part: LayerPlan) -> tuple[LayerJob, Prepared, Stage]:
        began = clock()
        layer = part.layer()
        statement = layer.prepare()
        return layer, statement, Stage("prepare", began, clock())

    if not ahead:
        yield from map(prepared, parts)
        return
    with ThreadPoolExecutor(1, "layer") as beside:
        coming = beside.submit(prepared, parts[0])
        for later in parts[1:]:
            layer, coming = coming.result(), beside.submit(prepared, later)
            yield layer
        yield coming.result()


def _span_name(first: str, last: str) -> str:
    """Return the name for people of a span of proofs."""
    return first if first == last else f"{first} to {last}"


def most_compressions(memory: int, rate: int) -> int:
    """Return how many compressions a layer may have.

    Args:
        memory: The bytes of the device's memory that a proof may have.
        rate: The rate of the layer is 1/``rate``.
    """
    logs = range(_MOST_LOG, _LEAST_LOG, -1)
    return 1 << next((log for log in logs if _DEVICE_BYTES * rate << log <= memory), _LEAST_LOG)


def grouped(compressions: Sequence[int], layers: Sequence[bool], most: int) -> list[int]:
    """Return the ends of groups of consecutive proofs, each of at most ``most`` compressions if it can be.

    A group has one proof at least, and two if both are layers, so that the number of proofs falls in each turn.

    Args:
        compressions: The compressions that each proof takes.
        layers: Whether each proof is a layer.
        most: The compressions of a group.
    """
    ends, begin, total = list[int](), 0, 0
    for number, (own, is_layer) in enumerate(zip(compressions, layers, strict=True)):
        alone = number - begin == 1 and is_layer and layers[begin]
        if number > begin and (number - begin == MOST_CHILDREN or (total + own > most and not alone)):
            ends.append(number)
            begin, total = number, 0
        total += own
    return [*ends, len(compressions)]
