"""How far a proof is, told while its graph runs."""

from collections.abc import Callable, Hashable
from typing import Any

from dask.callbacks import Callback

# Tasks that have ended, tasks in all, and the task that begins, as "round of tables": "" at the end and on a cluster.
Tell = Callable[[int, int, str], None]


def local_progress(tell: Tell | None) -> dict[str, Any]:
    """What ``dask.compute`` takes so that ``tell`` follows this graph alone, whatever else the process computes."""
    if tell is None:
        return {}
    return {"callbacks": [*Callback.active, _Following(tell)._callback]}


class _Following(Callback):
    """Tells at the beginning of each task, and when all are done."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def _pretask(self, key: Hashable, dsk: Any, state: Any) -> None:
        ended = len(state["finished"])
        total = ended + sum(len(state[kind]) for kind in ("running", "ready", "waiting"))
        round_, _, name = str(key).rpartition("-")[0].partition("-")
        self._tell(ended, total, f"{round_} of {name}")

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        if not errored:
            self._tell(len(state["finished"]), len(state["finished"]), "")


def result_of(future: Any, tell: Tell | None) -> Any:
    """The value of a ``distributed.Future``; ``tell`` hears of it ten times a second, on the thread of its client."""
    if tell is not None:
        future.client.sync(_feed(future, tell).listen)
    return future.result()


def _feed(future: Any, tell: Tell) -> Any:
    """What the scheduler tells of the future's task and of all that it needs."""
    from distributed.diagnostics.progressbar import ProgressBar

    class Feed(ProgressBar):
        def _draw_bar(self, remaining: int, all: int, **more: Any) -> None:
            tell(all - remaining, all, "")

    return Feed([future], future.client.scheduler.address)
