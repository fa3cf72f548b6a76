"""Executors that cannot be, on the command line: told as options are parsed, before a program or a proof is read."""

from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import USAGE

COMMANDS = (
    ["prove", "none.elf"],
    ["batch", "none.toml"],
    ["compress", "none.bin"],
    ["aggregate", "none.bin"],
    ["serve", "--data", "none"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("executor", "reason"),
    [
        ("tcp://", "expected HOST:PORT"),
        ("tcp://h:abc", "expected HOST:PORT"),
        ("http://127.0.0.1:9", "a scheduler's address begins with tcp://"),
        ("inproc://x", "a scheduler's address begins with tcp://"),
        ("ucx://127.0.0.1:9", "a scheduler's address begins with tcp://"),
        ("tls://127.0.0.1:9", "TLS needs Dask's settings"),
        ("scheduler.json", "not JSON"),
        ("none.json", "no such file; `dask scheduler"),
    ],
)
def test_what_is_no_executor(
    command: list[str],
    executor: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scheduler.json").write_text("{")
    with pytest.raises(SystemExit) as ended:
        main([*command, "--executor", executor])
    error = capsys.readouterr().err
    assert ended.value.code == USAGE and error.count("\n") == 1
    assert error.startswith(f"graphprover: argument --executor: {executor}: {reason}")
