"""What a proof spends its time with, in the words of Dask's dashboard."""

from collections import Counter, defaultdict
from collections.abc import Iterable

# By the first word of a round, which is the group of its tasks (`graphs.keys`).
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
# What comes before, after and between the tasks of a graph.
EXECUTE, WAITING, HOST, VERIFY = "execute", "waiting", "host", "verify"


def activity(round_: str) -> str:
    """What a round is called; raises KeyError for one that is none."""
    return ACTIVITIES[round_.partition("_")[0]]


def shares(spans: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    """Seconds of each name, of tasks that began and ended at such times.

    A time in which k tasks run counts a k-th for each, so that all together are the time in which any runs.
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
