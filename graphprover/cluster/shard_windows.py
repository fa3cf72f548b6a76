"""The two tasks before the commitments to a guest's run: workers record its windows, and lay out their tables.

The client has run the guest without a record. `RECORD` records a window on a worker. Its accesses come to the client,
which fills in the times before each window. `LAY_OUT` replays the window for its tables. Their shapes come to the
client, since each shard depends on the shapes of all. Record and tables stay on the worker. Each task's message is
enough to make its value from the beginning, so a lost worker costs its windows only.
"""

import uuid
from collections.abc import Sequence

from graphprover.cluster.results import accesses_in, shapes_in
from graphprover.cluster.shard_tasks import LAY_OUT, RECORD, LaidOut, ShardTasks
from graphprover.cluster.tasks import TaskResult
from graphprover.vm.traces.shared_run import RunShard, Shape, SharedRun


def lay_out(tasks: ShardTasks, shared: SharedRun) -> LaidOut:
    """Have the workers record the windows of a run in turn, and lay out their tables.

    Raises:
        VerificationError: If two workers return no such result for a window.
        Unprovable: For a run that has no proof.
        Exception: every exception of `Cluster.run`.
    """
    windows, token = shared.windows, uuid.uuid4().hex[:8]
    recorded, laid_out = dict[int, TaskResult](), dict[int, TaskResult]()

    def took_accesses(index: int, result: TaskResult) -> None:
        shared.recorded(index, result.value)
        recorded[index] = result

    workers = dict(zip(range(len(windows)), tasks.cluster.in_turn(tasks.device), strict=False))
    tasks.given[token] = windows
    tasks.ask(
        RECORD, tasks.numbers, token, lambda index, value: accesses_in(value, shared.words), took_accesses, at=workers
    )
    timed = tasks.given[token] = shared.timed()
    tasks.ask(LAY_OUT, tasks.numbers, token, lambda index, value: shapes_in(value), laid_out.__setitem__, held=recorded)
    tasks.let_go(recorded.values())
    each: list[Sequence[Shape]] = [laid_out[index].value for index in range(len(windows))]
    subjects = [RunShard(own.window.job, index, own.stated, each, own) for index, own in enumerate(timed)]
    return LaidOut(subjects, laid_out)
