"""The observation of a compressed proof, from the ones of its base and of its layers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphprover.telemetry.observation import Observation
from graphprover.telemetry.tree import TreePart


@dataclass(frozen=True)
class ObservedLayer:
    """A layer of a tree."""

    about: str  # names of the proofs that it is about; empty for the only one
    parts: tuple[int, ...]  # their numbers in the tree: the given proofs come first, then the layers
    observation: Observation


def with_layers(base: Observation | None, given: Sequence[str], layers: Sequence[ObservedLayer]) -> Observation:
    """Return the observation of a compressed proof, with its layers and their tree.

    Args:
        base: The observation of the given proof or of its shards, if it was observed. Without it, the first layer's
            observation has the others.
        given: The names of the given proofs and shards.
        layers: The layers, in the order in which they were proved.
    """
    observed = [replace(layer.observation, about=layer.about) for layer in layers]
    tree = (
        *_given(base, given, observed),
        *(
            TreePart(_name(layer), *_span(one), layer.parts, one.worker)
            for layer, one in zip(layers, observed, strict=True)
        ),
    )
    whole, *others = [*([base] if base else []), *observed]
    found = replace(whole, tree=tree, layers=tuple(others))
    return found.named(base.name) if base else found


def _given(base: Observation | None, names: Sequence[str], layers: Sequence[Observation]) -> list[TreePart]:
    """Return the given proofs and shards; without an observation, they have the time at which the layers begin."""
    if base is None:
        began = min(one.began for one in layers)
        return [TreePart(name, began, began) for name in names]
    if not base.shards:
        return [TreePart(name or "proof", *_span(base), (), base.worker) for name in names]
    return [
        TreePart(
            name,
            base.began + min(stage.start for stage in shard.stages),
            base.began + max(stage.end for stage in shard.stages),
            (),
            shard.workers[-1] if shard.workers else "",
        )
        for name, shard in zip(names, base.shards, strict=True)
    ]


def _span(one: Observation) -> tuple[float, float]:
    return one.began, one.began + one.end


def _name(layer: ObservedLayer) -> str:
    return ": ".join([*[layer.about] * bool(layer.about), f"layer {layer.observation.layer}"])
