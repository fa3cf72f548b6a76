"""The progress that prove() reports while it runs, and the lines of the log."""

import logging
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from distributed import Client, LocalCluster

from graphprover.device import CpuDevice
from graphprover.jobs.opening import load_packaged
from graphprover.protocol.parameters import Parameters
from graphprover.proving.prove import prove

STATEMENTS = [load_packaged(f"examples/{name}").record() for name in ("fibonacci", "memory")]
WEAK = Parameters("keccak", 1, 4, 0, 2, 0, 0, 0, 0, 0, 0)
Told = list[tuple[int, int, str]]


def told_of(executor: object, number: int = 0) -> Told:
    told: Told = []
    device = CpuDevice(2)
    prove(STATEMENTS[number], executor, parameters=WEAK, device=device, progress=lambda *what: told.append(what))
    return told


@pytest.mark.parametrize("executor", ["sync", "threads"])
def test_every_task_is_told(executor: str) -> None:
    told = told_of(executor)
    ended, totals, begun = zip(*told, strict=True)
    assert set(totals) == {len(told) - 1} and list(ended) == sorted(ended) and ended[-1] == totals[0]
    assert begun[-1] == "" and len(set(begun)) == len(told)
    assert {"extend_main of 0.fibonacci", "transcript of fold0", "query_proof of assemble"} <= set(begun)


@pytest.mark.parametrize(("pow_bits", "work"), [(20, ""), (21, ": proof of work, 2^21 hashes on average")])
def test_long_work_is_told_as_such(pow_bits: int, work: str) -> None:
    """Name the proof of work before the queries if it has more bits than by default."""
    told: Told = []
    prove(STATEMENTS[0], "sync", pow_bits=pow_bits, device="cpu", progress=lambda *what: told.append(what))
    (name,) = (task for _, _, task in told if task.startswith("transcript of queries"))
    assert name == f"transcript of queries{work}"


def test_a_proof_hears_of_itself_alone() -> None:
    alone = [len(told_of("threads", number)) for number in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        beside = pool.map(told_of, ["threads"] * 6, [0, 1] * 3)
    assert [len(told) for told in beside] == alone * 3 and alone[0] != alone[1]


def test_a_cluster_makes_a_proof_in_one_task() -> None:
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, Client(cluster) as client:
        told = told_of(client)
    first, by, last = told
    assert (first, last) == ((0, 1, "proof of examples/fibonacci"), (1, 1, ""))
    assert by[:2] == (0, 1) and by[2].startswith("proof of examples/fibonacci by inproc://")


def test_an_error_of_who_is_told_ends_the_proof() -> None:
    def stop(ended: int, total: int, task: str) -> None:
        if ended == 3:
            raise KeyError(task)

    with pytest.raises(KeyError):
        prove(STATEMENTS[0], "sync", parameters=WEAK, device="cpu", progress=stop)


def test_the_log_names_tasks_devices_and_seconds(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "graphprover"):
        prove(STATEMENTS[0], "sync", parameters=WEAK, device=CpuDevice(2))
    text = "\n".join(f"{record.name}: {record.getMessage()}" for record in caplog.records)
    assert re.search(r"^graphprover.graphs.builder: quotient of 0.fibonacci on CpuDevice\(2\): \d+\.\d+ s$", text, re.M)
    assert re.search(r"^graphprover.prover.sharded: 1 tables of up to 2\^10 rows on CpuDevice\(2\)$", text, re.M)
    assert re.search(r"^graphprover.graphs.executors: \d+ tasks in this process", text, re.M)
    caplog.clear()
    prove(STATEMENTS[0], "sync", parameters=WEAK, device=CpuDevice(2))
    assert not caplog.records


def test_a_bar_is_silent_where_stderr_is_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    prove(STATEMENTS[0], "sync", parameters=WEAK, device="cpu", progress=True)
    assert capsys.readouterr() == ("", "")
