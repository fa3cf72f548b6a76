"""What the command line says about proofs and statements to people: made of what ``facts`` holds."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TextIO

from graphprover.cli.args import outputs
from graphprover.cli.json_output import Facts
from graphprover.protocol.security import Security
from graphprover.runtime.files import STREAM
from graphprover.verifier import Verdict

_NUMBER = re.compile(r"-|[\d,.^]*%?( ([kMGT]|([KMGT]i)?B))?")  # a cell of a column of numbers, or none


@dataclass(frozen=True)
class Section:
    """A table of cells; integers are written with commas."""

    rows: Sequence[Sequence[object]]
    title: str = ""
    headed: bool = True  # the first row names the columns

    @cached_property
    def cells(self) -> list[list[str]]:
        """The text of all cells, by row."""
        return [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in self.rows]

    @cached_property
    def numeric(self) -> list[bool]:
        """Whether each column holds numbers, which stand to the right."""
        columns = zip(*self.cells[self.headed :], strict=True)
        return [all(map(_NUMBER.fullmatch, column)) for column in columns]


Block = str | Mapping[str, str] | Section  # lines, names and what they are, or a table


def say(facts: Facts, report: Callable[[], Iterable[Block]], options: argparse.Namespace) -> None:
    """Print what a command found out: as one line of JSON, or as a report for people.

    To stdout, unless it takes the bytes of a file.
    """
    stream = sys.stderr if STREAM in outputs(options) else sys.stdout
    if options.json:
        print(json.dumps(facts, allow_nan=False), file=stream)
    else:
        show(report(), stream)


def show(report: Iterable[Block], stream: TextIO) -> None:
    """Print a report. In a terminal its tables are drawn by rich, where that is installed."""
    for block in report:
        if isinstance(block, Section) and stream.isatty():
            try:
                from graphprover.reports.terminal import draw

                draw(block, stream)
                continue
            except ModuleNotFoundError:  # rich comes with the prover
                pass
        print(plain(block), file=stream)


def plain(block: Block) -> str:
    """A part of a report as text."""
    if isinstance(block, str):
        return block
    if isinstance(block, Section):
        return "\n".join([block.title] * bool(block.title) + list(_aligned(block)))
    width = max(map(len, block), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in block.items())


def _aligned(section: Section) -> Iterable[str]:
    numeric = section.numeric
    widths = [max(map(len, column)) for column in zip(*section.cells, strict=True)]
    for row in section.cells:
        aligned = zip(row, widths, numeric, strict=True)
        yield (
            "  "
            + "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in aligned).rstrip()
        )


def header_report(header: Facts) -> list[Block]:
    """What a proof says about itself."""
    tables = header["tables"]
    shards = [table["shard"] for table in tables if "shard" in table]
    rows: list[Sequence[object]] = [(*["shard"] * bool(shards), "table", "rows", "public values")]
    for number, table in enumerate(tables):
        place = (shards[number], number - shards.index(shards[number])) if shards else (number,)
        rows.append((*place, f"2^{table['log_rows']}", table["public_values"]))
    names = {"program": repr(header["program"]), "format": f"p3-batch-stark {header['release']}"}
    return [names, Section(rows, "tables"), parameters_section(header["parameters"])]


def key_report(key: Facts) -> list[Block]:
    """What a verifying key is for, and the hash to compare."""
    return [
        {
            "key hash": key["key_hash"],
            "program hash": key["program_hash"],
            "machine": f"version {key['machine']}",
            "entry": f"{key['entry']:#x}",
            "rows": f"{key['program_rows']:,} of the program, {key['data_rows'] or 0:,} of its data",
        }
    ]


def parameters_section(parameters: dict[str, int]) -> Section:
    """The ten parameters."""
    return Section(list(parameters.items()), "parameters", headed=False)


def security_report(security: Security) -> list[Block]:
    """The security of a proof, round by round."""
    return [Section(security.rows, "security"), f"  {security.conclusion}"]


def statement_report(statement: Facts) -> list[Block]:
    """The tables of a statement, and the parameters of its proof."""
    rows: list[Sequence[object]] = []
    for table in statement["tables"]:
        named = {"table": table["table"], "rows": 1 << table["log_rows"], **table}
        del named["log_rows"]
        rows = rows or [[name.replace("_", " ") for name in named]]
        rows.append(list(named.values()))
    return [Section(rows, "tables"), parameters_section(statement["parameters"])]


def sizes_section(sizes: dict[str, int]) -> Section:
    """A proof's parts and their shares."""
    total = sum(sizes.values())
    rows = [("part", "bytes", "share"), *((name, size, f"{size / total:.1%}") for name, size in sizes.items())]
    return Section([*rows, ("all", total, "")], "sizes")


