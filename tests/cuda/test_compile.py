"""Every kernel compiles for every supported generation of GPUs, without a GPU, and keeps its values in registers."""

import re
from pathlib import Path

import pytest

from graphprover.kernels.cuda import sources
from graphprover.kernels.cuda.sources import NTT, source
from graphprover.recursion.kernels.cuda import sources as recursion_sources
from graphprover.vm.accelerators import sources as accelerator_sources
from graphprover.vm.kernels.cuda import sources as vm_sources
from graphprover.vm.kernels.cuda.sources import texts
from tests.cuda import nvrtc
from tests.cuda.nvrtc import ARCHITECTURES, Job
from tests.slow import slow_after

nvrtc.require()

TEXTS = sources.texts() | texts() | recursion_sources.texts()
# Transforms of one text, of which a larger one has more registers.
SMALLER = {f"ntt.cu, {name}" for name in NTT if re.search(r"bottom_(9|10|11)$|natural_[567]$|_4$", name)}


@pytest.mark.parametrize(
    ("architecture", "left_out"), slow_after(1, [("sm_90", SMALLER), *((name, set()) for name in ARCHITECTURES)])
)
def test_compiles(architecture, left_out, record_kernels):
    wanted = TEXTS.keys() - left_out
    kernels = nvrtc.compile_all(Job(file, TEXTS[file], architecture) for file in wanted)
    record_kernels(kernels)
    assert {job.title for job, _ in kernels} == wanted and left_out < TEXTS.keys()
    of_transforms = {kernel.name for job, kernel in kernels if job.title.startswith("ntt.cu")}
    assert of_transforms == {name for name in NTT if f"ntt.cu, {name}" not in left_out}
    for job, kernel in kernels:
        assert 0 < kernel.registers <= 255, (job.title, kernel)
        # A few spilled addresses are harmless; an array in local memory is slow. The traces of host calls have their
        # numbers there: arrays whose limbs loops index.
        assert kernel.stack <= (1024 if job.title == "integers/integers.cu" else 256), (job.title, kernel)


def test_defines_stand_before_a_text_and_its_includes(tmp_path):
    (tmp_path / "mine.cu").write_text('#include "field.cuh"\nint x = SIZE;\n')
    text = source(tmp_path / "mine.cu", {"SIZE": 3, "MASK": 2**64 - 1})
    assert text.startswith("#define SIZE 3\n#define MASK 18446744073709551615\n") and text.endswith("int x = SIZE;\n")
    assert source("field.cuh") in text and source("field.cuh", {}) == source("field.cuh")


@pytest.mark.parametrize("machine", [vm_sources, accelerator_sources, recursion_sources])
def test_every_file_of_a_machine_is_compiled(machine):
    folder = Path(machine.__file__).parent
    assert set(machine.texts()) >= {str(file.relative_to(folder)) for file in folder.rglob("*.cu")}


def test_registers_and_stack_are_those_of_the_machine_code():
    code = """
extern "C" __global__ void plain(int* x) { x[0] = 1; }
extern "C" __global__ void array(int* x, int n) {
    int held[100];
    for (int i = 0; i < n; i++) held[x[i]] = i;
    x[0] = held[n];
}
"""
    found = {kernel.name: kernel for kernel in nvrtc.kernels(nvrtc.compile(code, "sm_90"))}
    assert found["plain"].stack == 0 and 0 < found["plain"].registers < found["array"].registers <= 255
    assert found["array"].stack == 400


def test_an_error_names_the_kernel_and_the_line():
    with pytest.raises(nvrtc.NvrtcError, match=r"wrong for sm_90: code.cu\(2\): error: .*nothing"):
        nvrtc.compile_all([Job("wrong", "\n__device__ int nothing() { return nothing_at_all; }", "sm_90")])


def test_a_text_is_compiled_once_for_each_architecture(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(nvrtc, "CACHE", tmp_path / "graphprover-tests/nvrtc")
    job = Job("one", 'extern "C" __global__ void one(int* x) { x[0] = 1; }', "sm_90")
    first = nvrtc.compile_all([job])
    (file,) = nvrtc.CACHE.iterdir()
    for other in (Job("one", job.code + " ", "sm_90"), Job("one", job.code, "sm_80")):
        assert nvrtc.cached(other) is None
    monkeypatch.setattr(nvrtc, "ProcessPoolExecutor", lambda *given: pytest.fail("it is compiled again"))
    assert nvrtc.compile_all([job]) == first and first[0][1].name == "one"
    file.write_bytes(file.read_bytes()[:-1])
    assert nvrtc.cached(job) is None
