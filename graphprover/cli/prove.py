"""``graphprover prove``: make one proof, in this process or on a cluster."""

import argparse
import logging
import secrets
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from graphprover.cli import json_output, text_output
from graphprover.cli.args import (
    Command,
    add_json,
    add_machine,
    add_options,
    add_output,
    add_report,
    asks,
    options_given,
    refusing,
    report_files,
)
from graphprover.cli.executor import configured
from graphprover.cli.heartbeat import progress
from graphprover.cli.members import headers_of
from graphprover.cli.program_args import add_program, program_given
from graphprover.cli.report_files import save_proof
from graphprover.jobs.options import PROVE, of_job, of_prover
from graphprover.proof.compressed import any_proof_from_bytes
from graphprover.proof.mock import MOCK
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.errors import OK, UsageError
from graphprover.runtime.files import FileError, check_writable, goes_to_stdout, is_replaced, read_proof, write
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock, observed
from graphprover.verifier import Verdict
from graphprover.vm.executor.faults import OtherExitCode
from graphprover.vm.statement.claim import ANY

if TYPE_CHECKING:
    from graphprover.proving.prover import Prover

OUTPUT = Path("proof.bin")  # by default

_log = logging.getLogger(__name__)


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "The proof is verified before it is written. The output file is replaced atomically.",
        [
            "examples/keccak --input README.md -o proof.bin",
            "tables.py --rate 8 -o small.bin",
            "guest.elf --input data -o proof.bin",
            "guest.elf --input data --shards 4 --pool 20GiB",
            "guest.elf --input data --report out.html",
            "guest.elf --input data --compress small -o small.bin",
            "guest.elf --input data --mock -o mock.bin",
            "examples/keccak --executor tcp://10.0.0.1:8786",
        ],
    )
    add_program(parser)
    add_output(parser, str(OUTPUT))
    parser.set_defaults(output=OUTPUT)  # this very object tells that no --output is given
    add_options(parser, PROVE)
    add_machine(parser, PROVE)
    add_report(parser, "times by stage and round, and the peak memory")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover prove`` and return the exit code."""
    for path in (options.output, *report_files(options)):
        check_writable(path)
    if options.mock and asks(options):
        raise UsageError("--mock: there is no proof for --report or --trace to describe")
    stages: list[Stage] = []

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        started = clock()
        yield
        stages.append(Stage(name, started, clock()))
        _log.debug("%s: %.3f s", name, stages[-1].seconds)

    program, data = program_given(options)
    given = options_given(options)
    if not program.only_key:  # which cannot be proved
        _tell_replaced(options.output, program.label)
    with stage("imports"), configured(options) as settings:
        settings.check_device()
        from graphprover.jobs.job import Job
        from graphprover.jobs.returned import check_claim
        from graphprover.proving.executor import executor_of
        from graphprover.proving.prover import Prover
        from graphprover.proving.settings import applied
    prover = Prover(program, **of_prover(given))
    if prover.mock:
        return _mock(prover, data, options)
    job = Job(prover, data, program.name, output=options.output, **of_job(given))
    with _not_proven(program.name, options), refusing(program.name):
        by = executor_of(settings.executor, settings.device)
        looking: AbstractContextManager[list[Observation]] = observed() if asks(options) else nullcontext([])
        with (
            applied(settings),
            looking as observations,
            stage("cluster") if by.remote else nullcontext(),
            progress("the run of the guest" if program.has_runs else "the traces") as tell,
        ):
            made, verdict = by.prove(job, tell, verified=False)
        proof = made.proof
        if verdict is None:
            with stage("verify"):
                level, caps = prover.level, made.preprocessed_caps
                verdict = program.verify(proof, level.security, level.proximity, exit_code=ANY, preprocessed=caps)
        check_claim(job, proof)
    encoded, compression = proof.to_bytes(), dict[str, object]()
    if options.compress:
        spent = made.seconds.get("compress")
        compression = json_output.compression(made.base_bytes, encoded, spent, options.output)
    with stage("write"):
        _write(options.output, encoded)
    run = json_output.proof_of_run(made)
    found = (
        json_output.verdict(program, verdict) | run | {"proof": json_output.file(options.output, encoded)} | compression
    )
    if observations:
        seen = observations[0].named(job.label).of_run(made.run, made.compile_seconds).with_stages(stages)
        save_proof(seen, options)
        if None in (options.report or ()):
            found["report"] = json_output.times(seen)

    def describe() -> list[text_output.Block]:
        size = {"proof": f"{text_output.place(options.output)}, {len(encoded):,} bytes"}
        if compression:
            size = text_output.compression(found)
        times = text_output.times_report(found["report"]) if "report" in found else []
        ran = text_output.seconds_line(found) | text_output.run_lines(found)
        says = program.describe(verdict.public_values) | ran | text_output.worth(verdict)
        return [says | size, *_failure(verdict), *times, *_next_command(verdict, options)]

    text_output.say(found, describe, options)
    return OK


def _mock(prover: "Prover", data: bytes | None, options: argparse.Namespace) -> int:
    """Write a mock instead of a proof, and return the exit code."""
    from graphprover.jobs.mocking import mock_proof

    program, started = prover.program, clock()
    with refusing(program.name), _not_proven(program.name, options):
        mock = mock_proof(prover, data, **of_job(options_given(options)))
        verdict = program.verify(mock, prover.level.security, prover.level.proximity, exit_code=ANY, allow_mock=True)
    encoded = mock.to_bytes()
    write(options.output, encoded)
    seconds = {"seconds": clock() - started}
    found = json_output.verdict(program, verdict) | seconds | {"proof": json_output.file(options.output, encoded)}

    def describe() -> list[text_output.Block]:
        size = {"mock proof": f"{text_output.place(options.output)}, {len(encoded):,} bytes"}
        says = program.describe(verdict.public_values) | text_output.worth(verdict) | size
        return [says, *_failure(verdict), f"{MOCK}; `graphprover verify --allow-mock` accepts it in tests"]

    text_output.say(found, describe, options)
    return OK


@contextmanager
def _not_proven(name: str, options: argparse.Namespace) -> Iterator[None]:
    """Name the program and the command that shows the cause if there is no proof."""
    try:
        yield
    except OtherExitCode:
        raise
    except VerificationError as error:
        flags = f" --input {options.input}" if options.input else ""
        raise error.refusal(
            f"{name}: not proven: {error} (`graphprover check {name}{flags}` shows the cause)"
        ) from error


def _failure(verdict: Verdict) -> list[text_output.Block]:
    """Return a line about a guest that failed, which the verifier must ask for."""
    code = verdict.claim.exit_code if verdict.claim else 0
    return [f"proved: the guest failed with exit code {code}; verify the proof with --exit-code {code}"] if code else []


def _next_command(verdict: Verdict, options: argparse.Namespace) -> list[text_output.Block]:
    """Return a line with the command that verifies the proof; none for a proof that is not in a file."""
    if goes_to_stdout(options.output) or not is_replaced(options.output):
        return []
    words = ["graphprover", "verify", str(options.output), options.program]
    if verdict.claim and verdict.claim.exit_code:
        words += ["--exit-code", str(verdict.claim.exit_code)]
    if options.security is not None:
        words += ["--security", f"{options.security:g}"]
    return [f"verify it: {shlex.join(words)}"]


def _tell_replaced(path: Path, label: str) -> None:
    """Print a line if the default output file has a proof of another program, which the new one will replace."""
    if path is not OUTPUT or not path.is_file():
        return
    with suppress(VerificationError, FileError):
        names = {header.label for header in headers_of(any_proof_from_bytes(read_proof(path)))}
        if label not in names:
            named = ", ".join(sorted(map(repr, names)))
            print(
                f"graphprover: {path} has a proof of {named}, which the new one will replace: -o FILE keeps it",
                file=sys.stderr,
            )


def _write(path: Path, proof: bytes) -> None:
    """Write the proof, to the temporary folder if the output file cannot be written.

    Raises:
        FileError: The output file cannot be written; the message names the temporary file.
    """
    try:
        write(path, proof)
    except FileError as error:
        rescued = Path(tempfile.gettempdir()) / f"graphprover-{secrets.token_hex(8)}.bin"
        try:
            write(rescued, proof)
        except FileError:
            raise error from None
        raise FileError(f"{error}; the proof was saved as {rescued}: move it") from error
