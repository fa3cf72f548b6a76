"""``graphprover compress``: replace a proof by a small proof that a verifier accepts it."""

import argparse
import time
from contextlib import AbstractContextManager, nullcontext

from graphprover.cli import json_output, text_output
from graphprover.cli.args import (
    Command,
    add_json,
    add_machine,
    add_option,
    add_output,
    add_report,
    asks,
    group_of,
    refusing,
    report_files,
)
from graphprover.cli.executor import configured
from graphprover.cli.heartbeat import progress
from graphprover.cli.members import headers_of
from graphprover.cli.program_args import add_proof, program_of
from graphprover.cli.proof_argument import proof_bytes
from graphprover.cli.report_files import save_proof
from graphprover.jobs.machine_options import COMPRESS
from graphprover.jobs.options import PROOF, RATE_OF_LAYER
from graphprover.jobs.programs import Program
from graphprover.proof.compressed import AnyProof, CompressedProof, any_proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.level import COMPRESSED_POW_BITS, LAYER_RATE, rates_text
from graphprover.protocol.parameters import LAYER_RATES
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.proving.settings import ProvingSettings
from graphprover.runtime.errors import OK
from graphprover.runtime.files import check_writable, write
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import observed
from graphprover.verifier import Verdict
from graphprover.verifier.headers import check_level
from graphprover.vm.statement.claim import ANY


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "The compressed proof has the same claim. It is verified before it is written. The first proof may be in "
        "several shards, by the hash blake3. A compressed proof gets one more layer, which pays with a lower rate.",
        ["proof.bin -o small.bin", "proof.bin guest.vk -o small.bin --rate 16", "proof.bin guest.elf --device cuda:1"],
    )
    add_proof(parser)
    add_output(parser, "small.bin", "File of the compressed proof.")
    level = group_of(parser, PROOF)
    add_option(level, "security", "Provable security of the new proof in bits, and least one of the given proof.", 128)
    add_option(level, "proximity", default=JOHNSON_PROXIMITY)
    add_option(
        level,
        "rate",
        f"Reed-Solomon rate of the new proof, {rates_text(LAYER_RATES)}: N stands for 1/N. A lower rate gives a "
        "smaller proof; half the rate about doubles time and memory.",
        LAYER_RATE,
        values=RATE_OF_LAYER,
    )
    add_option(level, "pow_bits", default=COMPRESSED_POW_BITS)
    add_machine(parser, COMPRESS)
    add_report(parser, "times of the new proof by stage and round, and the peak memory")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover compress`` and return the exit code."""
    for path in (options.output, *report_files(options)):
        check_writable(path)
    data = proof_bytes(options.proof, [options.program])
    with configured(options) as settings:
        settings.check_device()
        from graphprover.prover.layers import check_compressible

        looking: AbstractContextManager[list[Observation]] = observed() if asks(options) else nullcontext([])
        try:
            with refusing(options.proof):
                proof = any_proof_from_bytes(data)
                check_compressible(proof)
                for own in (*headers_of(proof), *([proof.layer] if isinstance(proof, CompressedProof) else [])):
                    check_level(own, options.security)
                program = program_of(proof.header, options)
                with looking as observations:
                    encoded, verdict, seconds = _compressed(proof, program, options, settings)
        except VerificationError as error:
            raise error.refusal(f"{options.proof}: not valid: {error}") from error
    write(options.output, encoded)
    found = json_output.verdict(program, verdict) | json_output.compression(len(data), encoded, seconds, options.output)
    if observations:
        seen = observations[0].named(program.name)
        save_proof(seen, options)
        if None in (options.report or ()):
            found["report"] = json_output.times(seen)

    def describe() -> list[text_output.Block]:
        facts = {"program": program.name} | program.describe(verdict.public_values) | text_output.worth(verdict)
        times = text_output.times_report(found["report"]) if "report" in found else []
        return [facts | text_output.compression(found), *times]

    text_output.say(found, describe, options)
    return OK


def _compressed(
    proof: AnyProof, program: Program, options: argparse.Namespace, settings: ProvingSettings
) -> tuple[bytes, Verdict, float]:
    """Compress a proof of a program, and verify the result.

    Args:
        proof: The proof.
        program: The program.
        options: The options of the level.
        settings: The executor and the device.

    Returns:
        The bytes of the compressed proof, the verdict on it, and the seconds that the compression took.
    """
    from graphprover.proving.compress import compress

    started = time.perf_counter()
    statement = program.statement_of(proof.header, coming=isinstance(proof, CompressedProof))
    with progress("verifying the given proof") as tell:
        made = compress(
            proof,
            statement,
            settings.executor,
            options.security,
            options.rate,
            settings.device,
            options.proximity,
            tell,
            pow_bits=options.pow_bits,
        )
    seconds = time.perf_counter() - started
    encoded = made.to_bytes()
    read = any_proof_from_bytes(encoded)
    return encoded, program.verify(read, options.security, options.proximity, exit_code=ANY), seconds
