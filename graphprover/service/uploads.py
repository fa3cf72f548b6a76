"""Programs and inputs that clients have uploaded: files of the store, with a row of the database for each."""

import hashlib
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sqlalchemy import ColumnElement, Engine, Row, and_, delete, exists, or_, select, update
from sqlalchemy.exc import IntegrityError

from graphprover.service.database import jobs, uploads
from graphprover.service.problems import Problem
from graphprover.service.store import INPUTS, PROGRAMS, Store
from graphprover.vm.program.elf import ElfError, load_elf, program_hash


@dataclass(frozen=True)
class Upload:
    """A program or an input."""

    kind: str
    hash: str
    name: str
    size: int


class Uploads:
    """The uploads of a service. Threads may share it."""

    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    def add_program(self, name: str, file: IO[bytes]) -> Upload:
        """Add an ELF file; raises Problem if it is none that the machine runs."""
        data = file.read()
        try:
            hash = program_hash(load_elf(data)).hex()
        except ElfError as error:
            raise Problem(422, f"the program is invalid: {error}", "upload an ELF file for RV64IM") from error
        return self._add(Upload(PROGRAMS, hash, name, len(data)), data)

    def add_input(self, file: IO[bytes]) -> Upload:
        """Add an input."""
        data = file.read()
        return self._add(Upload(INPUTS, hashlib.sha256(data).hexdigest(), "", len(data)), data)

    def get(self, kind: str, hash: str) -> Upload | None:
        """Return an upload; None if there is none."""
        with self._engine.connect() as connection:
            row = connection.execute(select(uploads).where(_is(kind, hash))).one_or_none()
        return _upload(row) if row else None

    def remove_old(self, before: float) -> int:
        """Remove uploads from before a time that no job has, and return their number."""
        used = exists().where(
            or_(
                and_(uploads.c.kind == PROGRAMS, jobs.c.program == uploads.c.hash),
                and_(uploads.c.kind == INPUTS, jobs.c.input == uploads.c.hash),
            )
        )
        unused = and_(uploads.c.created < before, ~used)
        with self._engine.begin() as connection:
            gone = connection.execute(delete(uploads).where(unused).returning(*uploads.c)).all()
        for row in gone:
            self._store.remove_upload(row.kind, row.hash)
        return len(gone)

    def _add(self, upload: Upload, data: bytes) -> Upload:
        """Write the file unless it is there, and then the row; the first name of a program stays the one in its proofs.

        A file that was damaged is replaced.
        """
        if not self._store.is_upload(upload.kind, upload.hash, data):
            self._store.save_upload(upload.kind, upload.hash, data)
        try:
            with self._engine.begin() as connection:
                connection.execute(uploads.insert().values(**vars(upload), created=time.time()))
        except IntegrityError:
            with self._engine.begin() as connection:
                again = update(uploads).where(_is(upload.kind, upload.hash)).values(created=time.time())
                if row := connection.execute(again.returning(*uploads.c)).one_or_none():
                    return _upload(row)
        return upload


@asynccontextmanager
async def received(stream: AsyncIterator[bytes], most: int, folder: Path) -> AsyncIterator[IO[bytes]]:
    """Write a request's body to a temporary file as it arrives, and yield the file.

    Raises:
        Problem: The body has more than ``most`` bytes. Later bytes are not read.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        size = 0
        async for chunk in stream:
            size += len(chunk)
            if size > most:
                raise too_large(most)
            file.write(chunk)
        file.seek(0)
        yield file


def too_large(most: int) -> Problem:
    """Return the error for a body of more bytes."""
    return Problem(413, f"the body has more than {most:,} bytes", "send less, or ask for a higher limit of the service")


def _is(kind: str, hash: str) -> ColumnElement[bool]:
    return and_(uploads.c.kind == kind, uploads.c.hash == hash)


def _upload(row: Row[Any]) -> Upload:
    return Upload(row.kind, row.hash, row.name, row.size)
