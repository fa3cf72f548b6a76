"""The store of programs, inputs and proofs: files below a folder or URL that fsspec opens.

::

    programs/HASH            ELF files, by the hash of the program
    programs/HASH.vk         verifying keys
    inputs/HASH              by SHA-256
    proofs/KEY/proof.bin     by `proof_key`
    proofs/KEY/report.json
    proofs/KEY/claim.json    written last, with the size and the SHA-256 of the proof

A proof is there if its claim is. So a write that was interrupted leaves no proof, also if the file system writes a file
in steps.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import fsspec
from fsspec.implementations.local import LocalFileSystem

from graphprover import __version__
from graphprover.runtime.files import make_folder, write
from graphprover.vm.statement.version import MACHINE_VERSION, SHAPES_VERSION

PROGRAMS, INPUTS = "programs", "inputs"
PRIVATE = 0o600  # mode of files on this host
CHUNK = 1 << 20  # bytes that a download holds in memory

T = TypeVar("T")

_log = logging.getLogger(__name__)


def proof_key(program: str, input: str | None, options: Mapping[str, Any]) -> str:
    """Return the key of a proof in the store.

    Args:
        program: The hash of the program.
        input: The SHA-256 of the input; None without one.
        options: All options that decide the proof, or whether there is one.
    """
    versions = [__version__, MACHINE_VERSION, SHAPES_VERSION]
    subject = {"versions": versions, "program": program, "input": input, "options": dict(options)}
    return hashlib.sha256(json.dumps(subject, sort_keys=True, allow_nan=False).encode()).hexdigest()


class StoreError(OSError):
    """The library of an object store has failed with an exception of its own."""


def _call(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call a function of a file system; each of its errors is an OSError, so that no job is blamed for it."""
    try:
        return function(*arguments, **options)
    except OSError:
        raise
    except Exception as error:
        raise StoreError(f"{type(error).__name__}: {error}") from error


class Store:
    """The files below a folder or URL. Threads and processes may share it.

    Methods raise OSError if the file system fails.
    """

    def __init__(self, url: str) -> None:
        """Open a store; raises ValueError or ImportError for a URL that fsspec does not open."""
        self._files, root = fsspec.core.url_to_fs(url)
        self._root = root.rstrip("/")
        self._is_local = isinstance(self._files, LocalFileSystem)

    def check(self) -> None:
        """Write and remove a file; raises OSError if the store cannot be written."""
        probe = f"{self._root}/.probe"
        self._write(probe, b"graphprover")
        _call(self._files.rm_file, probe)

    def has_upload(self, kind: str, name: str) -> bool:
        """Return whether a program, a key or an input is there."""
        return bool(_call(self._files.exists, f"{self._root}/{kind}/{name}"))

    def is_upload(self, kind: str, name: str, data: bytes) -> bool:
        """Return whether a program or an input is there with these contents."""
        size, at = len(data), 0
        try:
            with _call(self._files.open, f"{self._root}/{kind}/{name}", "rb") as file:
                while chunk := _call(file.read, CHUNK):
                    if data[at : at + len(chunk)] != chunk:
                        return False
                    at += len(chunk)
        except FileNotFoundError:
            return False
        return at == size

    def save_upload(self, kind: str, name: str, data: bytes) -> None:
        """Write a program, a key or an input."""
        self._write(f"{self._root}/{kind}/{name}", data)

    def upload(self, kind: str, name: str) -> bytes:
        """Return a program, a key or an input; raises FileNotFoundError."""
        data: bytes = _call(self._files.cat_file, f"{self._root}/{kind}/{name}")
        return data

    def remove_upload(self, kind: str, name: str) -> None:
        """Remove a program or an input, and its key."""
        for file in (name, f"{name}.vk"):
            if self.has_upload(kind, file):
                _call(self._files.rm_file, f"{self._root}/{kind}/{file}")

    def copy_upload(self, kind: str, name: str, to: Path) -> None:
        """Copy an upload to a file of this host; raises FileNotFoundError."""
        _call(self._files.get_file, f"{self._root}/{kind}/{name}", str(to))

    def save_proof(self, key: str, proof: bytes, claim: Mapping[str, Any], report: Mapping[str, Any]) -> None:
        """Write a proof with its claim and report."""
        folder = self._folder(key)
        facts = {"proof_bytes": len(proof), "proof_sha256": hashlib.sha256(proof).hexdigest()}
        self._write(f"{folder}/proof.bin", proof)
        self._write(f"{folder}/report.json", json.dumps(report, allow_nan=False).encode())
        self._write(f"{folder}/claim.json", json.dumps({**claim, **facts}, allow_nan=False).encode())

    def claim(self, key: str) -> dict[str, Any] | None:
        """Return the claim of a proof, or None if the proof is not there, or has another size."""
        folder = self._folder(key)
        try:
            claim = self._json(f"{folder}/claim.json") or {}
            whole = _call(self._files.size, f"{folder}/proof.bin") == claim["proof_bytes"]
            return claim if whole and isinstance(claim["proof_sha256"], str) else None
        except (FileNotFoundError, KeyError):
            return None

    def intact(self, key: str) -> dict[str, Any] | None:
        """Return the claim of a proof whose bytes are the ones that were stored; a damaged proof is removed.

        So the next job with this key has it made again.
        """
        claim = self.claim(key)
        if claim and self.report(key) is not None:
            digest = hashlib.sha256()
            for chunk in self.proof_chunks(key):
                digest.update(chunk)
            if digest.hexdigest() == claim["proof_sha256"]:
                return claim
        if _call(self._files.exists, f"{self._folder(key)}/claim.json"):  # otherwise it may be in the making
            _log.warning("a damaged proof is removed from the store", extra={"proof": key})
            self.remove_proof(key)
        return None

    def report(self, key: str) -> dict[str, Any] | None:
        """Return the report of a proof; None if it is damaged or not there."""
        try:
            return self._json(f"{self._folder(key)}/report.json")
        except FileNotFoundError:
            return None

    def _json(self, path: str) -> dict[str, Any] | None:
        """Return the object in a file; None if it is damaged. Raises FileNotFoundError."""
        try:
            found = json.loads(_call(self._files.cat_file, path))
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def proof_chunks(self, key: str) -> Iterator[bytes]:
        """Yield the bytes of a proof; raises FileNotFoundError."""
        with _call(self._files.open, f"{self._folder(key)}/proof.bin", "rb") as file:
            while chunk := _call(file.read, CHUNK):
                yield chunk

    def remove_proof(self, key: str) -> None:
        """Remove a proof if it is there, its claim first."""
        folder = self._folder(key)
        for name in ("claim.json", "report.json", "proof.bin"):
            if _call(self._files.exists, f"{folder}/{name}"):
                _call(self._files.rm_file, f"{folder}/{name}")
        if _call(self._files.isdir, folder):  # object stores have no folders
            _call(self._files.rmdir, folder)

    def _folder(self, key: str) -> str:
        return f"{self._root}/proofs/{key}"

    def _write(self, path: str, data: bytes) -> None:
        """Write a file; on this host atomically, and on the disk before this returns."""
        if self._is_local:
            for folder in reversed(Path(path).relative_to(self._root).parents):
                make_folder(self._root / folder, PRIVATE | 0o100)
            write(Path(path), data, mode=PRIVATE)
            return
        try:  # at first without a folder: object stores have none, and a user may have no right to look at a bucket
            _call(self._files.pipe_file, path, data)
        except FileNotFoundError:
            _call(self._files.makedirs, path.rpartition("/")[0], exist_ok=True)
            _call(self._files.pipe_file, path, data)
