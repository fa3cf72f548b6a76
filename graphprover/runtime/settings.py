"""Settings of clusters, workers and commands, in Dask's configuration.

Set ``graphprover.NAME`` in Dask's files, or ``DASK_GRAPHPROVER__NAME`` in the environment of the process.
"""

from typing import Any

import dask
from dask.utils import parse_bytes

WAIT = "graphprover.wait"  # seconds that a client waits for a suitable worker
SILENCE = "graphprover.silence"  # seconds without a heartbeat until a worker's proof is reassigned
POOL = "graphprover.pool"  # GPU memory for all proofs: bytes such as "40GiB", or a share such as 0.8
MEMORY_LIMIT = "graphprover.memory-limit"  # host memory for all proofs on CPUs, likewise
WORKERS = "graphprover.workers"  # processes of a local cluster: for each GPU, or in total
TAPES = "graphprover.tapes"  # GPU memory for the recordings of proofs, likewise of the pool; 0: none
MPS = "graphprover.mps"  # whether local processes share a GPU through NVIDIA's MPS
DASHBOARD = "graphprover.dashboard"  # address of the dashboard, such as ":8787"; none by default
NVTX = "graphprover.nvtx"  # whether tasks have NVTX ranges for NVIDIA's profilers: by round, and by table within
PROGRESS = "graphprover.progress"  # seconds between two lines about the progress of a command outside a terminal

DEFAULTS = {
    WAIT: 30.0,
    SILENCE: 60.0,
    POOL: 0.9,
    MEMORY_LIMIT: 0.8,
    WORKERS: None,
    TAPES: 1 / 16,
    MPS: False,
    DASHBOARD: None,
    NVTX: False,
    PROGRESS: 10.0,
}


def setting(name: str) -> Any:
    """Return a setting, or its default."""
    return dask.config.get(name, DEFAULTS[name])


def bytes_of(name: str, total: int) -> int:
    """Return a memory setting in bytes, out of ``total``; raises ValueError, with its name, for an invalid one."""
    value = setting(name)
    try:
        if isinstance(value, float) and value > 1:
            raise ValueError
        given = value if isinstance(value, float) else parse_bytes(value)
    except (ValueError, AttributeError):
        raise ValueError(f"{name}: {value!r} is neither a number of bytes, as 40GiB, nor a share, as 0.8") from None
    wanted = int(given * total) if isinstance(given, float) else given
    if wanted <= 0:
        raise ValueError(f"{name}: {value!r} leaves no memory")
    return min(wanted, total)
