"""Tests marked ``gpu`` need an NVIDIA GPU: ``pytest -m gpu`` runs them, elsewhere they are skipped."""

import pytest


def _missing() -> str | None:
    """Why there is no GPU to test on."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "no GPU"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return str(error)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU")


@pytest.fixture(autouse=True)
def gpu(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("gpu") and (reason := _missing()):
        pytest.skip(f"needs an NVIDIA GPU: {reason}")
