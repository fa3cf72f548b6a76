"""Proofs wait until their memory fits: the budget is never exceeded, the heaviest goes first, and every proof runs."""

import errno
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dask
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.admission import ledger as ledgers
from graphprover.admission import lock
from graphprover.admission.admission import TooLarge, admitted, keep, limit_process
from graphprover.admission.ledger import Kept, Ledger
from graphprover.admission.policy import Entry, Need, grantable, has_turn, in_the_way
from graphprover.device import CpuDevice
from graphprover.examples import synthetic
from graphprover.graphs.planner.holding import plan_whole
from graphprover.graphs.planner.plan import On
from graphprover.prover.prepare import Prepared, prepare
from graphprover.proving.prove import prove_prepared
from graphprover.runtime.files import private_folder
from graphprover.runtime.settings import MEMORY_LIMIT, POOL
from tests.admission.holding import Memory, begin, run, run_by_gpu, take_and_release
from tests.graphs.test_proof_graph import FEW

ROOT = Path(__file__).parents[2]
SHARES = (Fraction(3, 4), Fraction(1, 2), Fraction(1, 3))  # of what would be held if all ran at once
NEEDS = (40, 10, 25, 5, 30, 15, 20, 35, 10, 50, 5, 45)
SECONDS = 60.0  # a wait that takes so long is one without an end


@pytest.fixture(scope="module", autouse=True)
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use an empty folder of ledgers in this process and in the processes that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("ledgers")))
        patch.setattr(ledgers, "_ledgers", {})
        patch.delenv("XDG_RUNTIME_DIR", raising=False)
        with dask.config.set({POOL: 1.0, MEMORY_LIMIT: 1.0}):
            yield private_folder()


def remove(folder: Path) -> None:
    """Rename a folder of ledgers before removing it: a ledger's thread may add a file to it at any time."""
    shutil.rmtree(folder.rename(folder.with_name("removed")))


def device(total: int, **named: Any) -> Any:
    return Memory(total, **named)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def most_at_once(runs: Sequence[tuple[float, float, int]]) -> int:
    """Return the largest sum of bytes held at once, between their beginnings and ends."""
    return max(sum(needed for first, last, needed in runs if first <= now < last) for now, _, _ in runs)


def test_processes_together_hold_no_more_than_the_budget() -> None:
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        list(pool.map(run, [1] * 8, [sum(NEEDS)] * 8))  # all have been started
        for share in SHARES:
            budget = int(sum(sorted(NEEDS)[-4:]) * share)
            results = list(pool.map(run, NEEDS, [budget] * len(NEEDS)))
            assert sorted(needed for _, _, needed, _ in results) == sorted(NEEDS)
            runs = [(first, last, needed) for first, last, needed, _ in results]
            assert most_at_once(runs) <= budget >= max(seen for *_, seen in results)
            assert most_at_once(runs) > max(NEEDS), "some ran at once"


def statements() -> list[Prepared]:
    shapes = [(9, 30, 4), (6, 10, 4), (8, 20, 2), (9, 28, 4), (5, 40, 4), (9, 12, 4), (7, 24, 4)]
    return [prepare(synthetic.statement(*shape), parameters=FEW) for shape in shapes]


def test_a_mixed_batch_of_proofs_has_the_same_bytes() -> None:
    cpu, batch = CpuDevice(1), statements()
    expected = [prove_prepared(prepared, "sync", cpu)[0] for prepared in batch]
    peaks = [plan_whole(prepared.layout, prepared.traces, On.of(cpu), None).peak for prepared in batch]
    for share in SHARES:
        budget, runs = int(sum(peak.bytes for peak in peaks) * share), []

        def prove(number: int, runs: list[tuple[float, float, int]] = runs) -> Any:
            with admitted(cpu, peaks[number].bytes, str(peaks[number])):
                first = time.monotonic()
                proof, _ = prove_prepared(batch[number], "sync", cpu)
                runs.append((first, time.monotonic(), peaks[number].bytes))
                return proof

        with dask.config.set({MEMORY_LIMIT: budget}), ThreadPoolExecutor(len(batch)) as pool:
            assert list(pool.map(prove, range(len(batch)))) == expected
        assert most_at_once(runs) <= budget


