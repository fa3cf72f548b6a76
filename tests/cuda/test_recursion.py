"""The GPU's traces of the recursion machine equal the CPU's, word for word."""

import numpy as np
import pytest

from graphprover.device import CpuDevice
from tests.recursion import test_kernels

cupy = pytest.importorskip("cupy")

pytestmark = pytest.mark.gpu


@pytest.fixture
def device():  # type: ignore[no-untyped-def]
    from graphprover.device import cuda

    return cuda.device(0)


@pytest.mark.parametrize("case", [*test_kernels.CASES, (4096, 1 << 16), (3000, 1 << 17)])
def test_traces_of_compressions(case, device) -> None:  # type: ignore[no-untyped-def]
    count, rows = case
    calls = test_kernels.random_calls(count)
    expected = test_kernels.filled(CpuDevice(1), calls, rows)
    device.usage.clear()
    with device.task():
        for there, here in zip(test_kernels.filled(device, calls, rows), expected, strict=True):
            np.testing.assert_array_equal(there.get(), here)
    assert [device.usage[name].launches for name in ("fill_compress", "count_xors")] == [1, 1]
