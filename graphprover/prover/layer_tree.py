"""The tree of layers: from proofs and shards to one layer about all of them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import accumulate, pairwise

from graphprover.device import Device
from graphprover.graphs.observer import timed
from graphprover.graphs.planner.layers import Target
from graphprover.graphs.planner.trees import grouped, most_compressions
from graphprover.graphs.progress import Tell
from graphprover.proof.compressed import Accepted, AnyProof, CompressedProof, ShardHeaders
from graphprover.proof.proof import Proof
from graphprover.protocol.layout import Layout
from graphprover.protocol.level import LayerLevel, Level
from graphprover.protocol.proof import Caps
from graphprover.prover.layers import LayerJob, LayerSubject, check_compressible, subjects_of
from graphprover.prover.local import make, pays, told
from graphprover.prover.made import Made
from graphprover.prover.prepare import Prepared
from graphprover.prover.tree_choice import Layers, chosen_layers
from graphprover.recursion.expected import LayerWork, work_about
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.telemetry.layers import ObservedLayer, with_layers
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock
from graphprover.verifier.compressed import blamed
from graphprover.verifier.headers import layout_of_proof, layouts_of_proof
from graphprover.verifier.layer_key import LayerStatement


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A proof, or a shard of one, that a layer is to be about."""

    proof: Proof  # without payload if that is in another process
    size: int  # the bytes of the proof with its payload
    layout: Callable[[], Layout]
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

    @cached_property
    def work(self) -> LayerWork:
        """The expected part of a layer's work that is about it."""
        return work_about(self.layout())


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
        level: The level, without a rate of a layer.
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
    proof: AnyProof,
    statements: Sequence[Statement | ShardedStatement],
    level: Level,
    name: str,
    preprocessed: Caps,
) -> list[TreeNode]:
    def subjects() -> list[LayerSubject]:
        with blamed(partial(str, name)):
            return subjects_of(proof, statements, level, preprocessed)

    @cache
    def layouts() -> list[Layout]:
        with blamed(partial(str, name)):
            if isinstance(proof, CompressedProof):
                return [layout_of_layer(proof.layer)]
            return layouts_of_proof(proof, statements[0])

    def node(of: Proof, size: int, own_name: str, subject: Callable[[], LayerSubject], index: int = 0) -> TreeNode:
        children = proof.children if isinstance(proof, CompressedProof) else ()
        return TreeNode(of, size, lambda: layouts()[index], children, subject, own_name, own_name)

    if isinstance(proof, CompressedProof):
        return [node(proof.layer, proof.layer.size, name, lambda: subjects()[0])]
    if isinstance(proof, Proof):
        return [node(proof, proof.size, name, lambda: subjects()[0])]
    once = cache(subjects)  # the shards are verified together
    sizes = proof.sizes if isinstance(proof, ShardHeaders) else [own.size for own in proof.proofs]
    return [
        node(
            own, size, ", ".join([*[name] * bool(name), f"shard {index}"]), partial(lambda at: once()[at], index), index
        )
        for index, (own, size) in enumerate(zip(proof.proofs, sizes, strict=True))
    ]


@dataclass(frozen=True, eq=False)
class LayerPlan:
    """Proofs that one layer is to be about."""

    nodes: Sequence[TreeNode]
    level: LayerLevel  # of the layer

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
        subject, layout = layer.subject_by(proof), partial(layout_of_layer, proof)
        return TreeNode(proof, proof.size, layout, layer.children, subject, self.nodes[0].first, self.nodes[-1].last)


def layout_of_layer(layer: Proof) -> Layout:
    """Return the layout of a layer; raises VerificationError for another header than a layer has."""
    return layout_of_proof(layer, LayerStatement(layer.log_heights), shard=False)


# Prepares and proves the layers about some proofs, in their order: each with its record.
ProveLayers = Callable[[Sequence[LayerPlan]], Iterator[tuple[LayerJob, Made]]]


def compressed(
    base: Made,
    statement: Statement | ShardedStatement,
    level: Level,
    layers: Layers,
    prove: ProveLayers,
    target: Target,
) -> Made:
    """Compress a proof: `joined` of its shards, with the cost of the proof itself.

    Args:
        base: The proof, which is verified by its layers, or its headers; it is not compressed yet.
        statement: The statement that it proves.
        level: The level of the proof.
        layers: The layers.
        prove: As in `joined`.
        target: As in `joined`.
    """
    began = clock()
    nodes = nodes_of([base.proof], [statement], level, [""], base.preprocessed_caps)
    levels = chosen_layers([node.layout() for node in nodes], level, layers, target)
    made = joined(nodes, levels, prove, target, base.observation)
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
    levels: Sequence[LayerLevel],
    prove: ProveLayers,
    target: Target,
    base: Observation | None = None,
) -> Made:
    """Return one layer about all proofs: layers are about the proofs that fit, others about these layers, and so on.

    A layer is about as many proofs as make the whole tree fastest (`graphprover.graphs.planner.trees`).

    Args:
        nodes: The proofs.
        levels: The level of all layers up to the first one about all. For each further level there is one more layer.
        prove: Proves the layers of a level of the tree.
        target: The devices that prove layers.
        base: The observation of the proofs, if there is one.

    Raises:
        ValueError: As in `graphprover.compress`.
        VerificationError: A proof does not convince.
    """
    tree, most = _Tree(nodes), 0
    while len(tree.nodes) > 1:
        works, are_layers = [node.work for node in tree.nodes], [node.is_layer for node in tree.nodes]
        most = most or most_compressions(works, are_layers, levels[0], target)
        tree.grow(grouped([work.compressions for work in works], are_layers, most), levels[0], prove)
    if not tree.nodes[0].is_layer:
        tree.grow([1], levels[0], prove)
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

    def grow(self, ends: Sequence[int], level: LayerLevel, prove: ProveLayers, more: bool = False) -> None:
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
    progress: bool | Tell | None = False,
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
