"""The CUDA source of calls on integers writes the right rows, compiled for this computer: a test without a GPU.

Each thread works alone, so a loop over them does the same; only the arithmetic of the field is another one here.
"""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from graphprover.kernels.cuda.sources import source
from graphprover.vm.accelerators.registry import BY_CHIP
from graphprover.vm.accelerators.sources import text
from tests.vm.kernels.test_calls import case, expected

FILE = "integers/integers.cu"
ON_HOST = """
typedef unsigned int u32;
typedef unsigned long long u64;
#define __device__
#define __global__
#define __constant__ static
#define __grid_constant__
struct Index {
    u64 x;
};
static Index blockIdx, blockDim = {1}, threadIdx;
static int __clz(u32 x) { return __builtin_clz(x); }
static u32 __funnelshift_r(u32 low, u32 high, u32 by) { return (u32)(((u64)high << 32 | low) >> by); }
namespace field {
const u64 P = 0xffffffff00000001ull;
u64 sub(u64 x, u64 y) { return x >= y ? x - y : x + P - y; }
u64 inverse(u64 x) {
    u64 found = 1;
    for (u64 left = P - 2; left; left >>= 1, x = (unsigned __int128)x * x % P)
        if (left & 1) found = (unsigned __int128)found * x % P;
    return found;
}
}
"""
KERNELS = {  # by chip, a call of its kernel with the parameters p
    "modular": "fill_modular(calls, *(ModularColumns*)p[0], p[1], main, height)",
    "modular_384": "fill_modular_384(calls, *(ModularColumns*)p[0], p[1], main, height)",
    "fp2_bn254": "fill_fp2_bn254(calls, *(Fp2Columns*)p[0], *(Prime<8>*)p[1], main, height)",
    "fp2_bls12_381": "fill_fp2_bls12_381(calls, *(Fp2Columns*)p[0], *(Prime<12>*)p[1], main, height)",
    "point": "fill_point(calls, main, height)",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if not shutil.which("g++"):
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("cuda")
    threads = "".join(
        f'extern "C" void {chip}(const Calls& calls, const u64* p, u64* main, u64 height) {{\n'
        f"    for (blockIdx.x = 0; blockIdx.x < calls.count; blockIdx.x++) {call};\n}}\n"
        for chip, call in KERNELS.items()
    )
    code = text(FILE)
    assert source("field.cuh") in code
    (folder / "calls.cpp").write_text(code.replace(source("field.cuh"), ON_HOST) + threads)
    command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", folder / "calls.cpp", "-o", folder / "calls.so"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "calls.so"))


def test_every_kernel_of_the_file() -> None:
    assert set(KERNELS) == {chip for chip, one in BY_CHIP.items() if one.cuda and one.cuda.file == FILE}


@pytest.mark.parametrize("count", [1, 60])
@pytest.mark.parametrize("chip", KERNELS)
def test_rows(chip: str, count: int, library: ctypes.CDLL) -> None:
    calls, _ = case(chip, count)
    rows, used = expected(chip, count), BY_CHIP[chip].rows * count
    arrays = (calls.order, calls.rows, calls.old, calls.time, calls.new, calls.pc)
    words = np.array([*(array.ctypes.data for array in arrays), calls.first_clock, count], dtype=np.uint64)
    parameters = BY_CHIP[chip].cuda.parameters()  # type: ignore[union-attr]
    given = np.array([x if isinstance(x, int) else x.ctypes.data for x in parameters], dtype=np.uint64)
    main = np.zeros_like(rows)
    here = (ctypes.c_void_p(array.ctypes.data) for array in (words, given, main))
    getattr(library, chip)(*here, ctypes.c_uint64(rows.shape[1]))
    np.testing.assert_array_equal(main[:, :used], rows[:, :used])
