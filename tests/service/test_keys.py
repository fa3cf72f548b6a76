"""Verifying keys: made once, within limits, and never served damaged."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphprover import Prover
from graphprover.service import keys as module
from graphprover.service.key_process import NO_MEMORY
from graphprover.service.keys import ProgramKeys
from graphprover.service.problems import Problem
from graphprover.service.store import PROGRAMS, Store
from graphprover.vm.program.elf import load_elf, program_hash
from graphprover.vm.program.isa import Instruction, Op
from tests.vm.assemble import CODE, Segment, X, elf, leave, words

ROOT = Path(__file__).parents[2]
GUEST = ROOT / "examples/guests/fib_iterative.elf"
HASH = "0d230abbdfa2af2276f9ab51c9b9ab8219d2548ea39c67244985bf21aed2977b"
start = asyncio.create_subprocess_exec
LARGE = 1 << 14  # instructions of a program that is large in these tests


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store with a program."""
    found = Store(str(tmp_path))
    found.save_upload(PROGRAMS, HASH, GUEST.read_bytes())
    return found


def large(store: Store, instructions: int = LARGE) -> str:
    """Return the hash of a large program in a store."""
    data = elf([Segment(CODE, words([Instruction(Op.ADDI, 5, 5, imm=1)]) * instructions + words(leave()), X)])
    hash = program_hash(load_elf(data)).hex()
    store.save_upload(PROGRAMS, hash, data)
    return hash


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have keys made without a process; return the list of the memory that each may take."""
    found: list[int] = []

    async def make(self: ProgramKeys, elf: Path, key: Path, most: int) -> None:
        found.append(most)
        key.write_bytes(b"key of " + elf.read_bytes()[:9])

    monkeypatch.setattr(ProgramKeys, "_make", make)
    return found


def test_a_key_is_the_one_of_setup(store: Store) -> None:
    async def ask() -> bytes:
        return await ProgramKeys(store).key(HASH)

    assert asyncio.run(ask()) == Prover(GUEST).key().to_bytes()


def test_a_key_is_made_once_and_again_if_it_is_damaged(store: Store, made: list[int]) -> None:
    async def ask() -> None:
        keys = ProgramKeys(store)
        assert len(set(await asyncio.gather(*(keys.key(HASH) for _ in range(5))))) == 1 and len(made) == 1
        (first,) = {await keys.key(HASH), await ProgramKeys(store).key(HASH)}
        for damaged in (b"", b"key", store.upload(PROGRAMS, f"{HASH}.vk")[1:], b"\0" * 64):
            store.save_upload(PROGRAMS, f"{HASH}.vk", damaged)
            assert await keys.key(HASH) == first
        assert len(made) == 5

    asyncio.run(ask())


@pytest.mark.parametrize("data", [None, b"", b"no ELF file", GUEST.with_name("keccak.elf").read_bytes()])
def test_a_damaged_program_has_no_key(store: Store, made: list[int], data: bytes | None) -> None:
    store.remove_upload(PROGRAMS, HASH)
    if data is not None:
        store.save_upload(PROGRAMS, HASH, data)

    async def ask() -> None:
        with pytest.raises(Problem, match="is damaged in the store"):
            await ProgramKeys(store).key(HASH)

    asyncio.run(ask())
    assert not made


def test_a_key_that_needs_too_much_is_refused_before_it_is_begun(store: Store, made: list[int]) -> None:
    async def ask() -> None:
        with pytest.raises(Problem, match=r"the key needs 0\.1 GiB or more; this service has 0\.0 GiB") as refused:
            await ProgramKeys(store, 1 << 20).key(large(store))
        assert refused.value.status_code == 422

    asyncio.run(ask())
    assert not made


def test_small_programs_do_not_wait_for_a_large_one(
    store: Store, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SMALL_BYTES", 32 << 20)
    make, ended = ProgramKeys._make, asyncio.Event()

    async def slow(self: ProgramKeys, elf: Path, key: Path, most: int) -> None:
        if most > module.SMALL_BYTES:
            await ended.wait()
        await make(self, elf, key, most)

    monkeypatch.setattr(ProgramKeys, "_make", slow)

    async def ask() -> None:
        keys = ProgramKeys(store, 1 << 30)
        waiting = asyncio.create_task(keys.key(large(store)))
        assert await asyncio.wait_for(keys.key(HASH), 60)
        assert not waiting.done() and made == [32 << 20]
        ended.set()
        await waiting
        assert made == [32 << 20, 1 << 30]

    asyncio.run(ask())


def test_a_process_has_a_limit_of_memory(store: Store, tmp_path: Path) -> None:
    """A plan may be wrong."""
    hash = large(store, 1 << 17)
    main = (
        "import os, sys; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); "  # threads have memory of their own
    )
    main += "from graphprover.service import key_process; sys.exit(key_process.main(*sys.argv[1:]))"
    files = [str(tmp_path / "programs" / hash), str(tmp_path / "key")]
    done = subprocess.run([sys.executable, "-c", main, *files, "0"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == NO_MEMORY and not done.stderr and not (tmp_path / "key").exists()


@pytest.mark.parametrize(("code", "error"), [(NO_MEMORY, Problem), (1, RuntimeError)])
def test_a_process_that_fails(store: Store, monkeypatch: pytest.MonkeyPatch, code: int, error: Any) -> None:
    async def started(*command: str, **options: Any) -> Any:
        return await start("/bin/sh", "-c", f"exit {code}")

    async def ask() -> None:
        with pytest.raises(error):
            await ProgramKeys(store).key(HASH)

    monkeypatch.setattr(module.asyncio, "create_subprocess_exec", started)
    asyncio.run(ask())


def test_a_process_has_a_limit_of_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEY_SECONDS", 0.01)
    found: list[Any] = []

    async def started(*command: str, **options: Any) -> Any:
        found.append(await start("sleep", "600"))
        return found[0]

    monkeypatch.setattr(module.asyncio, "create_subprocess_exec", started)

    async def ask() -> None:
        with pytest.raises(Problem, match=r"the key was not made in 0\.01 s"):
            await ProgramKeys(store).key(HASH)
        assert await found[0].wait() < 0

    asyncio.run(ask())
