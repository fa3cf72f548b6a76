"""Starvation of a host, by the share of the processor that its process got."""

import os
import subprocess
import sys

import pytest

from graphprover.telemetry.model import Processor, joined


def got(seconds: float, used: float, waited: float | None, *, always: bool = True) -> Processor:
    return Processor(seconds, used, 2.0, waited, None, None, always)


@pytest.mark.parametrize(
    ("processor", "starved"),
    [
        (got(44.7, 8.6, 70.0), True),
        (got(44.7, 8.6, None), True),  # a CPU that proves has always something to do
        (got(44.7, 8.6, 1.0), True),  # it waited elsewhere, such as in the host of a virtual machine
        (got(10.0, 20.0, 0.0), False),
        (got(10.0, 10.0, 9.9), False),  # as much as another process, on both cores
        (got(10.0, 10.0, 10.1), True),
        (got(10.0, 6.0, None), False),
        (got(10.0, 2.0, 0.0, always=False), False),  # a GPU's host sleeps
        (got(10.0, 2.0, 2.4, always=False), False),  # waited more than it ran, but not for long
        (got(10.0, 2.0, 2.6, always=False), True),
        (got(10.0, 4.0, 2.6, always=False), False),
        (got(10.0, 2.0, None, always=False), False),
    ],
)
def test_a_host_that_lacked_more_than_it_got_was_starved(processor: Processor, starved: bool) -> None:
    assert processor.starved == starved


def test_parts_of_a_process_are_joined() -> None:
    parts = [Processor(4.0, 3.0, 2.0, 0.5, 1, 0.25, True), Processor(2.0, 1.0, 2.0, 0.25, 2, 0.5, True)]
    assert joined(parts) == Processor(6.0, 4.0, 2.0, 0.75, 3, 0.75, True)
    assert joined([got(1.0, 1.0, None)] * 2) == got(2.0, 2.0, None)


PROVES = """
import os, sys
from graphprover import observed, prove
from graphprover.device import CpuDevice
from graphprover.examples import memory
from tests.graphs.test_proof_graph import FEW, example
os.sched_setaffinity(0, {int(sys.argv[1])})
os.nice(19)
statement = example(memory)
prove(statement, "sync", parameters=FEW, device=CpuDevice(1))  # kernels compile
with observed() as seen:
    while not seen or sum(one.processor.seconds for one in seen) < 1:
        prove(statement, "sync", parameters=FEW, device=CpuDevice(1))
waited = sum(one.processor.waited for one in seen)
lacked, used = sum(one.processor.lacked for one in seen), sum(one.processor.used for one in seen)
starved = max(seen, key=lambda one: one.processor.seconds)
print(seen[0].processor.cores, waited > used, lacked > used, {one.limited_by for one in starved.rounds})
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux's scheduler")
def test_a_process_beside_a_greedy_one_on_its_core_is_starved() -> None:
    """The other one has 68 times its weight."""
    core = min(os.sched_getaffinity(0))
    spin = f"import os; os.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", spin]) as greedy:
        try:
            command = [sys.executable, "-c", PROVES, str(core)]
            found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        finally:
            greedy.kill()
    assert found == "1.0 True True {'starved'}\n"
