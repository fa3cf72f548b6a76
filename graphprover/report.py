"""What the command line says about proofs and statements, as text."""

import math
import re
import resource
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from graphprover.envelope import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import DIGEST_BYTES
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.proof import EXT_BYTES, BatchProof, decode, opened_values
from graphprover.protocol.security import analyse, shape_of
from graphprover.protocol.transcript import RELEASE
from graphprover.statement import Statement

if TYPE_CHECKING:
    from dask.diagnostics.profile import TaskData


def aligned(rows: Iterable[Sequence[object]]) -> str:
    """Rows as a table: the first column to the left, numbers to the right."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells)
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def listed(pairs: dict[str, str]) -> str:
    """Names and what they are, a line each."""
    width = max(map(len, pairs), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in pairs.items())


def header_text(proof: Proof) -> str:
    """What a proof says about itself; nothing of it is verified."""
    tables = [("table", "rows", "public values")]
    for number, (log_height, values) in enumerate(zip(proof.log_heights, proof.public_values, strict=True)):
        tables.append((str(number), f"2^{log_height}", str(len(values))))
    release = f"p3-batch-stark {RELEASE}"
    return "\n".join(
        [
            listed({"program": repr(proof.label), "format": release}),
            "tables",
            aligned(tables),
            parameters_text(proof.parameters),
        ]
    )


def parameters_text(parameters: Parameters) -> str:
    """The ten parameters."""
    return "parameters\n" + aligned(asdict(parameters).items())


def security_text(layout: Layout) -> str:
    """The security of proofs of this layout, round by round."""
    table = analyse(shape_of(layout.tables, layout.log_heights), layout.parameters).table()
    return "security\n" + "\n".join(f"  {line}" for line in table.splitlines())


def statement_text(layout: Layout) -> str:
    """The tables of a statement, and what a proof of it will be."""
    rows: list[Sequence[object]] = [
        ("table", "rows", "columns", "preprocessed", "public values", "constraints", "messages", "degree", "lookups")
    ]
    for air, log_height in zip(layout.tables, layout.log_heights, strict=True):
        messages = sum(len(each.tuples) for each in (*air.locals, *air.globals))
        degree = max((air.degrees[node] for node in air.constraints), default=0)
        counts = (air.main_width, air.preprocessed_width, air.num_public_values, len(air.constraints), messages)
        rows.append((air.name, 1 << log_height, *counts, degree, len(air.lookups)))
    return "\n".join(["tables", aligned(rows), parameters_text(layout.parameters), security_text(layout)])


def proof_text(proof: Proof, statement: Statement) -> str:
    """Sizes by part and security of a proof of this statement; raises VerificationError for a malformed one."""
    if len(proof.log_heights) != len(statement.tables):
        raise VerificationError(f"a proof of {len(proof.log_heights)} tables; the program has {len(statement.tables)}")
    try:
        layout = make_layout(statement.descriptions, proof.log_heights, proof.parameters)
    except ValueError as error:
        raise VerificationError(str(error)) from None
    total = len(proof.to_bytes())
    parts = sizes(decode(proof.payload, layout), layout)
    parts["header, public values, nonces, lengths"] = total - sum(parts.values())
    rows = [("part", "bytes", "share"), *((name, size, f"{size / total:.1%}") for name, size in parts.items())]
    return "\n".join(["sizes", aligned([*rows, ("all", total, "")]), security_text(layout)])


def sizes(proof: BatchProof, layout: Layout) -> dict[str, int]:
    """Bytes of each part of a proof, lengths aside."""
    caps = [proof.main_cap, proof.permutation_cap or (), proof.quotient_cap, *proof.fold_caps]
    parts = {
        "commitments": DIGEST_BYTES * sum(map(len, caps)),
        "openings": sum(map(len, opened_values(layout, proof.openings))),
    }
    for each, queries in zip(layout.rounds, proof.round_queries, strict=True):
        parts[f"queries: {each.name} rows"] = len(queries.rows)
        parts[f"queries: {each.name} paths"] = len(queries.path)
    parts["queries: folds"] = sum(len(group) for queries in proof.fold_queries for group in queries.siblings)
    parts["queries: fold paths"] = sum(len(queries.path) for queries in proof.fold_queries)
    parts["final polynomial"] = EXT_BYTES * len(proof.final_polynomial)
    return parts


def times_text(stages: dict[str, float], tasks: Iterable["TaskData"]) -> str:
    """Seconds of each stage and round, and the process's peak memory.

    ``tasks`` are those of this process; a round's seconds are those in which one of its tasks ran.
    """
    rounds: dict[str, list[tuple[float, float]]] = {}
    for task in sorted(tasks, key=lambda each: each.start_time):
        rounds.setdefault(str(task.key).partition("-")[0], []).append((task.start_time, task.end_time))
    rows: list[Sequence[object]] = [("stage", "seconds")]
    rows += [(name, f"{seconds:.3f}") for name, seconds in stages.items()]
    lines = [aligned(rows)]
    if rounds:
        rows = [("round", "tasks", "seconds")]
        rows += [(name, len(spans), f"{covered(spans):.3f}") for name, spans in rounds.items()]
        lines.append(aligned(rows))
    return "\n".join([*lines, f"peak memory {peak_memory() / 2**20:,.0f} MiB"])


def peak_memory() -> int:
    """The most bytes that this process has held."""
    if sys.platform == "linux":  # where ru_maxrss begins with that of the process which started this one
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return 1024 * int(found[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """The length of the union of intervals, sorted by their starts."""
    total, reached = 0.0, -math.inf
    for start, end in spans:
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total
