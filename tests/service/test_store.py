"""The store: proofs are there as a whole or not at all, on this host and behind another file system.

It is also tested on an object store if the environment names a folder of one.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from graphprover.service import store as module
from graphprover.service.store import INPUTS, PROGRAMS, Store, StoreError, proof_key

PROOF, CLAIM, REPORT = b"proof" * 1000, {"says": {"output": 1}}, {"seconds": {"prove": 0.5}}
OBJECT_STORE = "GRAPHPROVER_TEST_STORE"  # environment variable with the URL of a folder


@pytest.fixture(
    params=[
        "folder",
        "memory",
        pytest.param(
            "objects", marks=pytest.mark.skipif(OBJECT_STORE not in os.environ, reason=f"{OBJECT_STORE} is not set")
        ),
    ]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Return an empty store."""
    url = {"folder": str(tmp_path / "store"), "memory": "memory://store", "objects": os.environ.get(OBJECT_STORE, "")}
    found = Store(url[request.param])
    yield found
    for kind, name in ((PROGRAMS, "hash"), (INPUTS, "hash")):
        found.remove_upload(kind, name)
    found.remove_proof("key")
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def test_a_proof_comes_back_with_its_claim_and_report(store: Store) -> None:
    assert store.claim("key") is None
    store.save_proof("key", PROOF, CLAIM, REPORT)
    found = store.claim("key")
    assert found and found["says"] == CLAIM["says"] and found["proof_bytes"] == len(PROOF)
    assert store.report("key") == REPORT and b"".join(store.proof_chunks("key")) == PROOF
    store.remove_proof("key")
    assert store.claim("key") is None
    store.remove_proof("key")  # nothing is left to remove


