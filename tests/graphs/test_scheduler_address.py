"""Addresses of schedulers, and scheduler files, before anything connects."""

import os
from pathlib import Path

import dask
import pytest

from graphprover.graphs.scheduler_address import address_error, address_in

SCHEME, PLACE = "begins with tcp:// or tls://", "expected HOST:PORT after the scheme"


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://scheduler-1.cluster_a:1"])
def test_addresses(address: str, tmp_path: Path) -> None:
    assert address_error(address) is None
    file = tmp_path / "scheduler.json"
    file.write_text(f'{{"type": "Scheduler", "address": "{address}"}}')
    assert address_in(file) == address


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://", PLACE),
        ("tcp://h", PLACE),
        ("tcp://h:", PLACE),
        ("tcp://h:abc", PLACE),
        ("tcp://h:0", PLACE),
        ("tcp://h:65536", PLACE),
        ("tcp://h:1/x", PLACE),
        ("tcp://[::1:1", PLACE),
        ("tcp://user@h:1", PLACE),
        ("http://127.0.0.1:9", SCHEME),
        ("inproc://x", SCHEME),
        ("ucx://127.0.0.1:9", SCHEME),
    ],
)
def test_what_is_no_address(address: str, reason: str) -> None:
    assert reason in str(address_error(address))


def test_a_scheduler_without_sockets_is_in_this_process() -> None:
    own = os.getpid()
    assert address_error(f"inproc://127.0.0.1/{own}/1") is None
    assert SCHEME in str(address_error(f"inproc://127.0.0.1/{own + 1}/1"))


def test_tls_needs_settings() -> None:
    names = {"distributed.comm.tls.ca-file": "ca.pem", "distributed.comm.tls.client.cert": "cert.pem"}
    for given in names:
        with dask.config.set({given: names[given]}):
            (missing,) = names.keys() - {given}
            assert f"settings {missing}: see" in str(address_error("tls://127.0.0.1:1"))
    with dask.config.set(names):
        assert address_error("tls://127.0.0.1:1") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON: `dask scheduler --scheduler-file"),
        ("{", "not JSON"),
        ("[1]", "has no scheduler's address: `dask scheduler"),
        ('{"address": 5}', "has no scheduler's address"),
        ("{}", "has no scheduler's address"),
        ('{"address": "inproc://x"}', "has the address 'inproc://x': a scheduler's address begins with tcp://"),
        ("\udcff", "not JSON"),
    ],
)
def test_what_is_no_scheduler_file(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(text, errors="surrogateescape")
    with pytest.raises(ValueError, match=r".") as raised:
        address_in(file)
    assert str(raised.value).startswith(reason)
    with pytest.raises(ValueError, match=r"^Is a directory"):
        address_in(tmp_path)


def test_a_file_that_is_being_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "scheduler.json"
    file.touch()
    whole = '{"address": "tcp://h:1"}'
    monkeypatch.setattr("graphprover.graphs.scheduler_address.time.sleep", lambda seconds: file.write_text(whole))
    assert address_in(file) == "tcp://h:1"
