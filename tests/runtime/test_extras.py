"""The command that installs an extra names the source of the installed copy."""

import json
from importlib import metadata
from pathlib import Path

import pytest

from graphprover.runtime import extras
from graphprover.runtime.extras import install

ROOT = Path(__file__).parents[2]


def copy_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, direct: object, installer: str = "pip") -> None:
    """Make the package a copy that was installed from a source; ``direct``: the contents of ``direct_url.json``."""
    texts = {"INSTALLER": f"{installer}\n", "direct_url.json": json.dumps(direct) if direct else None}

    class Found:
        read_text = texts.get

    monkeypatch.setattr(extras, "PACKAGE", tmp_path / "site-packages" / "graphprover")
    monkeypatch.setattr(metadata, "distribution", lambda name: Found)


def test_a_checkout() -> None:
    assert install("prover") == f"pip install -e '{ROOT}[prover]'"


@pytest.mark.parametrize(
    ("direct", "command"),
    [
        (None, "pip install 'graphprover[prover]'"),
        (
            {"url": "https://host/graphprover-1.whl", "archive_info": {}},
            "'graphprover[prover] @ https://host/graphprover-1.whl'",
        ),
        (
            {"url": "https://host/graphprover.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'graphprover[prover] @ git+https://host/graphprover.git@abc'",
        ),
        ({"url": "file:///gone/from/here", "dir_info": {}}, "pip install '.[prover]' in a checkout"),
    ],
)
def test_other_sources(direct: object, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_of(monkeypatch, tmp_path, direct)
    assert install("prover").endswith(command)


def test_a_folder_or_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "my folder").mkdir()
    copy_of(monkeypatch, tmp_path, {"url": folder.as_uri(), "dir_info": {}}, "uv")
    assert install("prover,serve") == f"uv pip install '{folder}[prover,serve]'"


def test_no_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    copy_of(monkeypatch, tmp_path, None)
    monkeypatch.setattr(metadata, "distribution", missing)
    assert install("prover") == "pip install '.[prover]' in a checkout"