def test_the_heaviest_that_waits_is_next_and_nobody_takes_its_room() -> None:
    memory, order = device(100, identity="order"), []
    leave = threading.Event()

    def prove(needed: int) -> None:
        with admitted(memory, needed):
            order.append(needed)
            if needed == 60:
                leave.wait(SECONDS)

    def start(needed: int) -> threading.Thread:
        thread = threading.Thread(target=prove, args=[needed])
        thread.start()
        until(lambda: needed in order or any(need.bytes == needed for need in waiting()))
        return thread

    def waiting() -> list[Need]:
        ledger = ledgers._ledgers.get("order")
        return list(ledger.own.waits) if ledger else []

    threads = [start(needed) for needed in (60, 55, 10, 90, 70, 20)]
    assert order == [60] and len(waiting()) == 5, "10 and 20 would fit, but heavier ones wait"
    leave.set()
    for thread in threads:
        thread.join(SECONDS)
    assert order[:3] == [60, 90, 70] and sorted(order[3:]) == [10, 20, 55], "in any order once there is room for all"


def holder(identity: str, needed: int) -> "subprocess.Popen[str]":
    """Start a process that asks for memory and prints "begun" after it has forked a child."""
    command = [sys.executable, "-m", "tests.admission.holding", identity, str(needed)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_what_a_killed_process_held_is_free_though_its_child_lives(own_folder: Path) -> None:
    dead = holder("killed", 80)
    assert said(dead) == "begun"
    child = int(said(dead))
    try:
        thread = threading.Thread(target=take, args=[device(100, identity="killed"), 50])
        thread.start()
        until(lambda: "killed" in ledgers._ledgers and ledgers._ledgers["killed"].own.waits)
        assert sum(entry.taken() for entry in ledgers._ledgers["killed"].entries()) == 80
        dead.kill()
        dead.wait()
        thread.join(SECONDS)
        assert not thread.is_alive()
        os.kill(child, 0)  # it is still there
        assert len(list((own_folder / "memory-killed").glob("*.json"))) == 1, "the dead one's file is removed"
    finally:
        dead.kill()
        os.kill(child, signal.SIGKILL)


def take(memory: Any, needed: int) -> None:
    with admitted(memory, needed):
        pass


def test_a_process_that_stopped_while_it_waits_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "STOPPED", 0.3)
    memory = device(100, identity="stopped")
    with admitted(memory, 40):
        waits = holder("stopped", 90)
        try:
            ledger = ledgers._ledgers["stopped"]
            until(lambda: any(need.bytes == 90 for entry in ledger.entries() for need in entry.waits))
            waits.send_signal(signal.SIGSTOP)
            thread = threading.Thread(target=take, args=[memory, 20])
            thread.start()
            thread.join(SECONDS)
            assert not thread.is_alive()
        finally:
            waits.kill()


def other(memory: Any, kept: int = 0) -> Ledger:
    """Return another process's part of a ledger."""
    found = Ledger(memory)
    found.own.kept = kept
    with found.locked():
        found._write()
    return found


