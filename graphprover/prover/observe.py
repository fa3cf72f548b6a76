"""Observations of finished proofs, from one graph or from the graphs of all shards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.batches import Holds
from graphprover.graphs.observer import GraphOfProof, Observer, machine, observed_tables, versions
from graphprover.graphs.planner.holding import plan_holding
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.shard_memory import ShardsPlan
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import security_of, sizes_of
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.statement.trace_task import TraceTask
from graphprover.telemetry.merge import sizes_of_all
from graphprover.telemetry.model import ObservedMemory, ObservedShard, ObservedTable, Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import first_began


@dataclass(frozen=True)
class ObservationBuilder:
    """The observer of a proof and the proof's surroundings, for its `Observation` once it is made."""

    device: Device
    executor: str
    observer: Observer
    graphs: Sequence[GraphOfProof]
    proving: Stage  # on `telemetry.subscribe.clock`

    def observation(
        self,
        prepared: Prepared | PreparedShards,
        proof: Proof | ShardedProof,
        plan: ShardsPlan | None,
        holds: Holds,
        stages: Sequence[Sequence[Stage]],
    ) -> Observation:
        """Return the observation of a proof.

        Args:
            prepared: The prepared statement.
            proof: The proof.
            plan: The plan of a sharded proof.
            holds: Of a proof in one shard: the columns of each table that the device held.
            stages: The stages of each shard of a sharded proof, on the clock of ``proving``.
        """
        layouts, began = [shard.layout for shard in prepared.shards], self._began
        if plan is None:
            (layout,), (shard,) = layouts, prepared.shards
            peak = plan_holding(layout, shard.traces, On.of(self.device), holds).peak.bytes
            return self._observation(prepared.shards, observed_tables(layout), peak, sizes_of(proof, layout))
        tables = [table for index, layout in enumerate(layouts) for table in observed_tables(layout, index)]
        shards = tuple(
            ObservedShard(
                len(layout.tables),
                planned.keep.name.lower(),
                planned.kept,
                peak,
                tuple(one.moved(-began) for one in of_shard),
                sizes_of(one, layout),
            )
            for layout, planned, peak, of_shard, one in zip(
                layouts, plan.shards, plan.peaks, stages, proof.proofs, strict=True
            )
        )
        return self._observation(prepared.shards, tables, plan.peak.bytes, sizes_of_all(proof.size, shards), shards)

    @property
    def _began(self) -> float:
        """Return time 0 of the clock: the start of the first stage, so that adding earlier stages moves no tasks."""
        return first_began(self.proving.start)

    def _observation(
        self,
        prepared: Sequence[Prepared],
        tables: Sequence[ObservedTable],
        peak: int,
        sizes: Mapping[str, int],
        shards: tuple[ObservedShard, ...] = (),
    ) -> Observation:
        device, began, first = self.device, self._began, prepared[0]
        return Observation(
            name=first.name,
            label=first.label,
            began=began,
            versions=versions(device.kind != CPU),
            machine=machine(device),
            executor=self.executor,
            worker="",
            device=device.kind,
            parameters=first.layout.parameters,
            tables=tuple(tables),
            stages=(self.proving.moved(-began),),
            tasks=self.observer.tasks(self.graphs, began),
            memory=ObservedMemory(self.observer.before, device.memory.peak, peak),
            processor=self.observer.processor,
            roofline=str(assumed(device.kind, device.threads)),
            security=security_of(*(shard.layout for shard in prepared)),
            sizes=sizes,
            shards=shards,
            layer=first.layer,
        )


def made_in(prepared: Prepared) -> list[int]:
    """Return the tables whose traces the proof generates."""
    return [table for table, trace in enumerate(prepared.traces) if isinstance(trace, TraceTask)]
