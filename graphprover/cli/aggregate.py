"""``graphprover aggregate``: replace several proofs by one small proof that a verifier accepts all of them."""

import argparse
import time
from pathlib import Path

from graphprover.cli import json_output, text_output
from graphprover.cli.args import (
    Command,
    add_json,
    add_machine,
    add_option,
    add_output,
    group_of,
    reader,
    refusing,
)
from graphprover.cli.executor import configured
from graphprover.cli.heartbeat import progress
from graphprover.cli.members import headers_of, members_report, statements_of
from graphprover.cli.paths import path_argument, program_argument
from graphprover.cli.program_args import PROGRAM_DEFAULT, PROGRAM_HELP, programs_of
from graphprover.cli.proof_argument import proof_bytes
from graphprover.jobs.machine_options import AGGREGATE
from graphprover.jobs.options import BY_NAME, PROOF
from graphprover.proof.compressed import AnyProof, any_proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.level import COMPRESSED_POW_BITS, LAYER_RATE, rates_text
from graphprover.protocol.parameters import LAYER_RATES
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.runtime.errors import OK
from graphprover.runtime.files import check_writable, write
from graphprover.verifier.headers import check_level


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "The new proof has the claims of all proofs, its members, in their order. It is verified before it is written. "
        "The proofs may be of different programs, sizes and rates, in several shards, and compressed or aggregated "
        "before. Each must have the hash blake3.",
        [
            "a.bin b.bin c.bin --program guest.vk -o all.bin",
            "proofs/*.bin --program guest.elf --program other.elf --rates 8,64 --device cuda",
        ],
    )
    parser.add_argument("proofs", type=path_argument, nargs="+", metavar="PROOF", help="Proof files.")
    parser.add_argument(
        "--program",
        type=program_argument,
        action="append",
        default=[],
        metavar="PROGRAM",
        help=f"Program of the proofs: a verifying key; {PROGRAM_HELP}. May be repeated: then the name in a proof "
        f"selects its program. {PROGRAM_DEFAULT}",
    )
    add_output(parser, "all.bin", "File of the new proof.")
    level = group_of(parser, PROOF)
    add_option(level, "security", "Provable security of all layers in bits, and least one of the proofs.", 128)
    add_option(level, "proximity", default=JOHNSON_PROXIMITY)
    level.add_argument(
        "--rates",
        type=reader(BY_NAME["compress"].values),
        default=(LAYER_RATE,),
        metavar="N[,N]",
        help=f"Reed-Solomon rate 1/N of the layers: {rates_text(LAYER_RATES)}. Each further N gives one more layer "
        f"about all: `8,64` makes small proofs. Default: {LAYER_RATE}.",
    )
    add_option(level, "pow_bits", default=COMPRESSED_POW_BITS)
    add_machine(parser, AGGREGATE)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover aggregate`` and return the exit code."""
    check_writable(options.output)
    proofs = [_read(path, options.security) for path in options.proofs]
    of_files = [headers_of(proof) for proof in proofs]
    headers = [header for own in of_files for header in own]
    names = [str(path) for path, own in zip(options.proofs, of_files, strict=True) for _ in own]
    programs = programs_of(headers, options.program, "`graphprover aggregate PROOF ... --program PROGRAM`")
    with configured(options) as settings:
        settings.check_device()
        from graphprover.prover.layers import check_compressible
        from graphprover.proving.aggregate import aggregate
        from graphprover.verifier.compressed import verify_aggregate

        for path, proof in zip(options.proofs, proofs, strict=True):
            with refusing(path):
                check_compressible(proof)
        statements = statements_of(programs, headers, names)
        began = time.perf_counter()
        with refusing("aggregate"), progress("verifying the given proofs") as tell:
            made = aggregate(
                proofs,
                statements,
                settings.executor,
                options.security,
                options.rates,
                settings.device,
                options.proximity,
                tell,
                pow_bits=options.pow_bits,
                names=[str(path) for path in options.proofs],
            )
        seconds = time.perf_counter() - began
        encoded = made.to_bytes()
        most = max(len(made.bases), len(made.layers))
        verdicts = verify_aggregate(encoded, statements, options.security, options.proximity, max_members=most)
    write(options.output, encoded)
    members = [json_output.verdict(*own) for own in zip(programs, verdicts, strict=True)]
    given = sum(proof.size for proof in proofs)
    found = {"members": members} | json_output.compression(given, encoded, seconds, options.output)

    def describe() -> list[text_output.Block]:
        return [*members_report(programs, verdicts), text_output.compression(found)]

    text_output.say(found, describe, options)
    return OK


def _read(path: Path, security: float) -> AnyProof:
    """Read a proof, and check that its level is enough, before anything is proved."""
    try:
        proof = any_proof_from_bytes(proof_bytes(path, remedy="programs are given by --program"))
        for header in headers_of(proof):
            check_level(header, security)
    except VerificationError as error:
        raise error.refusal(f"{path}: not valid: {error}") from error
    return proof