def test_a_process_that_stopped_with_the_lock_is_passed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Let all waiting processes pass and still exclude each other; the stopped process can go on later."""
    monkeypatch.setattr(lock, "PATIENCE", 0.3)
    memory = device(100, identity="lock")
    stopped = other(memory)
    inside: list[int] = []

    def take_much() -> None:
        with admitted(memory, 60):
            inside.append(len(inside))
            time.sleep(0.01)
            assert inside.pop() == 0

    with ThreadPoolExecutor(4) as pool:
        with stopped.locked():
            for done in [pool.submit(take_much) for _ in range(4)]:
                done.result(SECONDS)
            line = f"a process, probably {os.getpid()}, has stopped with the ledger's lock: others go on"
            assert 1 <= caplog.text.count(line) <= 4
            caplog.clear()
            take(memory, 20)
        with stopped.locked():
            taking = pool.submit(take, memory, 20)
            time.sleep(0.1)
            assert not taking.done()
        taking.result(SECONDS)
    assert not caplog.text


def test_who_waits_is_not_waited_for_where_there_is_room_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "STOPPED", 2 * SECONDS)
    memory = device(100, identity="both")
    heavier = other(memory)
    heavier.own.waits.append(Need(-60, 0.0, 0, heavier.own.process))
    with heavier.locked():
        heavier._write()
    with ThreadPoolExecutor() as pool:  # though the other does not look at the ledger any more
        pool.submit(take, memory, 40).result(SECONDS)
    heavier.forget()


def test_a_pool_gives_back_what_somebody_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "PATIENCE", SECONDS)
    theirs, ours = (Memory(100, "pool", keeps=True, kept=kept) for kept in (80, 5))
    idle = other(theirs, kept=80)
    threading.Thread(target=idle.give_back, daemon=True).start()
    with admitted(ours, 30):  # type: ignore[arg-type]
        assert theirs.reserved() == 0 == idle.own.kept
    assert ledgers._ledgers["pool"].own.kept == 5, "what the own pool has is told afterwards"


def test_a_pool_that_keeps_all_is_not_waited_for_longer_than_patience(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ledgers, "PATIENCE", 0.1)
    memory = device(100, identity="foreign", keeps=True)
    idle = other(memory, kept=80)
    take(memory, 30)
    assert not caplog.records
    # A wait for running proofs has no time limit, and a warning is logged.
    with admitted(memory, 75):
        thread = threading.Thread(target=take, args=[memory, 30])
        with caplog.at_level(logging.WARNING):
            thread.start()
            until(lambda: caplog.records)
    thread.join(SECONDS)
    idle.forget()
    (line,) = {record.getMessage() for record in caplog.records}
    assert line.startswith("graphprover: waiting for 30 of 100 bytes of memory (foreign); held by process ")
    assert f"process {os.getpid()} 75" in line and line.endswith("before this one: 0")


@pytest.mark.parametrize(("processes", "at_once"), [(1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (8, 6), (12, 9)])
def test_of_four_processes_that_share_a_gpu_three_prove(processes: int, at_once: int) -> None:
    need = Need(-1, 0.0, 0, "1")
    own, *others = [Entry(str(number)) for number in range(processes)]
    proves = [replace(other, turns=[need]) for other in others]

    def turn(number: int, *more: Entry) -> bool:
        """Return whether the own process has a turn while ``number`` others prove."""
        return has_turn(own, [own, *proves[:number], *others[number:], *more])

    assert [turn(number) for number in range(processes)] == [number < at_once for number in range(processes)]
    silent = Entry("silent", turns=[need], stopped=True)
    assert turn(at_once - 1, *[silent] * 8), "of which nothing is heard do not count"
    assert has_turn(replace(own, turns=[need]), [own, *proves]), "a process has one turn for all of its proofs"


def test_processes_take_turns_on_a_gpu() -> None:
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        list(pool.map(run_by_gpu, [0.5] * 4))  # all have been started
        runs = [(first, last, 1) for first, last in pool.map(run_by_gpu, [0.05] * 24)]
    assert most_at_once(runs) == 3


def give_turns(*ledgers: Ledger) -> None:
    """Record a turn in each ledger, as if a proof of each process ran."""
    for ledger in ledgers:
        ledger.own.turns.append(Need(-1, 0.0, 0, ledger.own.process))
        with ledger.locked():
            ledger._write()


def test_who_waits_for_a_turn_holds_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "STOPPED", SECONDS)
    memory = device(100, identity="turns", keeps=True)
    first, *rest = (other(memory) for _ in range(3))
    give_turns(first, *rest)
    thread = threading.Thread(target=take, args=[memory, 10])
    thread.start()
    until(lambda: "turns" in ledgers._ledgers and ledgers._ledgers["turns"].own.held)
    time.sleep(0.1)
    own = ledgers._ledgers["turns"].own
    assert own.held and not own.turns and not own.waits
    first.own.turns.clear()
    with first.locked():
        first._write()
    thread.join(SECONDS)
    assert not thread.is_alive() and not own.held and not own.turns
    for ledger in (first, *rest):
        ledger.forget()


def test_a_turn_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "STOPPED", 0.3)
    memory = device(100, identity="late", keeps=True)
    others = [other(memory) for _ in range(3)]
    give_turns(*others)
    started = time.monotonic()
    take(memory, 10)
    assert time.monotonic() - started > 0.2
    for ledger in others:
        ledger.forget()


def test_what_is_granted() -> None:
    def need(size: int, process: str = "own") -> Need:
        return Need(-size, 1.0, 0, process)

    def granted(size: int, own: Entry, *others: Entry, patient: bool = True) -> bool:
        return grantable(replace(need(size), budget=100), own, [own, *others], patient)

    nothing = Entry("own")
    assert granted(100, nothing) and not granted(101, nothing)
    assert granted(60, nothing, Entry("a", held=[need(40)])) and not granted(61, nothing, Entry("a", held=[need(40)]))
    # A pool holds its process's proofs, so only the larger of both counts.
    assert granted(50, nothing, Entry("a", kept=50, held=[need(40)]))
    assert not granted(51, nothing, Entry("a", kept=50, held=[need(40)]))
    assert granted(60, Entry("own", kept=60), Entry("a", kept=80)), "what lies in the own pool is nobody else's"
    assert not granted(61, Entry("own", kept=60), Entry("a", kept=80))
    assert granted(60, nothing, Entry("a", kept=50, held=[need(40)]), patient=False)
    # The heaviest first, unless its process has stopped; the others if both fit.
    assert not granted(10, nothing, Entry("a", waits=[need(91, "a")]))
    assert granted(10, nothing, Entry("a", waits=[need(90, "a")]))
    assert not granted(10, nothing, Entry("a", held=[need(1)], waits=[need(90, "a")]))
    assert not granted(10, nothing, Entry("a", waits=[need(90, "a")]), Entry("b", held=[need(1)]))
    assert granted(10, nothing, Entry("a", kept=90, waits=[need(90, "a")])), "it will lie in the pool that there is"
    assert not granted(10, nothing, Entry("a", kept=91, waits=[need(90, "a")]))
    assert granted(10, nothing, Entry("a", kept=91, waits=[need(90, "a")]), patient=False)
    assert not granted(10, Entry("own", waits=[need(91), need(10)])), "nor one of its own process"
    assert granted(10, Entry("own", waits=[need(90), need(10)]))
    assert granted(10, nothing, Entry("a", waits=[need(91, "a")], stopped=True))
    assert granted(10, nothing, Entry("a", held=[need(90)], waits=[need(5, "a")]))
    tight = replace(need(40, "a"), budget=50)
    assert granted(10, nothing, Entry("a", waits=[tight])), "which stays within what the other's process allows"
    assert not granted(11, nothing, Entry("a", waits=[tight]))
    # Of two that are too much together the next alone takes what lies in its own pool.
    assert granted(60, Entry("own", kept=60), Entry("a", kept=80, waits=[need(5, "a")]))
    assert not granted(60, Entry("own", kept=60), Entry("a", kept=80, waits=[need(70, "a")]))


@st.composite
def shared(draw: st.DrawFn) -> list[Entry]:
    """Draw the entries of some processes, each of which has one waiting proof."""
    sizes, entries = st.integers(0, 30), []
    for number in range(draw(st.integers(2, 4))):
        name = str(number)
        waits = Need(-draw(sizes), draw(st.floats(0, 1)), 0, name, draw(st.sampled_from([60, 80, 100])))
        held = [Need(-draw(sizes), 0.0, 1, name)] * draw(st.integers(0, 1))
        entries.append(Entry(name, draw(sizes), held, [waits], stopped=draw(st.integers(0, 3)) == 0))
    return entries


@settings(max_examples=500, deadline=None)
@given(shared(), st.booleans())
def test_who_is_granted_memory_takes_none_from_those_before(entries: list[Entry], patient: bool) -> None:
    def may_run(entries: list[Entry]) -> set[str]:
        return {one.process for one in entries if one.waits and grantable(one.waits[0], one, entries, patient)}

    before = may_run(entries)
    for chosen in (entry for entry in entries if entry.process in before):
        (need,) = chosen.waits
        runs = replace(chosen, held=[*chosen.held, need], waits=[])
        after = [runs if entry is chosen else entry for entry in entries]
        heavier = {entry.process for entry in entries if entry.waits[0] < need and not entry.stopped}
        assert before & heavier <= may_run(after)
        more = runs.taken(kept=patient) > chosen.taken(kept=patient)
        assert not more or sum(entry.taken(kept=patient) for entry in after) <= need.budget


def test_what_can_never_fit_is_refused_before_anything_runs() -> None:
    gpu = device(1 << 30, identity="small", keeps=True)
    with dask.config.set({POOL: 0.5}), pytest.raises(TooLarge) as caught, admitted(gpu, 1 << 30, "tree of main"):
        pytest.fail("it ran")
    assert str(caught.value) == (
        "tree of main needs 1,073,741,824 bytes, and proofs may hold 536,870,912 of the 1,073,741,824 that this GPU "
        "has: take a higher rate (1/2 is the highest), more shards or a device with more memory, or allow more "
        "(--pool, DASK_GRAPHPROVER__POOL)"
    )
    with pytest.raises(MemoryError, match=r"this host has: .*--memory-limit, DASK_GRAPHPROVER__MEMORY_LIMIT\)$"):
        take(device(100), 101)
    limit_process(100)
    try:
        take(device(100, kept=60), 40)
        with pytest.raises(TooLarge, match="needs 41 bytes, and this process has 60 of the 100 that it may have"):
            take(device(100, kept=60), 41)
        take(gpu, 1)  # the limit is of the host's memory
    finally:
        limit_process(None)


def test_a_proof_inside_of_another_is_refused() -> None:
    memory = device(100)
    with admitted(memory, 10), pytest.raises(RuntimeError, match="admitted already"), admitted(memory, 10):
        pytest.fail("it ran")
    take(memory, 100)


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a folder for temporary files, and ledgers that are not open yet."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(ledgers, "_ledgers", {})
    ledgers._unshared.cache_clear()
    return tmp_path


@pytest.mark.parametrize("reason", ["mode", "owner", "file"])
def test_a_foreign_folder_is_not_taken_and_a_warning_says_so(
    reason: str, parent: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = parent / f"graphprover-{os.geteuid()}"
    if reason == "file":
        own.touch()
        told = "File exists"
    else:
        own.mkdir(mode=0o700)
        if reason == "mode":
            own.chmod(0o755)
            told = "others can enter it (mode 755)"
        elif os.geteuid():
            pytest.skip("only root can give folders away")
        else:
            os.chown(own, 12345, 12345)
            told = "it belongs to user 12345"
    for _ in range(2):
        take(device(100, identity="foreign folder"), 10)
    assert caplog.messages == [
        f"graphprover: proofs are not admitted by memory, since no ledger can be kept: {own}: {told}; mend or remove "
        "it, or set XDG_RUNTIME_DIR to a local folder of your own that has mode 700"
    ]


def test_a_ledger_that_cannot_be_written_is_told_with_its_folder(
    parent: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = private_folder() / "memory-no folder"
    path.touch()
    take(device(100, identity="no folder"), 10)
    assert f"no ledger can be kept: {path}: File exists; mend or remove it" in caplog.text


def test_a_folder_that_cannot_be_locked_is_named(
    parent: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def locked(file: int) -> bool:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))  # as NFS does for a folder

    monkeypatch.setattr(lock, "locked", locked)
    take(device(100, identity="remote"), 10)
    assert f"no ledger can be kept: {private_folder() / 'memory-remote'}: Bad file descriptor; mend or" in caplog.text


@pytest.mark.parametrize(("mode", "taken"), [(0o700, True), (0o755, False)])
def test_the_folder_of_a_session_is_taken_first(
    mode: int, taken: bool, parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = parent / "session"
    session.mkdir()
    session.chmod(mode)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    assert private_folder().parent == (session if taken else parent)


def test_a_folder_that_vanishes_while_memory_is_held_does_not_end_the_proof(
    parent: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = device(100, identity="vanishes")
    with admitted(memory, 10):
        remove(private_folder())
        (parent / f"graphprover-{os.geteuid()}").touch()
    assert "no ledger can be kept" in caplog.text and not ledgers._ledgers["vanishes"].own.held


def test_an_entry_that_was_removed_is_written_again(own_folder: Path) -> None:
    memory = device(100, identity="cleaned")
    with admitted(memory, 60):
        (entry,) = (own_folder / "memory-cleaned").glob("*.json")
        for _ in range(3):
            entry.unlink()
            until(entry.exists)
        theirs = other(memory)
        assert [each.taken() for each in theirs.entries() if each.process != theirs.own.process] == [60]
        remove(own_folder / "memory-cleaned")
        with theirs.locked():  # which has lost its entry, too
            assert not theirs._is_settled()
        until(lambda: sum(each.taken() for each in theirs.entries()) == 60)
    theirs.forget()


def test_two_processes_never_have_the_lock_whatever_files_are_removed(tmp_path: Path) -> None:
    folder, marker = tmp_path / "ledger", tmp_path / "inside"
    folder.mkdir()
    context = get_context("spawn")
    begun = context.Barrier(4)  # on a busy host a process takes longer to start than the lock is tried
    with ProcessPoolExecutor(4, context, begin, (begun,)) as pool:
        takers = [pool.submit(take_and_release, folder, marker, 3) for _ in range(4)]
        while not all(taker.done() for taker in takers):
            for path in folder.rglob("*"):
                if random.random() < 0.5:
                    with suppress(OSError):  # another process has it now
                        path.rmdir() if path.is_dir() else path.unlink()
            time.sleep(0.001)
        assert all(taker.result() > 1 for taker in takers)


def test_who_makes_a_folder_anew_waits_for_the_holder_of_the_one_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "NEW", 1.0)
    folder, inside = tmp_path / "ledger", list[int]()

    def made() -> Path:
        folder.mkdir(exist_ok=True)
        return folder

    def enter() -> list[int]:
        with lock.Lock(made).taken():
            return list(inside)

    with ThreadPoolExecutor(1) as pool:
        with lock.Lock(made).taken():
            inside.append(1)
            shutil.rmtree(folder)
            entering = pool.submit(enter)
            time.sleep(0.1)
            inside.clear()
        assert entering.result(SECONDS) == []


def test_a_grant_without_a_wait_locks_the_ledger_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another lock returns the grant. A proof of a short run takes little more time than several locks."""
    memory, taken, times = device(100, identity="once", keeps=True), lock.Lock.taken, list[int]()
    take(memory, 10)  # creates the ledger

    def counted(own: lock.Lock) -> Any:
        times.append(1)
        return taken(own)

    monkeypatch.setattr(lock.Lock, "taken", counted)
    with admitted(memory, 100):
        own = ledgers._ledgers["once"].own
        assert len(times) == 1 and own.held and own.turns and not own.waits
    assert len(times) == 2 and not own.held and not own.turns


