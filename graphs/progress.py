"""How far a proof is, told while its graph runs."""

from collections.abc import Callable, Hashable
from typing import Any

from dask.callbacks import Callback

from graphprover.graphs.task_keys import words_of

# Tasks that have ended, tasks in all, and the task that begins, as `keys.words_of` it: "" at the end.
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
        self._tell(ended, total, words_of(key))

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        if not errored:
            self._tell(len(state["finished"]), len(state["finished"]), "")
