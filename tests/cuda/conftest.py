"""Tests marked ``gpu`` need an NVIDIA GPU: ``pytest -m gpu`` runs them, elsewhere they are skipped.

Kernels that tests compile without one are summed up at the end: `record_kernels`.
"""

from collections.abc import Callable, Sequence

import pytest

from tests.cuda.nvrtc import Job, Kernel

_COMPILED = "compiled kernels"  # a property of tests: architecture, number, most registers and stack, and whose


def _missing() -> str | None:
    """Why there is no GPU to test on."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "no GPU"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return str(error)


@pytest.fixture(autouse=True)
def gpu(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("gpu") and (reason := _missing()):
        pytest.skip(f"needs an NVIDIA GPU: {reason}")


@pytest.fixture
def record_kernels(record_property) -> Callable[[Sequence[tuple[Job, Kernel]]], None]:  # type: ignore[no-untyped-def]
    """A function that takes what `nvrtc.compile_all` returns, for the summary."""

    def record(kernels: Sequence[tuple[Job, Kernel]]) -> None:
        for job, kernel in kernels:
            record_property(_COMPILED, (job.architecture, kernel.registers, kernel.stack, f"{job.title} {kernel.name}"))

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    values = [value for report in reports for name, value in report.user_properties if name == _COMPILED]
    if not values:
        return
    terminalreporter.section("kernels compiled for GPUs")
    for architecture in dict.fromkeys(value[0] for value in values):
        some = [value for value in values if value[0] == architecture]
        _, registers, _, largest = max(some, key=lambda value: value[1])
        _, _, stack, deepest = max(some, key=lambda value: value[2])
        spilling = sum(value[2] > 0 for value in some)
        terminalreporter.line(
            f"{architecture}: {len(some)} kernels; most registers {registers}, {largest}; "
            f"{spilling} with stack, most {stack} bytes, {deepest}"
        )
