"""``graphprover batch``: make all proofs of a batch file, with a line of progress for each."""

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from graphprover.cli import json_output, text_output
from graphprover.cli.args import FILES, Command, add_json, add_machine, add_report, asks, drawn, group_of, report_files
from graphprover.cli.batch_figures import figures, metered_by
from graphprover.cli.batch_file import ListedJob, read_batch
from graphprover.cli.executor import configured
from graphprover.cli.heartbeat import beating
from graphprover.cli.json_output import OUTCOMES, Facts
from graphprover.cli.paths import path_argument
from graphprover.cli.report_files import save_batch
from graphprover.graphs.executor_names import GROWING, HERE
from graphprover.jobs.errors import message_of
from graphprover.jobs.machine_options import BATCH_COMMAND
from graphprover.jobs.options import BATCH, of_job, of_prover, options_of
from graphprover.jobs.programs import title_of
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.errors import FAILED, OK, UsageError
from graphprover.runtime.files import (
    FileError,
    check_writable,
    goes_to_stdout,
    is_replaced,
    opened_to_append,
    resolved,
    write,
)
from graphprover.runtime.signals import status_on_signal
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import observed

if TYPE_CHECKING:
    from graphprover.jobs.job import Job
    from graphprover.jobs.result import Result

Draw = Callable[[int, int, int, str], None]  # counts of proofs made, kept and failed, and the running jobs

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

exit codes: 0 all proofs exist, 1 a job failed, 2 usage error, 130 interrupted, 143 terminated.
"""


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "Each proof is verified, and written as soon as it is done. A failed job does not stop the others. Paths "
        "are relative to the TOML file. Keys of a [[job]], or of [defaults] for all jobs: program and output "
        f"(required); input (a file, or a pattern that gives one job per file); name; {_keys(guests=False)}; for "
        f"guests also {_keys(guests=True)}. They mean the same as the options of `graphprover prove` and `submit`; "
        "docs/options.md lists their values. Placeholders in output and name: {input} is the input's file name without "
        "suffix, {program} the program's, {number} or {number:04} a counter; in output also {name}. The whole file is "
        "checked before the first job runs.",
        [
            "jobs.toml",
            "jobs.toml --executor processes --summary done.jsonl",
            "jobs.toml --executor cuda --pool 0.8",
            "jobs.toml --resume",
        ],
    )
    parser.epilog = f"{parser.epilog}\n{EPILOG}"
    parser.add_argument("jobs", type=path_argument, metavar="JOBS.TOML", help="Batch file.")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="Keep an existing output file if it is a valid proof of the same statement. Prove all other jobs.",
    )
    parser.add_argument(
        "--fail-fast",
        action="store_true",
        help="End at the first job that fails; fail_fast in the file does it for some jobs. Default: make all other "
        "proofs.",
    )
    add_report(parser, "times by stage and round, summed over all proofs")
    group_of(parser, FILES).add_argument(
        "--summary",
        type=path_argument,
        metavar="FILE",
        help="Append a line of JSON to FILE for each finished job, and one for the whole batch at the end.",
    )
    add_json(parser)
    add_machine(parser, BATCH_COMMAND)


def _keys(*, guests: bool) -> str:
    """Return the keys of options, of the ones for guests only or of the others, as text."""
    return ", ".join(option.name for option in options_of(BATCH) if option.guests == guests)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover batch`` and return the exit code."""
    entries = read_batch(options.jobs)
    _check_written("--summary", options.summary, entries)
    for path in report_files(options):
        _check_written("--trace" if path == options.trace else "--report", path, entries)
    seen: list[Observation] = []
    watching: AbstractContextManager[list[Observation]] = observed() if asks(options) else nullcontext([])
    alone = len(entries) == 1 or options.trace
    started = time.perf_counter()
    with (
        configured(options, GROWING) as settings,
        bar(len(entries)) as draw,
        _appended(options.summary) as summarise,
    ):
        from graphprover.proving.batch import prove_many

        settings.check_device()
        jobs = _jobs(entries, options.resume)
        progress = _Progress(len(jobs), draw)

        def figures_now() -> Facts:
            return figures(progress.results, time.perf_counter() - started, energy())

        def words() -> str:
            """Save the report of the finished jobs, and return the message for an interruption; must not raise."""
            try:
                save_batch(progress.results, figures_now(), seen, options)
            except Exception as error:
                return f"{progress.written()}; the report was not written: {message_of(error)}"
            return progress.written()

        def end(job: "Job", found: Facts, proof: bytes | None) -> None:
            """Write a job's proof, and tell the outcome."""
            found = _written(jobs[job], found, proof)
            summarise(found)
            progress.ended(job, found)

        with (
            metered_by(settings.executor, settings.device) as energy,
            status_on_signal(words),
            beating(progress.words),
            watching as given,
        ):
            try:
                with _span(settings.executor, options.jobs), OneBehind() as writing:
                    for result in prove_many(jobs, settings.executor, settings.device, progress.begun):
                        # The next proof need not wait for the disk.
                        writing.begin(partial(end, result.job, *_finished(jobs[result.job], result)))
                        seen += given if alone else [one.brief() for one in given]
                        given.clear()
                        ends = options.fail_fast or jobs[result.job].options.get("fail_fast")
                        if ends and result.error:
                            break
            except Exception:
                if progress.results:
                    print(f"graphprover: {words()}", file=sys.stderr)
                raise
            made = figures_now()
        total = progress.total() | made
        summarise(total)
    found = total | {"results": progress.results}
    save_batch(progress.results, made, seen, options)
    if None in (options.report or ()):
        found["report"] = json_output.times(*seen)

    def describe() -> list[text_output.Block]:
        times = text_output.times_report(found["report"]) if "report" in found else []
        return [*text_output.batch_report(total), *times]

    text_output.say(found, describe, options)
    return FAILED if total["failed"] else OK


