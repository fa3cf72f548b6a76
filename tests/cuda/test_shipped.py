"""Kernels that came with the package run on a GPU, and nothing is compiled."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from graphprover.kernels.cuda import nvrtc as compiler
from graphprover.kernels.cuda import shipped
from graphprover.kernels.cuda.sources import STANDARD, source
from tests.cuda import nvrtc

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
INVERT = """
import sys
from pathlib import Path
import cupy
import numpy as np
from graphprover.field import P
from graphprover.kernels.cuda import inverse, launch, shipped

shipped.FOLDER = Path(sys.argv[1])
source = cupy.asarray(np.arange(1, 1001, dtype=np.uint64))
target = cupy.empty(1000, dtype=cupy.uint64)
inverse.inverse(source, target)
assert all(i * x % P == 1 for i, x in enumerate(target.get().tolist(), 1))
print(dict(launch.loads), "libnvrtc" in Path("/proc/self/maps").read_text())
"""


def run(folder, cache):
    """Invert numbers in a new process; return what it printed, and the number of the package's warnings."""
    environment = os.environ | {"CUPY_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-c", INVERT, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr.count("graphprover: ")


def test_shipped_kernels_need_no_compiler(tmp_path):
    cupy = pytest.importorskip("cupy")
    nvrtc.require()
    text, capability = source("inverse.cu"), cupy.cuda.Device(0).compute_capability
    assert run(tmp_path, tmp_path / "cache") == ("{'compiled': 1} True", 0)
    assert run(tmp_path, tmp_path / "cache") == ("{'cached': 1} True", 0)

    def ship(architecture):
        about = {"standard": STANDARD, "operations": {"inverse.cu": shipped.digest_of(text)}}
        with zipfile.ZipFile(tmp_path / f"sm_{capability}.zip", "w") as archive:
            archive.writestr(shipped.ABOUT, json.dumps(about, allow_nan=False))
            archive.writestr(shipped.digest_of(text), compiler.compile(text, architecture))

    ship(f"sm_{capability}")
    assert run(tmp_path, tmp_path / "none") == ("{'shipped': 1} False", 0)
    assert not list((tmp_path / "none").glob("*.cubin"))
    ship("sm_80" if capability != "80" else "sm_90")
    assert run(tmp_path, tmp_path / "cache") == ("{'cached': 1} True", 1)  # the driver refuses it
