"""Verifying keys of uploaded programs, which another process makes."""

import asyncio
import sys
import tempfile
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from graphprover.service.store import PROGRAMS, Store


async def program_key_of(store: Store, hash: str) -> bytes:
    """Return the verifying key of a program, which another process makes once."""
    name = f"{hash}.vk"
    if not await run_in_threadpool(store.has_upload, PROGRAMS, name):
        with tempfile.TemporaryDirectory() as folder:
            elf, key = Path(folder, "guest.elf"), Path(folder, "guest.vk")
            await run_in_threadpool(store.copy_upload, PROGRAMS, hash, elf)
            command = [sys.executable, "-m", "graphprover", "setup", str(elf), "-o", str(key)]
            process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
            if await process.wait():
                raise RuntimeError(f"graphprover setup has failed for the program {hash}")
            await run_in_threadpool(store.save_upload, PROGRAMS, name, key.read_bytes())
    return await run_in_threadpool(store.upload, PROGRAMS, name)
