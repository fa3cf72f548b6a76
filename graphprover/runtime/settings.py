"""Settings of clusters and workers, in Dask's configuration.

Each can be given as ``graphprover.NAME`` in Dask's files, or as ``DASK_GRAPHPROVER__NAME`` in the environment of whom
it concerns.
"""

from typing import Any

import dask
from dask.utils import parse_bytes

WAIT = "graphprover.wait"  # seconds for which a client waits for a worker that fits
SILENCE = "graphprover.silence"  # seconds after which a worker that says nothing has stopped, and others get its proof
POOL = "graphprover.pool"  # of a GPU: bytes that all proofs on it hold at most, "40GiB", or a share of it, 0.8
MEMORY_LIMIT = "graphprover.memory-limit"  # the same of the host's memory, for proofs by CPUs
WORKERS = "graphprover.workers"  # processes of a cluster that we start: of each GPU, or in all
MPS = "graphprover.mps"  # whether kernels of processes that we start run together on a GPU, by NVIDIA's service
DASHBOARD = "graphprover.dashboard"  # the address of its dashboard, ":8787"; none by default
NVTX = "graphprover.nvtx"  # whether tasks are named for NVIDIA's profilers: a range by round, and one by table in it

DEFAULTS = {
    WAIT: 30.0,
    SILENCE: 60.0,
    POOL: 0.9,
    MEMORY_LIMIT: 0.8,
    WORKERS: None,
    MPS: False,
    DASHBOARD: None,
    NVTX: False,
}


def setting(name: str) -> Any:
    """What is set, or the default."""
    return dask.config.get(name, DEFAULTS[name])


def bytes_of(name: str, total: int) -> int:
    """A setting of memory, of which there are ``total`` bytes; raises ValueError, naming it, for what is no such."""
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
