"""The layers of a tree by an executor: one after another in this process, or in parallel by workers of a cluster."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.graphs.progress import Tell
from graphprover.proof.proof import Proof
from graphprover.prover.compressing import named
from graphprover.prover.join import ProveLayers, proved_here
from graphprover.prover.local import pays
from graphprover.prover.prepare import Prepared
from graphprover.proving.executor import Local, OnCluster, executor_of
from graphprover.proving.prove import prove_prepared
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import observed, observing


@contextmanager
def proving_layers(executor: Any, device: Device | str, tell: Tell | None) -> Iterator[tuple[ProveLayers, int]]:
    """Yield the function that proves layers, and the bytes of memory that the proof of a layer may have.

    Args:
        executor: As in `graphprover.prove`.
        device: As in `graphprover.prove`.
        tell: Called with the progress of each layer, whose tasks have the names of its proofs.
    """
    chosen = executor_of(executor, device)
    if isinstance(chosen, OnCluster):
        from graphprover.cluster.client import joined  # which loads Dask's distributed
        from graphprover.cluster.layers import layer_memory, prove_layers

        with joined(chosen.executor) as cluster:
            yield prove_layers(cluster, device, tell), layer_memory(cluster, device)
        return

    assert isinstance(chosen, Local)
    local = chosen.name

    def prove(prepared: Prepared, name: str) -> tuple[Proof, Observation | None]:
        looking: AbstractContextManager[list[Observation]] = observed() if observing() else nullcontext([])
        with looking as seen:
            made, _ = prove_prepared(prepared, local, device, named(tell, name))
        assert isinstance(made, Proof)
        return made, next(iter(seen), None)

    own = device_for(device) if isinstance(device, str) else device
    yield proved_here(prove, pays(own)), largest(own)
