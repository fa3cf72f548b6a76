"""Results of the commands as JSON objects, for ``--json`` and for the text reports of `text_output`.

docs/cli_json.md documents the fields. Bytes are hexadecimal with their length; a missing value is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphprover.jobs.errors import message_of
from graphprover.jobs.programs import Program
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import bits_by
from graphprover.protocol.layout import Layout
from graphprover.protocol.transcript import RELEASE
from graphprover.verifier import Verdict
from graphprover.vm.statement.key import Key
from graphprover.vm.statement.version import MACHINE_VERSION, SHAPES_VERSION

if TYPE_CHECKING:
    from graphprover.device.choose import DeviceProfile
    from graphprover.graphs.planner.plan import Plan
    from graphprover.graphs.planner.shard_memory import ShardsPlan
    from graphprover.graphs.planner.trees import Tree
    from graphprover.graphs.proof_graph import Keep
    from graphprover.jobs.result import Result
    from graphprover.prover.made import Made
    from graphprover.telemetry.observation import Observation

Facts = dict[str, Any]

OUTCOMES = ("made", "kept", "failed")  # of a job in a batch


def verdict(program: Program, found: Verdict) -> Facts:
    """Return the program, the statement and the security of a valid proof."""
    says = program.to_json(found.public_values)
    by = bits_by(found.security)
    security = {"security_bits": found.bits, "security_bits_by": dict.fromkeys(by, 0.0) if found.mock else by}
    return {
        "program": program.name,
        "program_hash": program.program_hash,
        "says": says,
        "shards": found.shards,
        "mock": found.mock,
        **security,
    }


def run_of(program: Program, run: Any) -> Facts:
    """Return the figures of a program's recorded run; null for tables."""
    cycles, misaligned = (run.cycles, run.misaligned) if program.has_runs else (None, None)
    return {"cycles": cycles, "misaligned_accesses": misaligned}


def proof_of_run(made: Made) -> Facts:
    """Return the seconds of a proof, and the figures of a guest's run; null for tables."""
    from graphprover.telemetry.model import PROVING  # here, because verifying needs no observations

    run = made.run
    return {
        "seconds": sum(made.seconds.get(stage, 0.0) for stage in PROVING),
        "compile_seconds": made.compile_seconds,
        "cycles": run.cycles if run else None,
        "cycles_per_second": speed(made),
        "misaligned_accesses": run.misaligned_accesses if run else None,
    }


def speed(made: Made) -> float | None:
    """Return the cycles a second of a proof; None for tables, and of a proof that existed before."""
    from graphprover.telemetry.model import rate  # as above

    return rate(made.run.cycles, made.seconds, made.compile_seconds) if made.run else None


def header(proof: Proof | ShardedProof) -> Facts:
    """Return the contents of a proof's header, unverified. Tables are listed shard by shard."""
    tables = [
        ({"shard": index} if proof.joint else {}) | {"log_rows": log_rows, "public_values": len(values)}
        for index, shard in enumerate(proof.proofs)
        for log_rows, values in zip(shard.log_heights, shard.public_values, strict=True)
    ]
    parameters = asdict(proof.parameters)
    return {"program": proof.label, "release": RELEASE, "tables": tables, "parameters": parameters}


def key(found: Key) -> Facts:
    """Return the contents of a verifying key; ``key_hash`` covers the whole key."""
    rows = None if found.log_data_rows is None else 1 << found.log_data_rows
    return {
        "key_hash": found.hash.hex(),
        "program_hash": found.program_hash.hex(),
        "machine": MACHINE_VERSION,
        "shapes": SHAPES_VERSION,
        "entry": found.entry,
        "program_rows": 1 << found.log_program_rows,
        "data_rows": rows,
        "proofs": [{"hash": proof.hash, "rate": 1 << proof.log_blowup} for proof in found.proofs],
        "program": None,
    }


def statement(layout: Layout) -> Facts:
    """Return the tables of a statement and the parameters of its proof."""
    tables = []
    for air, log_rows in zip(layout.tables, layout.log_heights, strict=True):
        tables.append(
            {
                "table": air.name,
                "log_rows": log_rows,
                "columns": air.main_width,
                "preprocessed": air.preprocessed_width,
                "public_values": air.num_public_values,
                "constraints": len(air.constraints),
                "messages": sum(len(interaction.tuples) for interaction in (*air.locals, *air.globals)),
                "degree": max((air.degrees[node] for node in air.constraints), default=0),
                "lookups": len(air.lookups),
            }
        )
    return {"tables": tables, "parameters": asdict(layout.parameters)}


def plan(made: Plan, profile: DeviceProfile) -> Facts:
    """Return the tasks of a proof with their costs, and the profile of the device."""
    tasks = [
        {"key": key, "round": task.round, "name": task.name, "needs": list(task.needs), **asdict(task.cost)}
        for key, task in made.tasks.items()
    ]
    peak = made.peak_bytes(profile.threads)
    return {"tasks": tasks, "total": asdict(made.total), **_device(profile), "peak_bytes": peak}


