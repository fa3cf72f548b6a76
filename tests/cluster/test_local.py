"""Clusters that are started for one call, and workers that are warm when they join."""

import asyncio
import errno
import multiprocessing
import multiprocessing.context
import multiprocessing.spawn
import multiprocessing.util
import os
import re
import signal
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import Future as Future_
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, Scheduler
from distributed.system_monitor import SystemMonitor

from graphprover import prove
from graphprover.cli.main import main
from graphprover.cluster import ClusterError, dispatcher, local, processes
from graphprover.cluster import client as joining
from graphprover.cluster import workers as cluster_workers
from graphprover.cluster.client import joined
from graphprover.cluster.local import started, starting
from graphprover.cluster.processes import _per_gpu, options_of
from graphprover.cluster.workers import SLOT, VERSIONS, Workers
from graphprover.device import choose
from graphprover.examples import memory
from graphprover.jobs.job import Job
from graphprover.proving.batch import prove_many
from graphprover.proving.prover import Prover
from graphprover.runtime.errors import OK
from graphprover.runtime.settings import POOL, WORKERS
from tests.cluster.processes import ROOT, by_hand, pids, present, until
from tests.graphs.test_proof_graph import FEW, example
from tests.slow import slow_after


def runs(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_processes_serve_as_long_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what looks at this process does so seldom: only the scheduler has a monitor here, and nannies have none."""
    looks: list[float] = []
    update = SystemMonitor.update

    def counted(monitor: SystemMonitor) -> Any:
        looks.append(time.monotonic())
        return update(monitor)

    def every(dask_scheduler: Scheduler) -> float:
        return float(dask_scheduler.periodic_callbacks["tick"].callback_time)

    monkeypatch.setattr(SystemMonitor, "update", counted)
    statement = example(memory)
    with started("processes", 2) as client:
        before = pids(client)
        assert len(before) == 2
        resources = [worker["resources"] for worker in present(client).values()]
        assert resources == [{SLOT: 1}] * 2
        for pid in before.values():
            os.kill(pid, signal.SIGINT)  # as Ctrl-C in a terminal does
        assert prove(statement, client, parameters=FEW) == prove(statement, "sync", parameters=FEW)
        assert pids(client) == before
        only_clients_of_others_retain_what_they_send(client)
        assert client.run_on_scheduler(every) == 500
        monitor = client.run(dask.config.get, "distributed.admin.system-monitor.interval")
        assert set(monitor.values()) == {"500ms"}  # Dask's default
        first = len(looks)
        until(lambda: len(looks) > first + 4)
        found = looks[first : first + 5]  # a loaded host may delay the first one
        assert found[-1] - found[0] > 0.25 * 4, "twice as often as every 500 ms"
    assert not any(runs(pid) for pid in before.values())


def only_clients_of_others_retain_what_they_send(client: Client) -> None:
    """Check that a client of ours sends at once, and one of Dask's own as Dask does."""
    with Client(client.scheduler.address, security=client.security) as dasks_own, joined(dasks_own):
        assert [each.scheduler_comm.interval for each in (client, dasks_own)] == [0, pytest.approx(0.01)]


def test_the_scheduler_is_not_asked_for_proofs_nor_again_for_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    statement, asked = example(memory), list[str]()
    expected = prove(statement, "sync", parameters=FEW)
    fetch, look = dispatcher.gather_from_workers, Workers.refresh

    async def fetched(*arguments: Any, **options: Any) -> Any:
        asked.append("proof of a worker")
        return await fetch(*arguments, **options)

    def looked(at: Workers) -> None:
        asked.append("workers")
        look(at)

    monkeypatch.setattr(dispatcher, "gather_from_workers", fetched)
    monkeypatch.setattr(Workers, "refresh", looked)
    for module in (cluster_workers, dispatcher):
        monkeypatch.setattr(module, "POLL_SECONDS", 60.0)
    with started("processes", 1) as client:
        for _ in range(3):
            assert prove(statement, client, parameters=FEW) == expected
        assert asked.count("proof of a worker") == 3 and "workers" in asked
        asked.clear()
        assert prove(statement, client, parameters=FEW) == expected
        assert asked == ["proof of a worker"]
        client.direct_to_workers = False
        assert prove(statement, client, parameters=FEW) == expected
        assert asked == ["proof of a worker"]  # the scheduler's answer has the second one


def test_a_client_of_ours_sends_at_once(pair: Client) -> None:
    with joined(pair.scheduler.address) as connected:
        assert connected._client.scheduler_comm.interval == 0


def test_by_name_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the address of the dashboard is logged."""
    warnings = list[str]()
    monkeypatch.setattr(local._log, "warning", lambda text, *given: warnings.append(text % given))
    monkeypatch.chdir(tmp_path)
    options = ["--executor", "processes", "--workers", "1", "--dashboard", "127.0.0.1:0"]
    assert main(["prove", "examples/fibonacci", *options, "-o", "by_processes"]) == OK
    assert re.fullmatch(r"graphprover: dashboard: http://127\.0\.0\.1:\d+/status", warnings[-1])
    assert main(["prove", "examples/fibonacci", "-o", "here"]) == OK
    assert Path("by_processes").read_bytes() == Path("here").read_bytes()


def test_no_gpu_to_start_processes_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphprover.cluster.processes.gpus", lambda: 0)
    with pytest.raises(ClusterError, match=f"executor cuda: {choose.missing(0)[:20]}"):
        prove(example(memory), "cuda", parameters=FEW)


def test_ctrl_c_while_processes_start_leaves_none(tmp_path: Path) -> None:
    """The terminal sends it to all of them."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import multiprocessing, threading, time
            from graphprover.cluster.local import started

            def tell():
                while not multiprocessing.active_children():
                    time.sleep(0.01)
                print(*(child.pid for child in multiprocessing.active_children()), flush=True)

            if __name__ == "__main__":
                threading.Thread(target=tell, daemon=True).start()
                try:
                    with started("processes", 2):
                        print("no Ctrl-C came")
                except KeyboardInterrupt:
                    print("left")
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    children = [int(pid) for pid in process.stdout.readline().split()]
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=600)
    assert children and (output, errors) == ("left\n", "")
    until(lambda: not any(runs(pid) for pid in children))