def _span(executor: str, jobs: Path) -> AbstractContextManager[object]:
    """Return a span that groups the jobs on a cluster's dashboard under the name of the batch file."""
    if executor in HERE:
        return nullcontext()
    from distributed import span

    return span(jobs.stem or jobs.name)


class _Progress:
    """Outcomes and progress of the jobs of a batch, which one thread begins and another one ends."""

    def __init__(self, number: int, draw: "Draw | None") -> None:
        self.results: list[Facts] = []
        self._number, self._draw = number, draw
        self._running: dict[Job, str] = {}  # names of the running jobs
        self._outcomes: Counter[str] = Counter()
        self._lock = Lock()  # of the running jobs
        self._last = -math.inf  # time of the last line

    def begun(self, job: "Job", worker: str) -> None:
        """Record the start of a job, or of another attempt at it."""
        with self._lock:
            self._running[job] = title_of(job.prover.name, job.name)
            self._show()

    def ended(self, job: "Job", found: Facts) -> None:
        """Record a finished job, and print its line on stderr; with a bar, only failed and replaced jobs get a line."""
        with self._lock:
            self._running.pop(job, None)
            self.results.append(found)
            self._outcomes[found["outcome"]] += 1
            self._show()
        if found["error"] or found["again"] or not self._draw:
            place = f"{len(self.results):{len(str(self._number))}}/{self._number}"
            print(f"{place} {text_output.job_line(found)}", file=sys.stderr, flush=True)
            self._last = time.monotonic()

    def words(self) -> str:
        """Return the state of the batch in words; nothing soon after the line of a finished job."""
        from graphprover.runtime.settings import PROGRESS, setting  # here, because the verifier has no Dask

        if time.monotonic() - self._last < setting(PROGRESS):
            return ""
        with self._lock:
            running = ", ".join(self._running.values())
        return f"{len(self.results):,} of {self._number:,} jobs ended; now {running or 'preparing'}"

    def written(self) -> str:
        """Return the number of written proofs as text, for an interrupted batch."""
        there = self._outcomes["made"] + self._outcomes["kept"]
        return f"{there} of {self._number} proofs are written" + "; --resume continues" * (there < self._number)

    def total(self) -> Facts:
        """Return the counts of jobs by outcome."""
        return {"jobs": self._number} | {outcome: self._outcomes[outcome] for outcome in OUTCOMES}

    def _show(self) -> None:
        if self._draw:
            made, kept, failed = (self._outcomes[outcome] for outcome in OUTCOMES)
            self._draw(made, kept, failed, ", ".join(self._running.values()))


