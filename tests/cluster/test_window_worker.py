"""The shard of a window, with the shapes of the other windows' tables, is the one of the whole run."""

import struct
from typing import Any

import pytest

from graphprover import Prover
from graphprover.cluster.window_worker import prepared_shard
from graphprover.device import CpuDevice
from graphprover.jobs.on_workers import shared_run
from graphprover.vm.traces.shared_run import RunShard, shapes_of
from tests.cluster.processes import ROOT

DEVICE = CpuDevice(1)
INPUT = struct.pack("<Q", 6_000)  # 30,000 cycles: without layers the rate is 1/2, and with layers another one


@pytest.mark.parametrize("options", [{}, {"compress": 8}, {"rate": 4}, {"rate": 4, "compress": (8, 64)}])
def test_a_window_has_the_layout_of_the_whole_run(options: dict[str, Any]) -> None:
    job = Prover(ROOT / "examples/guests/fib_iterative.elf", shards=3, **options).job(INPUT)
    whole = job.prepared(DEVICE)
    shared = shared_run(job)
    recorded = [window.record(None) for window in shared.windows]
    for index, window in enumerate(recorded):
        shared.recorded(index, window.accesses)
    timed = shared.timed()
    tables = [window.tables(DEVICE, record) for window, record in zip(timed, recorded, strict=True)]
    shapes = [shapes_of(of_window) for of_window in tables]
    for index, (window, of_window) in enumerate(zip(timed, tables, strict=True)):
        shard = prepared_shard(RunShard(job, index, window.stated, shapes, window), DEVICE, of_window)
        assert shard.layout == whole.shards[index].layout
        assert shard.label == whole.shards[index].label and shard.public_values == whole.shards[index].public_values
