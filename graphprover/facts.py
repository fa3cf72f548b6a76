"""What the commands find out, as JSON has it: `--json` prints it, and ``report`` makes text of the same.

docs/cli.md documents the fields. Bytes are hex with their length; a missing value is null.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphprover.envelope import Proof
from graphprover.graphs.keys import place_of
from graphprover.programs import Program
from graphprover.proof_in_pieces import ProofInPieces
from graphprover.protocol.hashing import DIGEST_BYTES
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import EXT_BYTES, BatchProof, decode, opened_values
from graphprover.protocol.security import Security, analyse, shape_of
from graphprover.protocol.transcript import RELEASE
from graphprover.verifier import Verdict
from graphprover.vm.guest import Guest
from graphprover.vm.key import Key
from graphprover.vm.version import MACHINE_VERSION

if TYPE_CHECKING:
    from dask.diagnostics.profile import TaskData

    from graphprover.device.choose import Profile
    from graphprover.graphs.pieces import PiecesPlan
    from graphprover.graphs.plan import Plan
    from graphprover.graphs.proof import Keep
    from graphprover.jobs import Result

Facts = dict[str, Any]

OUTCOMES = ("made", "kept", "failed")  # of a job of a batch


def verdict(program: Program | Guest, found: Verdict) -> Facts:
    """What a valid proof says, about which program, and how sure that is."""
    program_hash = program.machine.program_hash.hex() if isinstance(program, Guest) else None
    says = program.to_json(found.public_values)
    security = {"security_bits": found.bits, "security_bits_by": bits_by(found.security)}
    return {"program": program.name, "program_hash": program_hash, "says": says, **security}


def header(proof: Proof | ProofInPieces) -> Facts:
    """What a proof says about itself; nothing of it is verified. Its pieces number their tables themselves."""
    tables = [
        ({"piece": index} if isinstance(proof, ProofInPieces) else {})
        | {"log_rows": log_rows, "public_values": len(values)}
        for index, piece in enumerate(plain(proof))
        for log_rows, values in zip(piece.log_heights, piece.public_values, strict=True)
    ]
    parameters = asdict(proof.parameters)
    return {"program": proof.label, "release": RELEASE, "tables": tables, "parameters": parameters}


def key(found: Key) -> Facts:
    """What a verifying key is for; ``key_hash`` covers all of it."""
    rows = None if found.log_data_rows is None else 1 << found.log_data_rows
    return {
        "key_hash": found.hash.hex(),
        "program_hash": found.program_hash.hex(),
        "machine": MACHINE_VERSION,
        "entry": found.entry,
        "program_rows": 1 << found.log_program_rows,
        "data_rows": rows,
        "program": None,
    }


def statement(layout: Layout) -> Facts:
    """The tables of a statement and the parameters of its proof."""
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


def plain(proof: Proof | ProofInPieces) -> tuple[Proof, ...]:
    """The proof of each piece, or the one that is in no pieces."""
    return proof.proofs if isinstance(proof, ProofInPieces) else (proof,)


def security_of(*layouts: Layout) -> Security:
    """The provable security of proofs of this layout, or of pieces of these."""
    return analyse([shape_of(layout.tables, layout.log_heights) for layout in layouts], layouts[0].parameters)


def bits_by(found: Security) -> Facts:
    """The bits by each analysis."""
    return {"johnson": found.johnson.bits, "unique": found.unique.bits}


def security(found: Security) -> Facts:
    """The rounds of the analysis that counts, and the weakest of them."""
    rounds = [
        {
            "round": challenge.name,
            "bits": None if math.isinf(challenge.bits) else challenge.bits,  # no challenge is bad
            "grinding_bits": challenge.pow_bits,
        }
        for challenge in found.regime.rounds
    ]
    limit = {"regime": found.regime.name, "limited_by": found.binding, "rounds": rounds}
    return {"bits": found.bits, "bits_by": bits_by(found), **limit}


def sizes(proof: Proof | ProofInPieces, *layouts: Layout) -> dict[str, int]:
    """Bytes of each part of a proof, of all its pieces; raises VerificationError for a malformed one."""
    parts: dict[str, int] = {}
    for piece, layout in zip(plain(proof), layouts, strict=True):
        for part, size in payload_sizes(decode(piece.payload, layout), layout).items():
            parts[part] = parts.get(part, 0) + size
    rest = len(proof.to_bytes()) - sum(parts.values())
    return parts | {"header, public values, nonces, lengths": rest}


def payload_sizes(proof: BatchProof, layout: Layout) -> dict[str, int]:
    """Bytes of each part of Plonky3's proof, lengths aside."""
    caps = [proof.main_cap, proof.permutation_cap or (), proof.quotient_cap, *proof.fold_caps]
    parts = {
        "commitments": DIGEST_BYTES * sum(map(len, caps)),
        "openings": sum(map(len, opened_values(layout, proof.openings))),
    }
    for commitment, queries in zip(layout.rounds, proof.round_queries, strict=True):
        parts[f"queries: {commitment.name} rows"] = len(queries.rows)
        parts[f"queries: {commitment.name} paths"] = len(queries.path)
    parts["queries: folds"] = sum(len(group) for queries in proof.fold_queries for group in queries.siblings)
    parts["queries: fold paths"] = sum(len(queries.path) for queries in proof.fold_queries)
    parts["final polynomial"] = EXT_BYTES * len(proof.final_polynomial)
    return parts


