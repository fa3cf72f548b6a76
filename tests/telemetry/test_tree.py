"""The tree of a compressed proof: its critical path, and its observation."""

from dataclasses import replace

import pytest

from graphprover.reports.proof_page import proof_page
from graphprover.reports.tree_part import path_text
from graphprover.telemetry.layers import ObservedLayer, with_layers
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.tree import TreePart, critical_path
from tests.reports.observations import in_shards, on_cpu


@pytest.mark.parametrize(
    ("ends", "path"),
    [((1.0, 5.0, 2.0), [1, 3, 5]), ((1.0, 2.0, 9.0), [2, 4, 5]), ((1.0, 1.0, 1.0), [2, 4, 5])],
)
def test_the_critical_path_goes_through_the_part_that_ends_last(ends: tuple[float, ...], path: list[int]) -> None:
    given = [TreePart(f"shard {index}", 0.0, end) for index, end in enumerate(ends)]
    left, right = max(ends[:2]), ends[2] + 0.5
    layers = [
        TreePart("a", left, left + 1, (0, 1)),
        TreePart("b", right, right + 1, (2,)),
        TreePart("c", max(left, right) + 2, 20.0, (3, 4)),
    ]
    assert critical_path([*given, *layers]) == path


def test_the_sentence_has_the_times_between_the_parts() -> None:
    tree = [TreePart("shard 0", 0.0, 1.0), TreePart("shard 1", 0.0, 2.0), TreePart("layer 1", 2.25, 3.0, (0, 1))]
    assert path_text(tree) == "Critical path: shard 1 (2.00 s), then layer 1 (250 ms later, 750 ms)."


def tree(base: Observation | None) -> Observation:
    """Return the observation of three proofs or shards with a layer about two, one about the third, and one about both.

    All layers have the tasks of `on_cpu`, one second after another.
    """
    layers = [
        ObservedLayer(about, parts, replace(on_cpu(), layer=number, began=100.0 + index))
        for index, (about, parts, number) in enumerate([("x to y", (0, 1), 1), ("z", (2,), 1), ("x to z", (3, 4), 2)])
    ]
    found = with_layers(base, ["x", "y", "z"], layers)
    assert found
    return found


def test_layers_have_the_names_of_what_they_are_about() -> None:
    seen = tree(in_shards()).named("job")
    assert [one.name for one in seen.proofs] == [
        "job", "job: x to y: layer 1", "job: z: layer 1", "job: x to z: layer 2",
    ]  # fmt: skip
    assert [part.name for part in seen.tree] == ["x", "y", "z", "x to y: layer 1", "z: layer 1", "x to z: layer 2"]
    assert seen.of_worker("tcp://a:1").tree[0].worker == "tcp://a:1"


def test_shards_have_their_own_times() -> None:
    base = in_shards()
    for part, shard in zip(tree(base).tree, base.shards, strict=False):
        assert part.start == base.began + shard.stages[0].start
        assert part.end == base.began + max(stage.end for stage in shard.stages)


def test_json_marks_the_critical_path() -> None:
    facts = tree(in_shards()).summary()["tree"]
    assert [part["name"] for part in facts if part["critical"]] == ["z", "z: layer 1", "x to z: layer 2"]
    assert "tree" not in on_cpu().summary()


def test_without_a_base_the_first_layer_has_the_others() -> None:
    seen = tree(None)
    assert seen.layer == 1 and [one.layer for one in seen.layers] == [1, 2]
    assert [part.seconds for part in seen.tree[:3]] == [0.0] * 3


@pytest.mark.parametrize("base", [in_shards, lambda: None], ids=["shards", "proofs"])
def test_the_page_has_the_tree_and_the_layers_on_the_path(base: object) -> None:
    assert callable(base)
    text = proof_page(tree(base()).named("job"))
    assert "Critical path: " in text and "job: x to z: layer 2" in text
    assert "job: z: layer 1</h1>" in text and "job: x to y: layer 1</h1>" not in text