def test_an_error_inside_gives_the_grant_back() -> None:
    memory = device(100, identity="error")
    with suppress(ValueError), admitted(memory, 100):
        raise ValueError
    take(memory, 100)


def test_a_ledger_that_was_removed_is_begun_again(own_folder: Path) -> None:
    memory = device(100, identity="removed")
    take(memory, 10)
    remove(own_folder)
    with admitted(memory, 100):
        assert [entry.taken() for entry in ledgers._ledgers["removed"].entries()] == [100]
    assert own_folder.stat().st_mode & 0o777 == 0o700


def test_what_is_kept_is_held_until_it_ends() -> None:
    own, dropped = device(100, identity="kept"), threading.Event()
    with admitted(own, 80):
        kept = keep(own, 30, dropped.set)
    ledger = ledgers._ledgers["kept"]
    assert ledger.own.taken() == ledger.own.idle == 30
    with admitted(own, 70):
        time.sleep(3 * ledgers.LOOK)
        assert not dropped.is_set()
    with admitted(own, 100, instead=kept):  # without a wait
        assert ledger.own.taken() == 100 and ledger.own.idle == 0
    assert not dropped.is_set()
    ended = keep(own, 30, dropped.set)
    ended.ended = True
    until(lambda: not ledger.own.taken() and not ledger.own.idle)
    assert not dropped.is_set()


