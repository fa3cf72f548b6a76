"""Workers' clocks are converted to one clock by the smallest shift that keeps causes before effects."""

from typing import Any

import pytest

from graphprover.telemetry.merge import Clock, TaskReply, TaskTelemetry, clock_of
from graphprover.telemetry.model import ObservedShard, Stage, lanes_of


def asked(sent: float, start: float, end: float, received: float) -> TaskReply:
    """Return a task's reply with the times of request and answer here, and of start and end by the worker's clock."""
    stages = Stage("prepare", start, start), Stage("commit", start, end)
    nothing: dict[str, Any] = dict.fromkeys(TaskTelemetry.__dataclass_fields__)
    return TaskReply(TaskTelemetry(**nothing | {"stages": stages}), sent, received, 0)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([asked(1.0, 1.25, 2.0, 2.5)], Clock(0.0, 0.5)),  # may be as it says
        ([asked(1.0, 11.25, 12.0, 2.5)], Clock(9.5, 0.75)),  # ten seconds ahead, or as few as end before the answer
        ([asked(11.0, 1.25, 2.0, 12.5)], Clock(-9.75, 0.75)),  # behind
        ([asked(1.0, 1.25, 2.0, 2.5), asked(3.0, 3.0, 4.5, 4.5)], Clock(0.0, 0.0)),  # what two allow
    ],
)
def test_a_clock_is_moved_so_that_nothing_comes_before_its_cause(tasks: list[TaskReply], expected: Clock) -> None:
    assert clock_of(tasks) == expected
    for task in tasks:
        start, end = task.part.stages[0].start - expected.ahead, task.part.stages[-1].end - expected.ahead
        assert task.sent <= start and end <= task.received


def test_shards_that_the_client_verifies_at_the_same_time_have_rows_of_their_own() -> None:
    def shard(start: float, end: float) -> ObservedShard:
        stages = Stage("prepare", 0.0, 0.5, by_worker=True), Stage("verify", start, end)
        return ObservedShard(1, "all", 0, 0, stages, {}, ("tcp://a:1", "tcp://a:1"))

    found = lanes_of([shard(2.0, 3.0), shard(1.0, 2.5), shard(2.5, 4.0), shard(3.0, 4.0)])
    assert [index for index, *_ in found] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert {lane for _, stage, lane in found if stage.by_worker} == {"tcp://a:1 shards"}
    client, second = "client verifies", "client verifies 2"
    assert [lane for _, stage, lane in found if not stage.by_worker] == [second, client, client, second]