def _jobs(entries: Sequence[ListedJob], resume: bool) -> "dict[Job, ListedJob]":
    """Return the jobs and their entries; jobs with equal program and options share a `Prover`."""
    from graphprover.jobs.job import Job
    from graphprover.proving.prover import Prover
    from graphprover.vm.executor.debug import by_lines, to_stderr

    provers: dict[tuple[str, str], Prover] = {}
    jobs = {}
    for entry in entries:
        options = of_prover(entry.options)
        key = entry.program.name, str(options)
        if key not in provers:
            provers[key] = Prover(entry.program, **options)
        job = Job(
            provers[key],
            entry.input,
            entry.name,
            **of_job(entry.options),
            existing=entry.output if resume and entry.output.is_file() else None,
            output=entry.output,
            debug=by_lines(entry.name, to_stderr),
        )
        jobs[job] = entry
    return jobs


def _finished(entry: ListedJob, result: "Result") -> tuple[Facts, bytes | None]:
    """Return the outcome of a finished job, provided that the proof can be written, and the bytes to write, if any."""
    encoded = file = again = None
    if result.proof is not None:
        encoded = result.proof.to_bytes()
        file = json_output.file(entry.output, encoded)
        again = None if result.kept else _why_again(result.job)
    outcome = json_output.job(entry.name, entry.program, entry.input, file, result, result.error, again)
    return outcome, None if result.kept else encoded


def _written(entry: ListedJob, found: Facts, proof: bytes | None) -> Facts:
    """Write a job's proof, if there is one to write, and return the outcome."""
    try:
        if proof is not None:
            write(entry.output, proof)
    except FileError as error:
        return found | {"outcome": "failed", "proof": None, "error": message_of(error)}
    return found


def _why_again(job: "Job") -> str | None:
    """Return the reason for replacing the existing proof, or None if there was none."""
    from graphprover.jobs.existing import check_existing

    if job.existing is None:
        return None
    try:
        return "it proves another run" if check_existing(job) else "it cannot be read"
    except VerificationError as error:
        return str(error)


def _check_written(option: str, path: Path | None, entries: list[ListedJob]) -> None:
    """Raise UsageError if a job would overwrite a file of the command."""
    if path is None:
        return
    if is_replaced(path) and resolved(path) in {resolved(entry.output) for entry in entries}:
        raise UsageError(f"{option} {path}: this file is the output of a job")
    check_writable(path)


@contextmanager
def _appended(path: Path | None) -> Iterator[Callable[[Facts], None]]:
    """Yield a function that appends a line of JSON to a file, unbuffered."""
    if path is None:
        yield lambda found: None
        return
    if goes_to_stdout(path):
        yield lambda found: print(json.dumps(found, allow_nan=False), flush=True)
        return
    with opened_to_append(path) as file:
        yield lambda found: _append(file, path, json.dumps(found, allow_nan=False))


def _append(file: FileIO, path: Path, line: str) -> None:
    """Append a line to an open file, or raise FileError."""
    try:
        file.write(f"{line}\n".encode())
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def bar(number: int) -> "AbstractContextManager[Draw | None]":
    """Return the progress bar of a batch, or nothing without a terminal."""
    if drawn():
        try:
            from graphprover.runtime.display.terminal import batch_bar
        except ModuleNotFoundError:  # rich belongs to the extra [prover]
            return nullcontext()
        return batch_bar(number)
    return nullcontext()


class OneBehind:
    """A context that makes calls in a thread, in order; at its end all of them have ended.

    It writes results beside the work of this thread, since writes wait for the disk.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "write")
        self._last: Future[object] | None = None

    def __enter__(self) -> "OneBehind":
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        self._thread.shutdown()
        if kind is None:
            self._wait()

    def begin(self, call: Callable[[], object]) -> None:
        """Begin a call once the one before has ended; raises the exception of that one."""
        self._wait()
        self._last = self._thread.submit(call)

    def _wait(self) -> None:
        last, self._last = self._last, None
        if last:
            last.result()
