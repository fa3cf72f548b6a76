"""Text reports of the commands, made from the values that `json_output` collects."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from graphprover.cli.args import has_stdout
from graphprover.cli.json_output import Facts
from graphprover.jobs.programs import title_of
from graphprover.protocol.security import Security
from graphprover.runtime.display.section import Block, Section, plain
from graphprover.runtime.files import goes_to_stdout
from graphprover.verifier import Verdict


def say(facts: Facts, report: Callable[[], Iterable[Block]], options: argparse.Namespace) -> None:
    """Print the result of a command to stdout, or to stderr if stdout receives the bytes of a file.

    Args:
        facts: The result as a JSON object, printed on one line with ``--json``.
        report: Makes the text report, which is printed without ``--json``.
        options: The command's parsed arguments.
    """
    stream = sys.stderr if has_stdout(options) else sys.stdout
    if options.json:
        print(json.dumps(facts, allow_nan=False), file=stream)
    else:
        show(report(), stream)


def show(report: Iterable[Block], stream: TextIO) -> None:
    """Print a report. In a terminal, rich draws the tables if it is installed."""
    for block in report:
        if isinstance(block, Section) and stream.isatty():
            try:
                from graphprover.runtime.display.terminal import draw

                draw(block, stream)
                continue
            except ModuleNotFoundError:  # rich belongs to the extra [prover]
                pass
        print(plain(block), file=stream)


def header_report(header: Facts) -> list[Block]:
    """Return the report of a proof's header, as `json_output.header` collects it."""
    tables = header["tables"]
    shards = [table["shard"] for table in tables if "shard" in table]
    rows: list[Sequence[object]] = [(*["shard"] * bool(shards), "table", "rows", "public values")]
    for number, table in enumerate(tables):
        place = (shards[number], number - shards.index(shards[number])) if shards else (number,)
        rows.append((*place, f"2^{table['log_rows']}", table["public_values"]))
    names = {"program": repr(header["program"]), "format": f"p3-batch-stark {header['release']}"}
    return [names, Section(rows, "tables"), parameters_section(header["parameters"])]


def key_report(key: Facts) -> list[Block]:
    """Return the report of a verifying key, with the hash to compare."""
    rates: dict[str, list[str]] = {}
    for proof in key["proofs"]:
        rates.setdefault(proof["hash"], []).append(f"1/{proof['rate']}")
    return [
        {
            "key hash": key["key_hash"],
            "program hash": key["program_hash"],
            "machine": f"version {key['machine']}, with version {key['shapes']} of the rules for shapes",
            "entry": f"{key['entry']:#x}",
            "rows": f"{key['program_rows']:,} for the program, {_rows_of_data(key['data_rows'])}",
            "proofs": "; ".join(f"{name} at {', '.join(own)}" for name, own in rates.items()),
        }
    ]


def _rows_of_data(rows: int | None) -> str:
    return "no data" if rows is None else f"{rows:,} for its data"


def parameters_section(parameters: dict[str, int | str]) -> Section:
    """Return the table of the proof's parameters."""
    return Section(list(parameters.items()), "parameters", headed=False)


def security_report(security: Security) -> list[Block]:
    """Return the security of a proof by round, and the conclusion."""
    return [Section(security.rows, "security"), f"  {security.conclusion}"]


def statement_report(statement: Facts) -> list[Block]:
    """Return the tables of a statement and the parameters of its proof."""
    rows: list[Sequence[object]] = []
    for table in statement["tables"]:
        named = {"table": table["table"], "rows": 1 << table["log_rows"], **table}
        del named["log_rows"]
        rows = rows or [[name.replace("_", " ") for name in named]]
        rows.append(list(named.values()))
    return [Section(rows, "tables"), parameters_section(statement["parameters"])]


def sizes_section(sizes: dict[str, int]) -> Section:
    """Return the table of a proof's parts with their sizes in bytes and shares."""
    total = sum(sizes.values())
    rows = [("part", "bytes", "share"), *((name, size, f"{size / total:.1%}") for name, size in sizes.items())]
    return Section([*rows, ("all", total, "")], "sizes")


def times_report(times: Facts) -> list[Block]:
    """Return the seconds of each stage, shard and round, and the peak memory of the device."""
    stages = [("stage", "seconds"), *((name, f"{seconds:.3f}") for name, seconds in times["stages"].items())]
    report: list[Block] = [Section(stages)]
    if shards := times.get("shards"):
        names = list(shards[0]["seconds"])
        rows: list[Sequence[object]] = [("shard", *names, "cached (planned)")]
        for index, shard in enumerate(shards):
            seconds = (f"{shard['seconds'][name]:.3f}" for name in names)
            rows.append((index, *seconds, f"{shard['kept_bytes'] / 2**20:,.1f} MiB"))
        report.append(Section(rows))
    if path := times.get("critical_path"):
        steps = [(step["name"], f"{step['start']:.3f}", f"{step['seconds']:.3f}") for step in path]
        report.append(Section([("critical path", "from", "seconds"), *steps]))
    if times["rounds"]:
        rounds = [(row["round"], row["tasks"], f"{row['seconds']:.3f}") for row in times["rounds"]]
        report.append(Section([("round", "tasks", "seconds"), *rounds]))
    return [*report, f"peak memory {times['peak_memory_bytes'] / 2**20:,.0f} MiB"]


