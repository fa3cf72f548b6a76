"""Tokens: their file has digests only, and a request needs the exact token."""

import stat
from pathlib import Path

import pytest

from graphprover.runtime.files import FileError
from graphprover.service.tokens import add_token, digest_of, owner_of, read_tokens


def test_a_new_token_names_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    tokens = {name: add_token(file, name) for name in ("alice", "bob@host")}
    assert len(set(tokens.values())) == 2 and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not any(token in file.read_text() for token in tokens.values())
    digests = read_tokens(file)
    for name, token in tokens.items():
        assert owner_of(f"Bearer {token}", digests) == owner_of(f"bearer  {token} ", digests) == name
        for wrong in ("", token, f"Basic {token}", f"Bearer {token[:-1]}", f"Bearer {digests[name]}", "Bearer "):
            assert owner_of(wrong, digests) is None


def test_a_file_may_have_comments_and_a_last_line_without_an_end(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# mine\n\nalice {digest_of('one')}")
    token = add_token(file, "bob")
    assert read_tokens(file) == {"alice": digest_of("one"), "bob": digest_of(token)}


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        ("", "no token"),
        ("# none\n", "no token"),
        ("alice\n", "line 1: expected a name"),
        (f"alice {'0' * 63}\n", "line 1: expected a name"),
        (f"\nal/ice {'0' * 64}\n", "line 2: expected a name"),
        (f"alice {'0' * 64}\nalice {'1' * 64}\n", "line 2: the name alice is there twice"),
    ],
)
def test_an_invalid_file_is_refused(tmp_path: Path, contents: str, problem: str) -> None:
    (tmp_path / "tokens").write_text(contents)
    with pytest.raises(FileError, match=problem):
        read_tokens(tmp_path / "tokens")


def test_a_name_is_there_once(tmp_path: Path) -> None:
    add_token(tmp_path / "tokens", "alice")
    with pytest.raises(FileError, match="is there already"):
        add_token(tmp_path / "tokens", "alice")
    with pytest.raises(FileError, match="letters, digits"):
        add_token(tmp_path / "tokens", "a b")
