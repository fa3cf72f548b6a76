"""The progress of a proof in a notebook: below the cell by default, and nowhere else unless it is asked for."""

import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphprover import Prover, prove
from graphprover.examples import memory
from graphprover.prover.local import told
from graphprover.runtime.display import notebook
from tests.graphs.test_proof_graph import FEW, example

GUEST = Path(__file__).parents[3] / "examples" / "guests" / "fib_iterative.elf"


class ZMQInteractiveShell:
    """The shell of a notebook's kernel, as much of it as a bar needs."""

    def __init__(self) -> None:
        self.published: list[tuple[dict[str, str], str, bool]] = []
        self.display_pub = self

    def publish(self, data: dict[str, str], *, transient: dict[str, str], update: bool) -> None:
        self.published.append((data, transient["display_id"], update))


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> ZMQInteractiveShell:
    """Return the shell of the notebook whose code this process runs."""
    own = ZMQInteractiveShell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: own))
    return own


def test_a_notebook_shows_one_line_that_changes(shell: ZMQInteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "BAR_SECONDS", 0.0)
    with told(None) as tell:
        assert tell
        tell(0, 3, "tree <of> main")
        tell(1, 3, "quotient")
        monkeypatch.setattr(notebook, "BAR_SECONDS", 60.0)
        tell(2, 3, "too soon to be drawn")
        tell(3, 3, "")
    shown, places, updates = zip(*shell.published, strict=True)
    assert updates == (False, True, True) and len(set(places)) == 1
    assert "&lt;of&gt;" in shown[0]["text/html"] and '<progress value="1" max="3"' in shown[1]["text/html"]
    assert shown[2]["text/plain"].startswith("3 of 3 tasks, ") and shown[2]["text/plain"].endswith(" s")


@pytest.mark.parametrize("own", [True, None])
def test_proofs_show_their_progress_by_default(own: bool | None, shell: ZMQInteractiveShell) -> None:
    """Also if the cell asks for a bar."""
    prove(example(memory), "sync", parameters=FEW, device="cpu", **({} if own is None else {"progress": own}))
    (*_, (last, _, _)) = shell.published
    ended, _, total, *_ = last["text/plain"].split()
    assert ended == total
    shell.published.clear()
    Prover(GUEST, security=20, device="cpu").prove(struct.pack("<Q", 9))
    assert shell.published


def test_a_cell_may_have_no_bar_or_one_of_its_own(shell: ZMQInteractiveShell) -> None:
    seen: list[Any] = []
    for progress in (False, lambda *words: seen.append(words)):
        prove(example(memory), "sync", parameters=FEW, device="cpu", progress=progress)
    assert not shell.published and seen


@pytest.mark.parametrize("found", [None, "TerminalInteractiveShell"])
def test_elsewhere_nothing_is_shown(
    found: str | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A script that has imported IPython has no shell; a prompt is no notebook."""
    prompt = type(found, (), {})() if found else None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: prompt))
    prove(example(memory), "sync", parameters=FEW, device="cpu")
    assert notebook.kernel() is None and capfd.readouterr() == ("", "")