def plan(made: Plan, profile: Profile) -> Facts:
    """The tasks of a proof with their costs, and how a device runs them."""
    tasks = [
        {"key": key, "round": task.round, "name": task.name, "needs": list(task.needs), **asdict(task.cost)}
        for key, task in made.tasks.items()
    ]
    peak = made.peak_bytes(profile.threads)
    return {"tasks": tasks, "total": asdict(made.total), **_device(profile), "peak_bytes": peak}


def plan_in_pieces(plans: Mapping[Keep, PiecesPlan], profile: Profile) -> Facts:
    """What each piece of a proof costs, and the peak, by what a device keeps of pieces that wait."""
    pieces = [
        {
            "tables": [air.name for air in piece.layout.tables],
            "log_rows": list(piece.layout.log_heights),
            "tasks": sum(piece.tasks),
            "total": asdict(piece.cost),
            "kept_bytes": {keep.name.lower(): plan.pieces[index].kept for keep, plan in plans.items()},
        }
        for index, piece in enumerate(next(iter(plans.values())).pieces)
    ]
    return {
        "pieces": pieces,
        **_device(profile),
        "peak_bytes": {keep.name.lower(): plan.peak.bytes for keep, plan in plans.items()},
    }


def _device(profile: Profile) -> Facts:
    return {"device": profile.kind, "threads": profile.threads, "batch_rows": 1 << profile.log_batch_rows}


def job(
    name: str,
    program: Program | Guest,
    data: Path | None,
    proof: Facts | None,
    result: Result,
    error: Exception | None,
    again: str | None,
) -> Facts:
    """What has become of a job of a batch: its proof's file or an error, and why a proof that was there is not kept."""
    says = rows = None
    if isinstance(found := result.proof, Proof):
        says = program.to_json(found.public_values)
        rows = sum(1 << log_rows for log_rows in found.log_heights)
    return {
        "name": name,
        "outcome": "failed" if error else "kept" if result.kept else "made",
        "program": program.name,
        "input": None if data is None else str(data),
        "proof": proof,
        "says": says,
        "rows": rows,
        "seconds": dict(result.seconds),
        "peak_bytes": result.made.peak_bytes if result.made else None,
        "worker": result.worker or None,
        "tries": result.tries,
        "again": again,
        "error": message(error) if error else None,
    }


def message(error: BaseException) -> str:
    """An error in one line; those of ours say enough without their type."""
    ours = type(error).__module__.partition(".")[0] == __package__
    return one_line(str(error) if ours else f"{type(error).__name__}: {error}")


def one_line(text: str) -> str:
    """The same without breaks."""
    return " ".join(line.strip() for line in text.splitlines())


def times(stages: Mapping[str, float], tasks: Iterable[TaskData]) -> Facts:
    """Seconds of each stage and round, and the process's peak memory.

    ``tasks`` are those of this process; a round's seconds are those in which one of its tasks ran.
    """
    rounds: dict[str, list[tuple[float, float]]] = {}
    for task in sorted(tasks, key=lambda task: task.start_time):
        rounds.setdefault(place_of(task.key).round, []).append((task.start_time, task.end_time))
    rows = [{"round": name, "tasks": len(spans), "seconds": covered(spans)} for name, spans in rounds.items()]
    return {"stages": dict(stages), "rounds": rows, "peak_memory_bytes": peak_memory()}


def peak_memory() -> int:
    """The most bytes that this process has held."""
    if sys.platform == "linux":  # where ru_maxrss begins with that of the process which started this one
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return 1024 * int(found[1])
    import resource  # only where there is POSIX

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """The length of the union of intervals, sorted by their starts."""
    total, reached = 0.0, -math.inf
    for start, end in spans:
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total