def test_large_proofs_come_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 1000)
    store.save_proof("key", PROOF, CLAIM, REPORT)
    assert [len(chunk) for chunk in store.proof_chunks("key")] == [1000] * 5


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_an_interrupted_write_leaves_no_proof(store: Store, writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    write, left = Store._write, [writes]

    def interrupted(self: Store, path: str, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        write(self, path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.save_proof("key", PROOF, CLAIM, REPORT)
    assert store.claim("key") is None
    store.save_proof("key", PROOF, CLAIM, REPORT)
    assert store.claim("key")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("proof.bin", PROOF[:-1]),
        ("proof.bin", bytes(len(PROOF))),
        ("claim.json", b"{"),
        ("claim.json", b"{}"),
        ("claim.json", b"[]"),
        ("claim.json", b"\xff"),
        ("claim.json", b"[" * 100_000),
        ("report.json", b""),
    ],
)
def test_a_damaged_proof_is_removed(store: Store, name: str, data: bytes) -> None:
    store.save_proof("key", PROOF, CLAIM, REPORT)
    claim = store.claim("key")
    assert claim and store.intact("key") == claim
    store._write(f"{store._folder('key')}/{name}", data)
    assert store.intact("key") is None and store.claim("key") is None
    assert not store._files.exists(f"{store._folder('key')}/proof.bin")
    store.save_proof("key", PROOF, CLAIM, REPORT)
    assert store.intact("key") == claim


def test_a_proof_in_the_making_stays(store: Store) -> None:
    store._write(f"{store._folder('key')}/proof.bin", PROOF)
    assert store.intact("key") is None and store._files.exists(f"{store._folder('key')}/proof.bin")


def test_uploads(store: Store, tmp_path: Path) -> None:
    assert not store.has_upload(PROGRAMS, "hash") and not store.is_upload(PROGRAMS, "hash", b"elf")
    store.save_upload(PROGRAMS, "hash", b"elf")
    assert store.is_upload(PROGRAMS, "hash", b"elf")
    assert not any(store.is_upload(PROGRAMS, "hash", other) for other in (b"", b"el", b"elf ", b"ELF"))
    store.save_upload(PROGRAMS, "hash.vk", b"key")
    store.save_upload(INPUTS, "hash", b"input")
    assert store.upload(PROGRAMS, "hash") == b"elf" and store.upload(PROGRAMS, "hash.vk") == b"key"
    store.copy_upload(INPUTS, "hash", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"input"
    store.remove_upload(PROGRAMS, "hash")
    assert not store.has_upload(PROGRAMS, "hash.vk") and store.has_upload(INPUTS, "hash")
    with pytest.raises(FileNotFoundError):
        store.upload(PROGRAMS, "hash")
    store.check()


def test_a_store_that_cannot_be_written_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Exception, match="file"):
        Store(str(tmp_path / "file")).check()


def test_a_file_system_with_folders_gets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like one of another host, by SFTP for example."""
    store, made = Store(str(tmp_path)), list[str]()
    monkeypatch.setattr(store, "_is_local", False)
    makedirs = store._files.makedirs
    monkeypatch.setattr(
        store._files, "makedirs", lambda path, exist_ok: (made.append(path), makedirs(path, exist_ok=exist_ok))
    )
    store.save_upload(PROGRAMS, "hash", b"elf")
    store.save_upload(PROGRAMS, "hash.vk", b"key")
    assert made == [f"{tmp_path}/programs"] and store.upload(PROGRAMS, "hash.vk") == b"key"


class OfALibrary(Exception):
    """An exception like botocore's, which is no OSError."""


@pytest.mark.parametrize(
    "use",
    [
        Store.check,
        lambda store: store.has_upload(PROGRAMS, "hash"),
        lambda store: store.upload(PROGRAMS, "hash"),
        lambda store: store.is_upload(PROGRAMS, "hash", b"elf"),
        lambda store: store.save_upload(PROGRAMS, "hash", b"elf"),
        lambda store: store.remove_upload(PROGRAMS, "hash"),
        lambda store: store.copy_upload(PROGRAMS, "hash", Path("copy")),
        lambda store: store.save_proof("key", PROOF, CLAIM, REPORT),
        lambda store: store.claim("key"),
        lambda store: store.report("key"),
        lambda store: b"".join(store.proof_chunks("key")),
        lambda store: store.remove_proof("key"),
    ],
)
def test_an_error_of_a_library_is_one_of_the_store(
    use: Callable[[Store], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **options: object) -> None:
        raise OfALibrary("no route to host")

    store = Store("memory://store")
    for method in ("cat_file", "exists", "get_file", "makedirs", "open", "pipe_file", "rm_file", "size"):
        monkeypatch.setattr(store._files, method, fail, raising=False)
    with pytest.raises(StoreError, match="OfALibrary: no route to host"):
        use(store)


def test_files_of_the_folder_are_the_documented_ones(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.save_upload(PROGRAMS, "hash", b"elf")
    store.save_proof("key", PROOF, CLAIM, REPORT)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["programs/hash", "proofs/key/claim.json", "proofs/key/proof.bin", "proofs/key/report.json"]
    assert json.loads((tmp_path / "proofs/key/claim.json").read_text())["says"] == CLAIM["says"]


def test_files_are_private_whatever_the_umask_and_the_folder(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(0o755)
    before = os.umask(0)
    try:
        store = Store(str(tmp_path / "store"))
        store.save_upload(PROGRAMS, "hash", b"elf")
        store.save_proof("key", PROOF, CLAIM, REPORT)
    finally:
        os.umask(before)
    made = list((tmp_path / "store").rglob("*"))
    assert len(made) == 7 and not any(path.stat().st_mode & 0o077 for path in made)


def test_the_key_of_a_proof_covers_all_that_decides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"rate": 8, "hash": "keccak"}
    keys = {
        proof_key("program", "input", options),
        proof_key("other", "input", options),
        proof_key("program", "other", options),
        proof_key("program", None, options),
        proof_key("program", "input", options | {"rate": 4}),
        proof_key("program", "input", {}),
    }
    assert len(keys) == 6
    assert proof_key("program", "input", dict(reversed(options.items()))) in keys
    monkeypatch.setattr(module, "__version__", "another")
    assert proof_key("program", "input", options) not in keys
