"""The observation of a proof, assembled once the proof is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.observer import GraphOfProof, Observer, machine, seen_tables, versions
from graphprover.graphs.planner.plan import peak_of
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.shard_memory import ShardsPlan
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import security_of, sizes_of
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.statement.trace_task import TraceTask
from graphprover.telemetry.merge import sizes_of_all
from graphprover.telemetry.model import Memory, SeenShard, SeenTable, Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import first_began


@dataclass(frozen=True)
class Sight:
    """How a proof was made, and the observer of its tasks."""

    device: Device
    executor: str
    observer: Observer
    graphs: Sequence[GraphOfProof]
    proving: Stage  # on `seen.watching.clock`

    def observation(
        self,
        prepared: Prepared | PreparedShards,
        proof: Proof | ShardedProof,
        plan: ShardsPlan | None,
        stages: Sequence[Sequence[Stage]],
    ) -> Observation:
        """Return the observation of a proof.

        Args:
            prepared: The prepared statement.
            proof: The proof.
            plan: The plan of a sharded proof.
            stages: The stages of each shard of a sharded proof, on the clock of ``proving``.
        """
        layouts, began = [shard.layout for shard in prepared.shards], self._began
        if plan is None:
            (layout,), (shard,) = layouts, prepared.shards
            peak = peak_of(layout, self.device, shard.traces).bytes
            return self._observation(prepared.shards, seen_tables(layout), peak, sizes_of(proof, layout))
        tables = [table for index, layout in enumerate(layouts) for table in seen_tables(layout, index)]
        shards = tuple(
            SeenShard(
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
        """The zero of the observation's clock: the start of the stages before the proof, which are added later."""
        return first_began(self.proving.start)

    def _observation(
        self,
        prepared: Sequence[Prepared],
        tables: Sequence[SeenTable],
        peak: int,
        sizes: Mapping[str, int],
        shards: tuple[SeenShard, ...] = (),
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
            ceilings=str(assumed(device.kind, device.threads)),
            security=security_of(*(shard.layout for shard in prepared)),
            sizes=sizes,
            shards=shards,
        )


def made_in(prepared: Prepared) -> list[int]:
    """Return the tables whose traces the proof makes."""
    return [table for table, trace in enumerate(prepared.traces) if isinstance(trace, TraceTask)]
