"""Tokens of clients: a file with a line for each, its name and the SHA-256 of the token."""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from graphprover.runtime.files import FileError, read_input

ANYBODY = "anybody"  # the name of all clients of a service without tokens

_NAME = re.compile(r"[A-Za-z0-9._@-]{1,100}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def digest_of(token: str) -> str:
    """Return the digest that the file has. A token has 256 random bits, so it needs neither salt nor a slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def read_tokens(path: Path) -> dict[str, str]:
    """Return the digests of a file by name.

    Raises:
        FileError: The file cannot be read, a line is invalid, or there is no token.
    """
    found = _parsed(path)
    if not found:
        raise FileError(f"{path}: no token: graphprover serve --tokens {path} --add-token NAME adds one")
    return found


def _parsed(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(read_input(path).decode(errors="replace").splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if len(words) != 2 or not _NAME.fullmatch(words[0]) or not _DIGEST.fullmatch(words[1]):
            raise FileError(f"{path}: line {number}: expected a name and the SHA-256 of a token in hexadecimal digits")
        if words[0] in found:
            raise FileError(f"{path}: line {number}: the name {words[0]} is there twice")
        found[words[0]] = words[1]
    return found


def add_token(path: Path, name: str) -> str:
    """Add a token to a file that only this user can read, and return the token, which the file does not have.

    Raises:
        FileError: The name is invalid or there already, or the file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise FileError(f"{name!r}: the name of a token has letters, digits and ._@- only, at most 100")
    if path.exists() and name in _parsed(path):
        raise FileError(f"{path}: the name {name} is there already: remove its line first")
    token = f"gp_{secrets.token_urlsafe(32)}"
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as file:
            file.write(f"\n{name} {digest_of(token)}\n")  # the last line may have no end
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    return token


def owner_of(authorization: str, tokens: Mapping[str, str]) -> str | None:
    """Return the name of the token in the header ``Authorization: Bearer TOKEN``; None if there is no such token.

    The time does not depend on the digests: each is compared, in constant time.
    """
    scheme, _, token = authorization.partition(" ")
    digest = digest_of(token.strip())
    found = [name for name, own in tokens.items() if hmac.compare_digest(own, digest)]
    return found[0] if found and scheme.lower() == "bearer" else None
