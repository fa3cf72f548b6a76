"""``graphprover batch``: the proofs that a file lists, one line for each as it ends."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphprover.cli import json_output, text_output
from graphprover.cli.args import FAILED, OK, Command, UsageError, add_json, add_report, asks, drawn, report_files
from graphprover.cli.batch_file import Entry, read_batch
from graphprover.cli.executor import add_executor, check_device, configured
from graphprover.cli.json_output import OUTCOMES, Facts
from graphprover.cli.paths import path_argument
from graphprover.cli.report_files import save_batch
from graphprover.graphs.executor_names import LOCAL
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.files import STREAM, FileError, check_writable, read_proof, resolved, write
from graphprover.runtime.signals import status_on_signal
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import observed

if TYPE_CHECKING:
    from graphprover.jobs.jobs import Job, Result

Draw = Callable[[int, int, int, str], None]  # proofs made, kept and failed, and what runs

EPILOG = """\

jobs.toml:
  [defaults]
  program = "guest.elf"

  [[job]]
  input = "inputs/*.bin"
  output = "proofs/{input}.bin"

  [[job]]
  input = "large.bin"
  output = "proofs/large.bin"
  security = 100
  exit_code = "any"

exit codes: 0 all proofs are there, 1 a job has failed, 2 usage, 130 interrupted, 143 terminated.
"""


def add(command: Command) -> None:
    """Adds it to the command line."""
    parser = command(
        "batch",
        run,
        "Prove many runs of programs, as a file lists them.",
        "Each proof is verified by whoever made it, and its file written, as soon as it is done; a job that fails ends "
        "no other. The file is TOML; its paths are relative to it. [defaults] takes what a [[job]] takes: program and "
        "output, which must be there; input, a file, or a pattern, which gives a job for each file; name; security, "
        "proximity, rate and shards; of guests also shard_size, exit_code, commit_input, max_cycles and max_memory, as "
        "`graphprover prove` has them. In output and name {input} is the input's file name without its ending, "
        "{program} the program's, {number} counts (as {number:04}), and output may have {name}. Everything is checked "
        "before anything runs.",
        [
            "jobs.toml",
            "jobs.toml --executor processes --summary done.jsonl",
            "jobs.toml --executor cuda --pool 0.8",
            "jobs.toml --resume",
        ],
    )
    parser.epilog = f"{parser.epilog}\n{EPILOG}"
    parser.add_argument("jobs", type=path_argument, metavar="JOBS.TOML", help="the file that lists them")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep a proof whose file is there, if it verifies and says what the job would; make all others",
    )
    add_executor(parser)
    add_report(parser, "times by stage and round, of all proofs together")
    parser.add_argument(
        "--summary",
        type=path_argument,
        metavar="FILE",
        help="append a line of JSON for each job that ends, then one for all",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """``graphprover batch``"""
    entries = read_batch(options.jobs)
    _check_written("--summary", options.summary, entries)
    for path in report_files(options):
        _check_written("--trace" if path == options.trace else "--report", path, entries)
    seen: list[Observation] = []
    watching: AbstractContextManager[list[Observation]] = observed() if asks(options) else nullcontext([])
    alone = len(entries) == 1 or options.trace
    started = time.perf_counter()
    with configured(options), bar(len(entries)) as draw, _appended(options.summary) as summarise:
        from graphprover.jobs.batch import prove_many

        check_device(options)
        jobs = _jobs(entries, options.resume)
        progress = _Progress(len(jobs), draw)

        def words() -> str:
            """For whoever is interrupted, after the report of what was seen until then; it must not fail."""
            try:
                save_batch(progress.results, seen, options)
            except Exception as error:
                return f"{progress.written()}; there is no report: {json_output.message(error)}"
            return progress.written()

        with status_on_signal(words), watching as given:
            try:
                with _span(options):
                    for result in prove_many(jobs, options.executor, options.device, progress.begun):
                        found = _finished(jobs[result.job], result)
                        summarise(found)
                        progress.ended(result.job, found)
                        seen += given if alone else [one.brief() for one in given]
                        given.clear()
            except Exception:
                if progress.results:
                    print(f"graphprover: {words()}", file=sys.stderr)
                raise
        total = progress.total() | {"seconds": time.perf_counter() - started}
        summarise(total)
    found = total | {"results": progress.results}
    save_batch(progress.results, seen, options)
    if None in (options.report or ()):
        found["report"] = json_output.times(*seen)

    def describe() -> list[text_output.Block]:
        times = text_output.times_report(found["report"]) if "report" in found else []
        return [*text_output.batch_report(total), *times]

    text_output.say(found, describe, options)
    return FAILED if total["failed"] else OK


def _span(options: argparse.Namespace) -> AbstractContextManager[object]:
    """What the dashboard of a cluster calls all of them: as their file."""
    if options.executor in LOCAL:
        return nullcontext()
    from distributed import span

    return span(options.jobs.stem or options.jobs.name)


class _Progress:
    """What has become of the jobs of a batch."""

    def __init__(self, number: int, draw: "Draw | None") -> None:
        self.results: list[Facts] = []
        self._number, self._draw = number, draw
        self._running: dict[Job, str] = {}  # names
        self._outcomes: Counter[str] = Counter()

    def begun(self, job: "Job", worker: str) -> None:
        """A job has begun, perhaps once more."""
        self._running[job] = job.name
        self._show()

    def ended(self, job: "Job", found: Facts) -> None:
        """A job has ended. Each gets a line on stderr; where there is a bar, those with more to tell do."""
        self._running.pop(job, None)
        self.results.append(found)
        self._outcomes[found["outcome"]] += 1
        self._show()
        if found["error"] or found["again"] or not self._draw:
            place = f"{len(self.results):{len(str(self._number))}}/{self._number}"
            print(f"{place} {text_output.job_line(found)}", file=sys.stderr, flush=True)

    def written(self) -> str:
        """For whoever is interrupted."""
        there = self._outcomes["made"] + self._outcomes["kept"]
        return f"{there} of {self._number} proofs are written" + "; --resume continues" * (there < self._number)

    def total(self) -> Facts:
        """All jobs, by what has become of them."""
        return {"jobs": self._number} | {outcome: self._outcomes[outcome] for outcome in OUTCOMES}

    def _show(self) -> None:
        if self._draw:
            made, kept, failed = (self._outcomes[outcome] for outcome in OUTCOMES)
            self._draw(made, kept, failed, ", ".join(self._running.values()))


def _jobs(entries: Sequence[Entry], resume: bool) -> "dict[Job, Entry]":
    """The jobs, in which a program with the same options stands once."""
    from graphprover.jobs.jobs import Job, Prover

    provers: dict[tuple[Any, ...], Prover] = {}
    jobs = {}
    for entry in entries:
        options = {name: getattr(entry, name) for name in ("security", "rate", "proximity", "shards", "shard_size")}
        key = entry.program.name, *options.values()
        if key not in provers:
            provers[key] = Prover(entry.program, **options)
        job = Job(
            provers[key],
            entry.input,
            entry.name,
            state_input=entry.commit_input,
            exit_code=entry.exit_code,
            limits=entry.limits,
            existing=entry.output if resume and entry.output.is_file() else None,
            output=entry.output,
        )
        jobs[job] = entry
    return jobs


def _finished(entry: Entry, result: "Result") -> Facts:
    """What has become of a job; its proof is in its file then, unless it was there."""
    error, written, again = result.error, None, None
    if result.proof is not None:
        encoded = result.proof.to_bytes()
        try:
            if not result.kept:
                again = _why_again(entry, result.job)
                write(entry.output, encoded)
            written = json_output.file(entry.output, encoded)
        except FileError as failure:
            error = failure
    return json_output.job(entry.name, entry.program, entry.input, written, result, error, again)


def _why_again(entry: Entry, job: "Job") -> str | None:
    """What is wrong with the proof that was there; None where there was none."""
    if job.existing is None:
        return None
    try:
        job.prover.verify(read_proof(entry.output))
    except (FileError, VerificationError) as error:
        return str(error)
    return "it is of another run"


def _check_written(option: str, path: Path | None, entries: list[Entry]) -> None:
    """Raises UsageError where a file of the batch would be written over by a job."""
    if path is None or path == STREAM:
        return
    if resolved(path) in {resolved(entry.output) for entry in entries}:
        raise UsageError(f"{option} {path}: a job writes its proof there")
    check_writable(path)


@contextmanager
def _appended(path: Path | None) -> Iterator[Callable[[Facts], None]]:
    """Appends lines of JSON to a file, each at once."""
    if path is None:
        yield lambda found: None
        return
    if path == STREAM:
        yield lambda found: print(json.dumps(found, allow_nan=False), flush=True)
        return
    with path.open("ab", buffering=0) as file:
        yield lambda found: _append(file, path, json.dumps(found, allow_nan=False))


def _append(file: FileIO, path: Path, line: str) -> None:
    """Append a line to an open file; raises FileError."""
    try:
        file.write(f"{line}\n".encode())
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def bar(number: int) -> "AbstractContextManager[Draw | None]":
    """A bar that shows a batch, in a terminal."""
    if drawn():
        try:
            from graphprover.reports.terminal import batch_bar
        except ModuleNotFoundError:  # rich comes with the prover
            return nullcontext()
        return batch_bar(number)
    return nullcontext()
