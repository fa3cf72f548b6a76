"""What the command line says about proofs and statements, as text: of what ``facts`` holds."""

import json
from collections.abc import Callable, Iterable, Sequence

from graphprover.facts import Facts
from graphprover.protocol.security import Security


def say(facts: Facts, text: Callable[[], str], as_json: bool) -> None:
    """Print what a command found out: as one line of JSON, or as text for people."""
    print(json.dumps(facts, allow_nan=False) if as_json else text())


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


def header_text(header: Facts) -> str:
    """What a proof says about itself."""
    tables: list[Sequence[object]] = [("table", "rows", "public values")]
    for number, table in enumerate(header["tables"]):
        tables.append((str(number), f"2^{table['log_rows']}", str(table["public_values"])))
    names = {"program": repr(header["program"]), "format": f"p3-batch-stark {header['release']}"}
    return "\n".join([listed(names), "tables", aligned(tables), parameters_text(header["parameters"])])


def key_text(key: Facts) -> str:
    """What a verifying key is for, and the hash to compare."""
    return listed(
        {
            "key hash": key["key_hash"],
            "program hash": key["program_hash"],
            "machine": f"version {key['machine']}",
            "entry": f"{key['entry']:#x}",
            "rows": f"{key['program_rows']:,} of the program, {key['data_rows'] or 0:,} of its data",
        }
    )


def parameters_text(parameters: dict[str, int]) -> str:
    """The ten parameters."""
    return "parameters\n" + aligned(parameters.items())


def security_text(security: Security) -> str:
    """The security of a proof, round by round."""
    return "security\n" + "\n".join(f"  {line}" for line in security.table().splitlines())


def statement_text(statement: Facts) -> str:
    """The tables of a statement, and the parameters of its proof."""
    rows: list[Sequence[object]] = []
    for table in statement["tables"]:
        named = {"table": table["table"], "rows": 1 << table["log_rows"], **table}
        del named["log_rows"]
        rows = rows or [[name.replace("_", " ") for name in named]]
        rows.append(list(named.values()))
    return "\n".join(["tables", aligned(rows), parameters_text(statement["parameters"])])


def sizes_text(sizes: dict[str, int]) -> str:
    """A proof's parts and their shares."""
    total = sum(sizes.values())
    rows = [("part", "bytes", "share"), *((name, size, f"{size / total:.1%}") for name, size in sizes.items())]
    return "\n".join(["sizes", aligned([*rows, ("all", total, "")])])


def times_text(times: Facts) -> str:
    """Seconds of each stage and round, and the process's peak memory."""
    rows: list[Sequence[object]] = [("stage", "seconds")]
    rows += [(name, f"{seconds:.3f}") for name, seconds in times["stages"].items()]
    lines = [aligned(rows)]
    if times["rounds"]:
        rows = [("round", "tasks", "seconds")]
        rows += [(row["round"], row["tasks"], f"{row['seconds']:.3f}") for row in times["rounds"]]
        lines.append(aligned(rows))
    return "\n".join([*lines, f"peak memory {times['peak_memory_bytes'] / 2**20:,.0f} MiB"])