def test_what_is_kept_is_dropped_where_a_proof_waits_for_it_alone() -> None:
    """Drop it even if its proof waits itself: two proofs that wait for each other's cached memory would never end."""
    own, dropped = device(100, identity="in the way"), list[int]()
    kept = [keep(own, 40, lambda number=number: dropped.append(number)) for number in range(2)]  # type: ignore[misc]
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda number: _instead(own, kept[number]), range(2)):
            pass
    assert len(dropped) == 1
    assert not ledgers._ledgers["in the way"].own.taken()


def _instead(own: Any, kept: Kept) -> None:
    with admitted(own, 90, instead=kept):
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("held", "idle", "waits", "way"),
    [
        (80, 30, 50, True),
        (80, 30, 20, False),  # it fits
        (80, 30, 51, False),  # it waits for a running proof
        (80, 0, 50, False),
        (80, 30, None, False),
    ],
)
def test_what_is_in_the_way(held: int, idle: int, waits: int | None, way: bool) -> None:
    one = Entry("1", held=[Need(-held, 0.0, 0, "1")], idle=idle)
    other = Entry("2", waits=[] if waits is None else [Need(-waits, 0.0, 0, "2")])
    assert in_the_way([one, other], 100) == way
    assert not in_the_way([one, replace(other, stopped=True)], 100)
