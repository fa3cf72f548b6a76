"""NVIDIA's Multi-Process Service (MPS) for the processes of one cluster: on a GPU their kernels run at the same time.

Without it a GPU gives each process its time in turn, however small a part of the GPU its kernels fill.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from graphprover.cluster import ClusterError

CONTROL = "nvidia-cuda-mps-control"

# The daemon outlives who starts it. So a shell waits until the pipe from this process is closed, which it also is when
# this process is killed, and ends the daemon, which may still write to its folder for a moment.
_KEEP = """
"$0" -d
echo "status $?"
cat > /dev/null
echo quit | "$0" > /dev/null 2>&1
for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$CUDA_MPS_PIPE_DIRECTORY" 2> /dev/null && break; sleep 0.1; done
"""


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """What the environment of processes has to say so that they use a service of their own, which ends with this.

    The GPUs are those of this process's ``CUDA_VISIBLE_DEVICES``, and the processes number these from 0. Raises
    ClusterError where the service is not installed or does not start.
    """
    control = shutil.which(CONTROL)
    if control is None:
        raise ClusterError(f"MPS: no {CONTROL} on PATH: NVIDIA's driver brings it; without --mps none is needed")
    folder = tempfile.mkdtemp(prefix="graphprover-mps-")
    service = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
    with subprocess.Popen(
        ["sh", "-c", _KEEP, control],
        env=os.environ | service,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # a Ctrl-C is this process's
    ) as keeper:  # whose end is waited for
        assert keeper.stdin and keeper.stdout
        try:
            said = []
            while (line := keeper.stdout.readline()) and not line.startswith("status "):
                said.append(line.strip())
            if line != "status 0\n":
                raise ClusterError(f"MPS: {CONTROL} does not start: {' '.join(said) or line.strip()}")
            yield service
        finally:
            keeper.stdin.close()
