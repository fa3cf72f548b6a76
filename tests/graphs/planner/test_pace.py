"""The speed of this machine relative to the rates that floors assume, and the expected time of a proof."""

import pytest

from graphprover import observed, prove
from graphprover.device import CpuDevice
from graphprover.examples import synthetic
from graphprover.graphs.planner.pace import PROOF_BESIDE_PACE, expected_seconds, measured_pace, pace_text
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.statement.statement import Statement
from tests.trace_tasks import as_trace_tasks


def test_a_proof_takes_about_what_is_expected() -> None:
    """In processor seconds, within a factor of 20: other processes slow down the caches that they share."""
    device = CpuDevice(1)
    statement = as_trace_tasks(Statement([synthetic.table(13, 40, 30)]))
    prove(statement, "sync", device=device)  # kernels compile
    with observed() as seen:
        prove(statement, "sync", device=device)
    (one,) = seen
    expected = expected_seconds(measured_pace(device, DEFAULT_HASH), sum(found.floor for found in one.rounds))
    print(f"expected {expected:.3f} s, took {one.processor.used:.3f} s of processor")
    assert expected / 20 < one.processor.used < 20 * expected


def test_what_is_expected_is_said() -> None:
    assert expected_seconds(4.0, 2.0) == pytest.approx(8 * PROOF_BESIDE_PACE)
    assert pace_text(4.0) == "expected: this host if idle, 5.0 times the least time (kernels took 4.0 times)"
