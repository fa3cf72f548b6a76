"""What a worker of a Dask cluster does for us: it makes whole proofs, on its own device.

`graphprover.cluster` names this module in text, so that a worker without it fails a task and lives.
"""

import logging
import os
import pickle
import threading

from distributed import get_worker

from graphprover.device import CpuDevice, Device, DeviceLost
from graphprover.device.choose import profile_of
from graphprover.graphs.executor_names import THREADS
from graphprover.prover import prove_prepared

_log = logging.getLogger(__name__)
_proving = threading.Lock()  # a proof takes all threads of its worker


def prove(payload: bytes) -> bytes:
    """The proof of what `graphprover.cluster.Cluster.prove` has packed.

    A GPU that fails takes its process with it, since nothing can use it there any more: the nanny starts another, and
    the scheduler gives the proof to whom it likes. Raises what `graphprover.prover.prove_prepared` does.
    """
    prepared, device = pickle.loads(payload)
    try:
        with _proving:
            proof, _ = prove_prepared(prepared, THREADS, _own(device))
        return pickle.dumps(proof)
    except DeviceLost as error:
        _log.critical("graphprover: this worker ends: %s", error)
        logging.shutdown()
        os._exit(1)


def _own(device: Device | str) -> Device | str:
    """The device asked for, as this worker has it: on a CPU as many threads as Dask has given it."""
    if isinstance(device, str) and (profile := profile_of(device)).kind == CpuDevice.kind:
        return CpuDevice(min(get_worker().state.nthreads, profile.threads))
    return device
