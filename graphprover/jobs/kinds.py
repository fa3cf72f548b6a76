"""The kind of a file by its first bytes, for errors about files that are given in each other's place."""

import stat
from contextlib import suppress
from pathlib import Path

from graphprover.proof.proof import MAGIC, MOCK_MAGIC
from graphprover.proof.sharded import SHARD_MAGIC
from graphprover.runtime.files import COMPRESSED_MAGIC, SHARDS_MAGIC
from graphprover.vm.program.elf import MAGIC as ELF_MAGIC
from graphprover.vm.statement.key import PREFIX as KEY_PREFIX

PROOF, MOCK, KEY, ELF = "a proof", "a mock proof", "a verifying key", "an ELF file"

# Without the format version, the last byte.
_PROOFS = tuple(magic[:-1] for magic in (MAGIC, SHARD_MAGIC, SHARDS_MAGIC, COMPRESSED_MAGIC))
_BEGINNINGS = ((_PROOFS, PROOF), ((MOCK_MAGIC[:-1],), MOCK), ((KEY_PREFIX,), KEY), ((ELF_MAGIC,), ELF))
_LONGEST = max(len(beginning) for beginnings, _ in _BEGINNINGS for beginning in beginnings)


def kind_of(data: bytes) -> str | None:
    """Return the kind of a file with these first bytes; None for any other file."""
    return next((kind for beginnings, kind in _BEGINNINGS if data.startswith(beginnings)), None)


def kind_of_file(path: Path) -> str | None:
    """Return the kind of a regular file; None for anything else, also if it cannot be read."""
    with suppress(OSError):
        if stat.S_ISREG(path.stat().st_mode):
            with path.open("rb") as file:
                return kind_of(file.read(_LONGEST))
    return None