def cells_report(cells: Mapping[str, int], cycles: int) -> list[Block]:
    """Return the committed cells per cycle of a guest's run, in total and by kind of table.

    Kinds with less than 0.01 cells per cycle are left out.
    """
    largest = sorted(cells.items(), key=lambda item: -item[1])
    rows = [(name, f"{count / cycles:.2f}") for name, count in largest if count >= cycles / 100]
    summary = f"{sum(cells.values()) / cycles:.1f} committed cells per cycle ({cycles:,} cycles), by table"
    return [summary, Section(rows, headed=False)]


def job_line(job: Facts) -> str:
    """Return the line that reports one finished job of a batch."""
    title = title_of(job["program"], job["name"])
    if job["outcome"] == "failed":
        return f"{title}: failed: {job['error']}"
    file, size = job["proof"]["file"], f"{job['proof']['bytes']:,} bytes"
    if job["outcome"] == "kept":
        return f"{title}: kept, {size}, {file}"
    cycles = job["says"].get("cycles")
    length = f"{cycles:,} cycles" if isinstance(cycles, int) else f"{job['rows']:,} rows"
    by = [job["worker"]] if job["worker"] else []
    attempts = [f"{job['attempts']} attempts"] if job["attempts"] > 1 else []
    speed = [f"{job['cycles_per_second']:,.0f} cycles/s"] if job["cycles_per_second"] else []
    spent = [f"{sum(job['seconds'].values()):.1f} s", *_compiling(job)]
    line = ", ".join([length, *spent, *speed, *by, *attempts, size, file])
    again = f" (replaced the existing proof: {job['again']})" if job["again"] else ""
    return f"{title}: {line}{again}"


def batch_report(total: Facts) -> list[Block]:
    """Return the counts of a batch's jobs by outcome, and its figures (`batch_figures.figures`)."""
    made = f"{total['made']:,} made in {total['seconds']:.1f} s"
    others = [f"{total[outcome]:,} {outcome}" for outcome in ("kept", "failed") if total[outcome]]
    left = total["jobs"] - total["made"] - total["kept"] - total["failed"]
    others += [f"{left:,} not ended"] if left else []
    others += [f"{total['retries']:,} retries"] if total["retries"] else []
    counts = ", ".join([f"{total['jobs']:,} jobs: {made}", *others])
    if not total["made"]:
        return [counts]
    times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in total["proof_seconds"].items())
    rate = f"{total['proofs_per_hour']:,.0f} proofs an hour, {total['seconds_per_proof']:.2f} s each"
    energies = [_energy(name.upper(), found) for name, found in total["energy"].items() if found]
    return [counts, f"{rate}; time of a proof: {times}", f"energy: {'; '.join(energies)}"]


def _energy(name: str, found: Facts) -> str:
    """Return the energy of a kind of device in a batch that has made proofs."""
    if found["joules"] is None:
        return f"{name} not measured ({found['problem']})"
    return f"{name} {found['joules']:,.0f} J, {found['joules_per_proof']:,.1f} J a proof"


def written(path: Path, data: bytes) -> str:
    """Return the line that names a written file and its size."""
    return f"written to {place(path)}, {len(data):,} bytes"


def compression(found: Facts) -> dict[str, str]:
    """Return the compressed proof by name, from the fields of `json_output.compression`."""
    proof = found["proof"]
    text = f"{place(Path(proof['file']))}, {proof['bytes']:,} bytes"
    if found["given_bytes"] is None:
        return {"proof": f"{text}, compressed"}
    return {"proof": f"{text}, from {found['given_bytes']:,} in {found['compress_seconds']:.1f} s"}


def place(path: Path) -> str:
    """Return the path of a file, or "standard output"."""
    return "standard output" if goes_to_stdout(path) else str(path)


def run_lines(run: Facts) -> dict[str, str]:
    """Return the figures of a guest's run by name, from the fields of `json_output.proof_of_run`; none for tables."""
    if run["cycles"] is None:
        return {}
    speed = run["cycles_per_second"]
    return {
        "cycles": f"{run['cycles']:,}",
        **({} if speed is None else {"speed": f"{speed:,.0f} cycles/s"}),
        "misaligned": f"{run['misaligned_accesses']:,} loads and stores",
    }


def seconds_line(run: Facts) -> dict[str, str]:
    """Return the seconds of a proof by name, from the fields of `json_output.proof_of_run`."""
    return {"seconds": ", ".join([f"{run['seconds']:.1f}", *_compiling(run)])}


def _compiling(run: Facts) -> list[str]:
    """Return the part of a proof's seconds that no later proof on the host needs; nothing if it is small."""
    compiled = run["compile_seconds"]
    return [f"{compiled:.1f} of them for compiling kernels, once"] if compiled >= 0.1 else []


def run_report(run: Facts) -> list[Block]:
    """Return the figures of a guest's run, as `json_output.run_of` collects them; nothing for tables."""
    if run["cycles"] is None:
        return []
    return [f"{run['cycles']:,} cycles, {run['misaligned_accesses']:,} misaligned loads and stores"]


def worth(verdict: Verdict) -> dict[str, str]:
    """Return the number of shards (if several) and the security of a valid proof, by name."""
    return ({"shards": str(verdict.shards)} if verdict.shards > 1 else {}) | {"security": verdict.summary}
