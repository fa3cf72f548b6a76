"""Activities of a proof: the groups of time on Dask's dashboard."""

from collections import Counter, defaultdict
from collections.abc import Iterable

# By the first word of a round, which is the group of its tasks (`graphs.task_keys`).
ACTIVITIES = {
    "trace": "replay",
    "extend": "transforms",
    "tree": "hashing",
    "lookup": "lookups",
    "quotient": "quotients",
    "opening": "openings",
    "deep": "deep",
    "fri": "fri",
    "query": "queries",
    "transcript": "transcript",
}
# Activities before, after and between the tasks of a graph.
EXECUTE, WAITING, HOST, COMPRESS, VERIFY = "execute", "waiting", "host", "compress", "verify"


def activity(round_: str) -> str:
    """Return the activity of a round; raises KeyError for an unknown round."""
    return ACTIVITIES[round_.partition("_")[0]]


def shares(spans: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    """Return the seconds of each name, from tasks given as (name, start, end).

    While k tasks run, each counts a k-th of the time, so the sum is the time in which any task runs.
    """
    steps = sorted(
        step for name, begun, ended in spans if ended > begun for step in ((begun, 1, name), (ended, -1, name))
    )
    seconds: defaultdict[str, float] = defaultdict(float)
    running: Counter[str] = Counter()
    before = 0.0
    for time, change, name in steps:
        if count := running.total():
            for other, tasks in running.items():
                seconds[other] += (time - before) * tasks / count
        running[name] += change
        before = time
    return dict(seconds)
