"""What was seen of a proof, put together once it is made: by one graph, or by the graphs of its shards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.observer import GraphOfProof, Observer, machine, observed_tables, versions
from graphprover.graphs.planner.plan import peak_of
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.shard_memory import ShardsPlan
from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import security_of, sizes_of
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.statement.trace_task import TraceTask
from graphprover.telemetry.merge import sizes_of_all
from graphprover.telemetry.model import Memory, ObservedShard, ObservedTable, Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import first_began


@dataclass(frozen=True)
class ObservationBuilder:
    """How a proof was made and what saw it, to be asked once it has ended."""

    device: Device
    executor: str
    observer: Observer
    graphs: Sequence[GraphOfProof]
    proving: Stage  # on `seen.watching.clock`

    def whole(self, prepared: Prepared, sizes: Mapping[str, int]) -> Observation:
        """Of a proof that is in no shards."""
        peak = peak_of(prepared.layout, self.device, prepared.traces).bytes
        return self._observation([prepared], observed_tables(prepared.layout), peak, sizes)

    def of_shards(
        self, prepared: PreparedShards, proof: ShardedProof, plan: ShardsPlan, stages: Sequence[Sequence[Stage]]
    ) -> Observation:
        """Of a sharded proof; ``stages`` of each shard, on the same clock."""
        layouts, began = [shard.layout for shard in prepared.shards], self._began
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
        return self._observation(prepared.shards, tables, plan.peak.bytes, sizes_of_all(proof, shards), shards)

    @property
    def _began(self) -> float:
        """Where the clock is 0: with the stages before, so that whoever adds those need not move all tasks."""
        return first_began(self.proving.start)

    def _observation(
        self,
        prepared: Sequence[Prepared],
        tables: Sequence[ObservedTable],
        peak: int,
        sizes: Mapping[str, int],
        shards: tuple[ObservedShard, ...] = (),
    ) -> Observation:
        device, began, label = self.device, self._began, prepared[0].label
        return Observation(
            name=label,
            label=label,
            began=began,
            versions=versions(device.kind != CPU),
            machine=machine(device),
            executor=self.executor,
            worker="",
            device=device.kind,
            parameters=prepared[0].layout.parameters,
            tables=tuple(tables),
            stages=(self.proving.moved(-began),),
            tasks=self.observer.tasks(self.graphs, began),
            memory=Memory(self.observer.before, device.memory.peak, peak),
            processor=self.observer.processor,
            roofline=str(assumed(device.kind, device.threads)),
            security=security_of(*(shard.layout for shard in prepared)),
            sizes=sizes,
            shards=shards,
        )


def made_in(prepared: Prepared) -> list[int]:
    """The tables whose traces the proof makes."""
    return [table for table, trace in enumerate(prepared.traces) if isinstance(trace, TraceTask)]