def times_report(times: Facts) -> list[Block]:
    """Seconds of each stage, shard and round, and the process's peak memory."""
    stages = [("stage", "seconds"), *((name, f"{seconds:.3f}") for name, seconds in times["stages"].items())]
    report: list[Block] = [Section(stages)]
    if shards := times.get("shards"):
        names = list(shards[0]["seconds"])
        rows: list[Sequence[object]] = [("shard", *names, "kept, by the plan")]
        for index, shard in enumerate(shards):
            seconds = (f"{shard['seconds'][name]:.3f}" for name in names)
            rows.append((index, *seconds, f"{shard['kept_bytes'] / 2**20:,.1f} MiB"))
        report.append(Section(rows))
    if times["rounds"]:
        rounds = [(row["round"], row["tasks"], f"{row['seconds']:.3f}") for row in times["rounds"]]
        report.append(Section([("round", "tasks", "seconds"), *rounds]))
    return [*report, f"peak memory {times['peak_memory_bytes'] / 2**20:,.0f} MiB"]


def cells_report(cells: Mapping[str, int], cycles: int) -> list[Block]:
    """What a guest's run costs: committed cells a cycle, in all and by kind of table; what is below 1 % is left out."""
    largest = sorted(cells.items(), key=lambda item: -item[1])
    rows = [(name, f"{count / cycles:.2f}") for name, count in largest if count >= cycles / 100]
    summary = f"{sum(cells.values()) / cycles:.1f} committed cells a cycle ({cycles:,} cycles), of these"
    return [summary, Section(rows, headed=False)]


def job_line(job: Facts) -> str:
    """What has become of a job of a batch."""
    if job["outcome"] == "failed":
        return f"{job['name']}: failed: {job['error']}"
    file, size = job["proof"]["file"], f"{job['proof']['bytes']:,} bytes"
    if job["outcome"] == "kept":
        return f"{job['name']}: kept, {size}, {file}"
    cycles = job["says"].get("cycles")
    length = f"{cycles:,} cycles" if isinstance(cycles, int) else f"{job['rows']:,} rows"
    by = [job["worker"]] if job["worker"] else []
    tries = [f"{job['tries']} tries"] if job["tries"] > 1 else []
    line = ", ".join([length, f"{sum(job['seconds'].values()):.1f} s", *by, *tries, size, file])
    again = f" (not the one that was there: {job['again']})" if job["again"] else ""
    return f"{job['name']}: {line}{again}"


def batch_report(total: Facts) -> list[Block]:
    """What has become of a batch."""
    made = f"{total['made']:,} made in {total['seconds']:.1f} s"
    others = [f"{total[outcome]:,} {outcome}" for outcome in ("kept", "failed") if total[outcome]]
    return [", ".join([f"{total['jobs']:,} jobs: {made}", *others])]


def written(path: Path, data: bytes) -> str:
    """That a file was written."""
    return f"written to {place(path)}, {len(data):,} bytes"


def place(path: Path) -> str:
    """Where a file is."""
    return "standard output" if path == STREAM else str(path)


def worth(verdict: Verdict) -> dict[str, str]:
    """What a valid proof is worth."""
    return ({"shards": str(verdict.shards)} if verdict.shards > 1 else {}) | {"security": verdict.security.summary}
