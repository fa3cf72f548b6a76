"""NVIDIA's Multi-Process Service (MPS) for a cluster: kernels of several processes run on a GPU at the same time.

Without it, processes take turns on the GPU, even if their kernels fill only a part of it.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from graphprover.cluster import ClusterError

CONTROL = "nvidia-cuda-mps-control"

# The daemon outlives its parent. So a shell waits until the pipe from this process is closed, also by a kill, and then
# ends the daemon, which may still write to its folder for a moment.
_KEEP = """
"$0" -d
echo "status $?"
cat > /dev/null
echo quit | "$0" > /dev/null 2>&1
for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$CUDA_MPS_PIPE_DIRECTORY" 2> /dev/null && break; sleep 0.1; done
"""


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """Start a service for the GPUs of ``CUDA_VISIBLE_DEVICES``, and yield the environment variables for its processes.

    Processes number these GPUs from 0. The service ends with the context.

    Raises:
        ClusterError: If the service is not installed or does not start.
    """
    control = shutil.which(CONTROL)
    if control is None:
        raise ClusterError(f"MPS: no {CONTROL} on PATH: NVIDIA's driver includes it; only --mps needs it")
    folder = tempfile.mkdtemp(prefix="graphprover-mps-")
    service = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
    with subprocess.Popen(
        ["sh", "-c", _KEEP, control],
        env=os.environ | service,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C must not end it before this process
    ) as keeper:  # the context waits for its end
        assert keeper.stdin and keeper.stdout
        try:
            output = []
            while (line := keeper.stdout.readline()) and not line.startswith("status "):
                output.append(line.strip())
            if line != "status 0\n":
                raise ClusterError(f"MPS: {CONTROL} does not start: {' '.join(output) or line.strip()}")
            yield service
        finally:
            keeper.stdin.close()
