"""Verifying keys of uploaded programs, which other processes make within limits of memory and time.

The work depends on the program: 29 MiB of code would take 36 GiB.
"""

import asyncio
import hashlib
import os
import sys
import tempfile
from asyncio.subprocess import DEVNULL
from contextlib import suppress
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from graphprover.device.host_memory import host_memory
from graphprover.service.key_process import NO_MEMORY
from graphprover.service.problems import Problem
from graphprover.service.store import PROGRAMS, Store
from graphprover.vm.program.elf import ElfError, Image, load_elf, program_hash
from graphprover.vm.statement.shape import rows_for

MODULE = "graphprover.service.key_process"
SMALL_BYTES = 512 << 20  # of a process for small programs, which do not wait for the key of a large one
KEY_SECONDS = 600.0  # of a process
CODE_BYTES, DATA_BYTES = 4608, 832  # for each row of the tables of code and data, as measured
OUTCOMES = 2  # rows that an instruction has at most
DIGEST_BYTES = 32  # behind a key in the store


class ProgramKeys:
    """The keys of a service: one process at a time makes keys of large programs, and one those of small ones.

    Args:
        store: The store, which retains keys.
        most: The most bytes of memory for a key; None for half of the memory that this process may have.
    """

    def __init__(self, store: Store, most: int | None = None) -> None:
        self._store = store
        self._most = max(SMALL_BYTES, host_memory() // 2) if most is None else most
        self._small, self._large = asyncio.Lock(), asyncio.Lock()

    async def key(self, hash: str) -> bytes:
        """Return the verifying key of a program in the store.

        Raises:
            Problem: The key needs too much memory or time, or the program is damaged.
            OSError: The store does not answer.
        """
        if found := await run_in_threadpool(self._stored, hash):
            return found
        with tempfile.TemporaryDirectory() as folder:
            elf, key = Path(folder, "guest.elf"), Path(folder, "guest.vk")
            least, most = await run_in_threadpool(self._planned, hash, elf)
            if least > self._most:
                raise self._too_large(least)
            is_small = most <= min(SMALL_BYTES, self._most)
            async with self._small if is_small else self._large:
                if found := await run_in_threadpool(self._stored, hash):  # by the request before
                    return found
                await self._make(elf, key, SMALL_BYTES if is_small else self._most)
                return await run_in_threadpool(self._save, hash, key.read_bytes())

    def _stored(self, hash: str) -> bytes | None:
        """Return the key in the store; None if it is damaged or not there."""
        try:
            data = self._store.upload(PROGRAMS, f"{hash}.vk")
        except FileNotFoundError:
            return None
        key, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        return key if hashlib.sha256(key).digest() == digest else None

    def _save(self, hash: str, key: bytes) -> bytes:
        """Write a key to the store, and return it."""
        self._store.save_upload(PROGRAMS, f"{hash}.vk", key + hashlib.sha256(key).digest())
        return key

    def _planned(self, hash: str, to: Path) -> tuple[int, int]:
        """Copy the program to a file, and return the least and the most bytes of memory that its key may need."""
        try:
            self._store.copy_upload(PROGRAMS, hash, to)
            image = load_elf(to.read_bytes())
        except (FileNotFoundError, ElfError):
            image = None
        if image is None or program_hash(image).hex() != hash:
            raise Problem(404, f"the program {hash} is damaged in the store", "upload it again")
        return _bytes(image, 1), _bytes(image, OUTCOMES)

    async def _make(self, elf: Path, key: Path, most: int) -> None:
        """Make a key by another process; raises Problem."""
        command = [sys.executable, "-P", "-m", MODULE, str(elf), str(key), str(most)]
        path = os.pathsep.join(map(os.path.abspath, sys.path))
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=DEVNULL, env=os.environ | {"PYTHONPATH": path}
        )
        try:
            code = await asyncio.wait_for(process.wait(), KEY_SECONDS)
        except TimeoutError:
            problem = f"the key was not made in {KEY_SECONDS:g} s"
            raise Problem(503, problem, "try again later, or make it yourself: graphprover setup") from None
        finally:
            with suppress(ProcessLookupError):  # it has ended
                process.kill()
        if code == NO_MEMORY:
            raise self._too_large(most)
        if code:
            raise RuntimeError(f"the process of a key has ended with exit code {code}")

    def _too_large(self, least: int) -> Problem:
        problem = f"the key needs {least / 2**30:.1f} GiB or more; this service has {self._most / 2**30:.1f} GiB for it"
        return Problem(422, problem, "make it yourself: graphprover setup")


def _bytes(image: Image, outcomes: int) -> int:
    """Return about how many bytes of memory the key of a program needs, with these rows for each instruction."""
    return CODE_BYTES * rows_for(outcomes * len(image.code)) + DATA_BYTES * rows_for(len(image.addresses))