def tree(found: Tree) -> Facts:
    """Return a planned tree of layers, from the base up."""
    levels = [
        {
            "rate": own.layer.level.rate,
            "pow_bits": own.layer.level.pow_bits,
            "merged": own.layer.level.merged,
            "layers": own.layers,
            "compressions": round(own.compressions),
            "log_rows": list(own.layer.log_heights),
            "cells": own.cells,
            "inputs_seconds": own.inputs,
            "seconds": own.seconds,
            "peak_bytes": own.memory,
        }
        for own in found.levels
    ]
    base = {
        "rate": found.base.rate,
        "pow_bits": found.base.pow_bits,
        "shards": found.shards,
        "cells": found.base_cells,
        "seconds": found.base_cost.seconds,
        "peak_bytes": found.base_cost.memory,
    }
    return {"bytes": found.bytes, "seconds": found.seconds, "base": base, "levels": levels}


def plan_in_shards(plans: Mapping[Keep, ShardsPlan], profile: DeviceProfile) -> Facts:
    """Return the cost of each shard of a proof, and the peak memory for each policy of caching waiting shards."""
    shards = [
        {
            "tables": [air.name for air in shard.layout.tables],
            "log_rows": list(shard.layout.log_heights),
            "tasks": sum(shard.tasks),
            "total": asdict(shard.cost),
            "kept_bytes": {keep.name.lower(): plan.shards[index].kept for keep, plan in plans.items()},
        }
        for index, shard in enumerate(next(iter(plans.values())).shards)
    ]
    return {
        "shards": shards,
        **_device(profile),
        "peak_bytes": {keep.name.lower(): plan.peak.bytes for keep, plan in plans.items()},
    }


def _device(profile: DeviceProfile) -> Facts:
    return {"device": profile.kind, "threads": profile.threads, "batch_rows": 1 << profile.log_batch_rows}


def job(
    name: str,
    program: Program,
    data: Path | None,
    proof: Facts | None,
    result: Result,
    error: Exception | None,
    again: str | None,
) -> Facts:
    """Return the outcome of a job in a batch: its proof file or error, and why an existing proof was replaced."""
    says = rows = run = None
    if found := result.proof:
        header = found.header
        says = program.says(header)
        rows = sum(1 << log_rows for shard in header.proofs for log_rows in shard.log_heights)
    if result.made:
        run = result.made.run
    return {
        "name": name,
        "outcome": "failed" if error else "kept" if result.kept else "made",
        "program": program.name,
        "input": None if data is None else str(data),
        "proof": proof,
        "says": says,
        "rows": rows,
        "misaligned_accesses": run.misaligned_accesses if run else None,
        "cycles_per_second": speed(result.made) if result.made else None,
        "cost": run.cost if run else None,
        "seconds": dict(result.seconds),
        "compile_seconds": result.made.compile_seconds if result.made else None,
        "peak_bytes": result.made.peak_bytes if result.made else None,
        "worker": result.worker or None,
        "attempts": result.attempts,
        "again": again,
        "error": message_of(error) if error else None,
    }


def times(*seen: Observation) -> Facts:
    """Return the seconds of each stage and round, summed over proofs, and the peak memory of a device in bytes.

    Stages and rounds of layers have names such as "layer 1: quotient". For a single sharded proof, the result also has
    the seconds of each shard, and for a compressed one the critical path of its tree.
    """
    stages: dict[str, float] = {}
    rounds: dict[str, Facts] = {}
    proofs = [proof for one in seen for proof in one.proofs]
    for one in proofs:
        of = f"layer {one.layer}: " if one.layer else ""
        for stage in one.stages:
            name = f"worker: {of}{stage.name}" if stage.by_worker else f"{of}{stage.name}"
            stages[name] = stages.get(name, 0.0) + stage.seconds
        for part in one.rounds:
            row = rounds.setdefault(f"{of}{part.round}", {"round": f"{of}{part.round}", "tasks": 0, "seconds": 0.0})
            row["tasks"] += part.tasks
            row["seconds"] += part.seconds
    peak = max((one.memory.peak for one in proofs), default=0)
    found = {"stages": stages, "rounds": list(rounds.values()), "peak_memory_bytes": peak}
    if len(seen) == 1 and seen[0].shards:
        found["shards"] = [
            {"seconds": {stage.name: shard.seconds(stage.name) for stage in shard.stages}, "kept_bytes": shard.kept}
            for shard in seen[0].shards
        ]
    if len(seen) == 1 and seen[0].tree:
        from graphprover.telemetry.tree import critical_path  # here, because verifying needs no observations

        tree = seen[0].tree
        found["critical_path"] = [
            {"name": tree[number].name, "seconds": tree[number].seconds, "start": tree[number].start - seen[0].began}
            for number in critical_path(tree)
        ]
    return found


def compression(given: int | None, data: bytes, seconds: float | None, path: Path) -> Facts:
    """Return the compressed proof that was written, the bytes of the given proof, and the time in seconds.

    The last two are None if a cluster's worker has made both proofs.
    """
    return {"proof": file(path, data), "given_bytes": given, "compress_seconds": seconds}


def file(path: Path, data: bytes) -> Facts:
    """Return the name and size of a written file."""
    return {"file": str(path), "bytes": len(data)}
