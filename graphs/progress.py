"""Progress reports of a running graph."""

from collections.abc import Callable, Hashable
from typing import Any

from dask.callbacks import Callback

from graphprover.graphs.task_keys import words_of

# Finished tasks, all tasks, and the starting task as `task_keys.words_of` names it; "" at the end.
Tell = Callable[[int, int, str], None]


def local_progress(tell: Tell | None) -> dict[str, Any]:
    """Return the arguments of ``dask.compute`` that report the progress of this graph only."""
    if tell is None:
        return {}
    return {"callbacks": [*Callback.active, _Following(tell)._callback]}


class _Following(Callback):
    """A callback that reports the start of each task, and the end of all."""

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
