"""The choice of commitments if workers differ."""

from types import SimpleNamespace
from typing import Any, cast

from graphprover.cluster.commitments import Version, by_workers, differing, suspects, without
from graphprover.cluster.results import ShardCommitment
from graphprover.cluster.shard_tasks import LaidOut
from graphprover.cluster.tasks import TaskResult


def version(worker: str, digest: int = 0) -> Version:
    return Version(ShardCommitment(bytes([digest]), cast(Any, None)), worker, "", cast(Any, None), None)


def test_a_worker_that_differs_from_several_is_suspected_first() -> None:
    first = [version("b"), version("bad", 1), version("c"), version("b")]
    second = {0: version("bad", 2), 1: version("c"), 2: version("b"), 3: version("c")}
    assert differing(first, second) == [0, 1]
    assert suspects(first, second) == ["bad", "b", "c"]
    assert without(first, second, {"bad"}) == [first[0], second[1], first[2], first[3]]


def test_of_two_workers_that_differ_both_are_suspected() -> None:
    first = [version("a"), version("b", 1)]
    second = {0: version("b", 2), 1: version("a")}
    assert set(suspects(first, second)) == {"a", "b"}
    assert without(first, second, {"a"}) == [second[0], first[1]]
    assert without(first, second, {"b"}) == [first[0], second[1]]


def test_a_worker_that_differs_from_itself_makes_its_shards_again() -> None:
    first, second = [version("a"), version("a", 1)], {0: version("a"), 1: version("a", 2)}
    assert suspects(first, second) == ["a"] and without(first, second, {"a"}) == [second[0], second[1]]


def test_nobody_is_suspected_if_all_agree() -> None:
    first, second = [version("a"), version("b")], {0: version("b"), 1: version("a")}
    assert not differing(first, second) and not suspects(first, second)


def test_workers_are_named_with_their_shards() -> None:
    assert by_workers({2: "a", 0: "a", 1: "b"}) == "a (shards 0, 2), b (shard 1)"


def test_a_worker_finishes_no_more_than_its_share_of_windows() -> None:
    """Workers that join after the windows were recorded get shards, too."""
    held = {index: cast(TaskResult, SimpleNamespace(worker="a" if index < 5 else "b")) for index in range(6)}
    laid_out = LaidOut(cast(Any, range(6)), held)
    assert [list(laid_out.spread(workers)) for workers in (1, 2, 3)] == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 5], [0, 1, 5]]