def test_the_end_waits_for_each_start(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The first process is killed while the second has no message of its parent yet."""
    spawn, spawned = multiprocessing.util.spawnv_passfds, list[int]()

    def slow(*given: Any) -> int:  # two threads at once
        pid = spawn(*given)
        spawned.append(pid)
        time.sleep(2 * (pid != spawned[0]))
        return pid

    ensure_running()  # which is spawned as well
    monkeypatch.setattr(multiprocessing.util, "spawnv_passfds", slow)
    with starting("processes", 2):
        until(lambda: len(spawned) == 2)
    assert not any(runs(pid) for pid in spawned)
    assert "Traceback" not in capfd.readouterr().err


def test_a_command_that_ends_at_once_leaves_nothing_and_says_nothing(tmp_path: Path) -> None:
    """Ctrl-C ends a command like this: without unwinding its stack."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import os
            from graphprover.cluster import local

            local.PATIENCE_SECONDS = 120  # else it would say that it waits
            if __name__ == "__main__":
                with local.started("processes", 1) as client:
                    print(*client.run(os.getpid).values(), flush=True)
                    os._exit(3)
            """
        )
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stderr) == (3, "")
    children = [int(pid) for pid in ended.stdout.split()]
    assert len(children) == 1
    until(lambda: not any(runs(pid) for pid in children))


def test_a_script_that_starts_itself_again_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text('from graphprover.cluster.local import started\nwith started("processes", 1): pass\n')
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 1 and 'the start with if __name__ == "__main__"' in ended.stderr.splitlines()[-1]


def test_without_semaphores_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def lock(context: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(multiprocessing.context.BaseContext, "Lock", lock)
    with pytest.raises(ClusterError) as caught, started("processes", 1):
        pytest.fail("it started")
    assert str(caught.value) == (
        "executor processes: no semaphores can be created in /dev/shm, which its processes need (Read-only file "
        "system): mount /dev/shm writable and with free space, or use --executor threads"
    )


def test_the_start_ends_where_no_process_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def queue(context: object, maxsize: int = 0) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(multiprocessing.context.BaseContext, "Queue", queue)
    not_started("Too many open files")


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere"])
def test_the_start_ends_where_a_process_dies_at_once(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_running()  # which the same program would run
    monkeypatch.setattr(multiprocessing.spawn, "_python_exe", os.fsencode(program))
    not_started("")


def test_the_start_ends_where_processes_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(multiprocessing.active_children())  # workers of other tests
    monkeypatch.setattr(local, "START_SECONDS", 0.1)
    not_started("2 of 2 did not answer within 0.1 seconds")
    assert set(multiprocessing.active_children()) <= before


def not_started(reason: str) -> None:
    begun = time.monotonic()
    with pytest.raises(ClusterError) as caught, started("processes", 2):
        pytest.fail("it started")
    assert str(caught.value).startswith("executor processes: its processes do not start: ")
    assert reason in str(caught.value)
    assert time.monotonic() - begun < 60


def test_the_first_proofs_of_a_batch_do_not_wait_for_the_last_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second process starts once the first has proved."""
    go, both = tmp_path / "go", tmp_path / "both"
    start = local._Nanny.start

    async def starting(nanny: local._Nanny) -> Any:
        while nanny.name == 1 and not go.exists():
            await asyncio.sleep(0.05)
        return await start(nanny)

    monkeypatch.setattr(local._Nanny, "start", starting)
    guest = Prover(ROOT / "examples/guests/fib_iterative.elf", security=20)

    def jobs() -> Iterator[Job]:
        yield guest.job(struct.pack("<Q", 5), "first")
        until(both.exists)
        yield from (guest.job(struct.pack("<Q", number)) for number in range(12))

    with dask.config.set({WORKERS: 2}):
        before = set(joining._clusters)  # of other tests
        results = prove_many(jobs(), "processes", "cpu")
        assert next(results).proof
        go.touch()
        (cluster,) = (joining._clusters[client] for client in set(joining._clusters) - before)
        until(lambda: len(present(cluster._client)) == 2)
        both.touch()
        assert all(result.proof for result in results)


def test_a_later_process_that_does_not_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    start, warm = local._Nanny.start, list[bool]()

    async def starting(nanny: local._Nanny) -> Any:
        if nanny.name == 0:
            found = await start(nanny)
            asyncio.get_running_loop().call_later(0.2, warm.append, True)
            return found
        while not warm:
            await asyncio.sleep(0.05)
        raise OSError("no processes left")

    warnings = list[str]()
    monkeypatch.setattr(local._Nanny, "start", starting)
    monkeypatch.setattr(local._log, "warning", lambda text, *given: warnings.append(text % given))
    with dask.config.set({WORKERS: 2}):
        guest = Prover(ROOT / "examples/guests/fib_iterative.elf", security=20)
        with started("processes", 2, wait_for_all=False) as client:
            until(lambda: "graphprover: a process did not start: no processes left" in warnings)
            (result,) = prove_many([guest.job(struct.pack("<Q", 5))], client, "cpu")
            assert result.proof


def loads() -> int:
    """Return how many compiled kernels this process has loaded since the first call."""
    from graphprover.runtime import numba_cache

    if not hasattr(numba_cache.KernelCache, "loads"):
        load = numba_cache.KernelCache.load_overload

        def counted(self: object, *arguments: object) -> object:
            numba_cache.KernelCache.loads += 1
            return load(self, *arguments)

        numba_cache.KernelCache.loads = 0
        numba_cache.KernelCache.load_overload = counted
    return numba_cache.KernelCache.loads


def test_a_worker_joins_when_it_is_warm(tmp_path: Path) -> None:
    with by_hand(tmp_path, [""], "--preload", "graphprover.worker") as (client, _):
        workers = present(client).values()
        assert [worker["resources"] for worker in workers] == [{SLOT: 1}]
        assert set(client.run(loads).values()) == {0}
        assert prove(example(memory), client, parameters=FEW) == prove(example(memory), "sync", parameters=FEW)
        assert set(client.run(loads).values()) == {0}


@pytest.mark.parametrize(
    ("cores", "gpus", "gigabytes", "pool", "each"),
    [
        (16, 1, 140, 0.9, 8),  # more gain little
        (32, 2, 140, 0.9, 8),
        (8, 2, 140, 0.9, 4),  # one for each core
        (2, 4, 140, 0.9, 1),
        (16, 1, 24, 0.9, 3),  # with their contexts in a tenth of the memory
        (16, 1, 24, 0.8, 7),
        (16, 1, 24, "4GiB", 8),
        (16, 1, 140, 1.0, 1),
    ],
)
def test_processes_of_a_gpu(cores: int, gpus: int, gigabytes: int, pool: float | str, each: int) -> None:
    with dask.config.set({POOL: pool}):
        assert _per_gpu(cores, [gigabytes * 10**9] * gpus, 8) == each


def test_a_worker_is_where_its_gpu_is() -> None:
    seen = {"a": ["gpu 0"], "b": ["gpu 1", "gpu 0"], "c": ["gpu 0"], "d": []}
    asked: dict[str, Future_[Any]] = {address: Future_() for address in [*seen, "left", "new"]}
    for address, gpus in seen.items():
        asked[address].set_result(VERSIONS | {"gpus": gpus})
    asked["left"].set_result(OSError("left the cluster"))
    found = Workers(None)  # type: ignore[arg-type]
    found._answers = asked
    assert found.places("auto") == [{"a", "c"}, {"b"}, {"d"}]
    assert found.places("cuda") == [{"a", "c"}, {"b"}]
    assert found.places("cuda:1") == [{"b"}]
    assert found.places("cpu") == [{"a"}, {"b"}, {"c"}, {"d"}]
    assert found.fit("auto") == {"a", "b", "c", "d"}


@pytest.mark.parametrize("times", slow_after(1, [1, 4]))
def test_few_proofs_go_to_different_gpus(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    prover = Prover(ROOT / "examples/guests/fib_iterative.elf")
    jobs = [prover.job(struct.pack("<Q", number), name=str(number)) for number in range(8)]
    with started("processes", 4) as client:

        def makers(number: int) -> list[str]:
            """Return the workers of the first ``number`` proofs."""
            results = list(prove_many(jobs[:number], client, "cpu"))
            assert all(result.proof for result in results)
            return [result.worker for result in results]

        # The workers that Dask chooses for two proofs, and the others, as if each pair shared a GPU.
        pair = set(list(dict.fromkeys([*makers(2), *present(client)]))[:2])
        gpus = [pair, set(present(client)) - pair]
        monkeypatch.setattr(Workers, "places", lambda self, device: gpus)

        def on_each(number: int) -> list[int]:
            """Return how many of the first ``number`` proofs were made on each GPU."""
            found = makers(number)
            return [sum(worker in gpu for worker in found) for gpu in gpus]

        for _ in range(times):
            assert on_each(2) == [1, 1]
            assert sorted(on_each(3)) == [1, 2]
            assert on_each(4) == [2, 2]
        assert sum(on_each(8)) == 8


@pytest.mark.parametrize(
    ("asked", "tasks", "threads"),
    [(None, None, [2] * 8), (None, 1, [16]), (None, 3, [5] * 3), (None, 99, [2] * 8), (4, 1, [4] * 4)],
)
def test_no_more_processes_than_tasks(
    asked: int | None, tasks: int | None, threads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "available_threads", lambda: 16)
    assert [each["nthreads"] for each in options_of("processes", asked, tasks)] == threads


@pytest.mark.parametrize(
    ("asked", "tasks", "seen"),
    [(None, None, "0101"), (None, 1, "0"), (None, 3, "010"), (None, 99, "0101"), (3, 1, "010101")],
)
def test_each_gpu_has_a_process_before_one_has_two(
    asked: int | None, tasks: int | None, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"gpus": 2, "available_threads": 4}.items():
        monkeypatch.setattr(processes, name, lambda value=value: value)
    monkeypatch.setattr(processes, "memory_of", lambda number: 140 * 10**9)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = options_of("cuda", asked, tasks)
    assert "".join(each["env"]["CUDA_VISIBLE_DEVICES"] for each in found) == seen
