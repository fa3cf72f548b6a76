"""Fixtures of the tests of commands."""

from pathlib import Path

import pytest


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Enter the module's folder, after the output of the commands that filled it."""
    monkeypatch.chdir(folder)
    capsys.readouterr()
    return folder
