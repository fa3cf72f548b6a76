"""The command line: prove, batch, verify, setup, inspect, export, plan, check, execute, new-guest, warm, completion."""

import argparse
import json
import logging
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphprover import __version__, batch_cli, completion, demands, facts, report, warm
from graphprover.anatomy import security_facts, security_of, sizes_of
from graphprover.checker import check
from graphprover.envelope import Proof
from graphprover.export import export
from graphprover.files import STREAM, FileError, check_writable, make_folder, read_input, read_proof, write
from graphprover.graphs.executor_names import LOCAL
from graphprover.observation import Observation, Stage, clock, observed
from graphprover.observed_files import save_proof
from graphprover.options import (
    DEBUG,
    FAILED,
    OK,
    USAGE,
    UsageError,
    add_executor,
    add_json,
    add_report,
    asks,
    bits,
    check_device,
    check_files,
    configured,
    count,
    report_files,
)
from graphprover.pieces import Pieces
from graphprover.programs import (
    Program,
    ProgramError,
    is_guest,
    is_packaged,
    load_packaged,
    open_program,
    packaged_names,
)
from graphprover.proof_in_pieces import ProofInPieces, proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import FAST, RATES, SMALL
from graphprover.protocol.security import JOHNSON_PROXIMITY, PROXIMITIES
from graphprover.protocol.transcript import RELEASE
from graphprover.statement import Statement
from graphprover.verifier import Verdict, check_level, layouts_of_proof, verify
from graphprover.vm import cli as vm
from graphprover.vm import new_guest
from graphprover.vm.claim import claim_of
from graphprover.vm.cost import committed_cells
from graphprover.vm.faults import OtherExitCode
from graphprover.vm.guest import Guest, Limits, claimed
from graphprover.vm.key import Key
from graphprover.vm.shape import price_at
from graphprover.vm.statement import Machine

if TYPE_CHECKING:
    from graphprover.device.choose import Profile
    from graphprover.graphs.ceilings import Ceilings
    from graphprover.jobs import Job
    from graphprover.prover import Made

_log = logging.getLogger(__name__)

PROVER = {"dask", "distributed", "numba", "llvmlite", "rich", "shtab"}  # modules of the extra [prover]

PROGRAM_HELP = (
    f"an ELF file for RV64IM; {', '.join(packaged_names())}, which are packaged; or a folder or .py file that defines "
    "tables(), prove_inputs() and describe() and is CODE THAT RUNS with your rights: name only one you trust"
)

EPILOG = f"""\
first steps:
  graphprover prove examples/keccak --input README.md -o proof.bin
  graphprover verify proof.bin
  graphprover inspect proof.bin

exit codes: 0 ok, 1 not proven or not valid, 2 usage (arguments, files, programs), 130 interrupted, 143 terminated.
With {DEBUG}=1 in the environment, errors come with their traceback, and stderr says what runs.
A FILE called - is standard input where it is read, and standard output where it is written.
PROGRAM as a folder or .py file is code that runs, in verify and inspect too; so is what a Dask cluster sends. See
SECURITY.md.
"""


Command = Callable[[str, Callable[[argparse.Namespace], int], str, str, Sequence[str]], argparse.ArgumentParser]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Errors are one line on stderr; `__main__` has the signals."""
    options = parser().parse_args(arguments)
    try:
        check_files(options)
        return options.command(options)
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if DEBUG in os.environ:
            raise
        code = USAGE if isinstance(error, UsageError | ProgramError | FileError) else FAILED
        lines = [facts.message(error)]
        if isinstance(error, UsageError):
            lines = [facts.one_line(line) for line in error.args]
        elif isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] in PROVER:
            lines, code = ["this needs the prover, not the verifier alone: pip install 'graphprover[prover]'"], USAGE
        for line in lines:
            print(f"graphprover: {line}", file=sys.stderr)
        if getattr(options, "json", False):
            no = {"valid": False} if options.command is run_verify and isinstance(error, VerificationError) else {}
            print(json.dumps(no | {"error": "\n".join(lines)}))
        return code


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        "graphprover",
        description="A STARK prover in which a proof is a task graph.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"graphprover {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(
        name: str, run: Callable[[argparse.Namespace], int], summary: str, more: str, examples: Sequence[str]
    ) -> argparse.ArgumentParser:
        subparser = commands.add_parser(
            name,
            help=summary[0].lower() + summary[1:].rstrip("."),
            description=textwrap.fill(f"{summary} {more}", 79),
            epilog="\n  ".join(["examples:", *(f"graphprover {name} {example}" for example in examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subparser.set_defaults(command=run)
        return subparser

    _add_prove(command)
    batch = command("batch", batch_cli.run_batch, batch_cli.SUMMARY, batch_cli.MORE, batch_cli.EXAMPLES)
    batch.epilog = f"{batch.epilog}\n{batch_cli.EPILOG}"
    batch_cli.add_arguments(batch)
    _add_verify(command)
    _add_setup(command)
    _add_inspect(command)
    _add_export(command)
    _add_plan(command)
    _add_check(command)
    execute = command(
        "execute",
        vm.run_execute,
        "Run a compiled program without a proof.",
        "Prints its instructions by kind, its cycles, memory, output and exit code.",
        vm.EXAMPLES,
    )
    vm.add_arguments(execute)
    add_json(execute)
    new = command("new-guest", new_guest.run_new_guest, new_guest.SUMMARY, new_guest.MORE, new_guest.EXAMPLES)
    new_guest.add_arguments(new)
    _add_warm(command)
    completing = command(
        "completion",
        lambda options: completion.run_completion(options, top),
        "Print a script that completes commands, options and files in a shell.",
        "Source it where the shell starts.",
        ["bash > ~/.local/share/bash-completion/completions/graphprover", "zsh > ~/.zfunc/_graphprover"],
    )
    completion.add_arguments(completing)
    return top


def _add_prove(command: Command) -> None:
    subparser = command(
        "prove",
        run_prove,
        "Prove that the tables of a program hold, and write the proof to a file.",
        "The proof is verified before it is written, and the file is replaced whole or not at all.",
        [
            "examples/keccak --input README.md -o proof.bin",
            "tables.py --rate 8 -o small.bin",
            "guest.elf --input data -o proof.bin",
            "guest.elf --input data --pieces 4 --pool 20GiB",
            "guest.elf --input data --report out.html",
            "examples/keccak --executor tcp://10.0.0.1:8786",
        ],
    )
    _with_program(subparser)
    _with_level(subparser)
    subparser.add_argument(
        "--commit-input",
        action="store_true",
        help="of a guest: the proof also states its input, of at most 64 KiB, which `verify --input` compares",
    )
    demands.add_exit_code(subparser, "prove a run that ends with this exit code (default 0), which may be `any`")
    _with_pieces(subparser, "1; for a guest more, where the device's memory asks it")
    subparser.add_argument(
        "-o", "--output", type=Path, default=Path("proof.bin"), metavar="FILE", help="default proof.bin"
    )
    add_executor(subparser)
    add_report(subparser, "times by stage and round, and peak memory")
    add_json(subparser)


def _add_verify(command: Command) -> None:
    subparser = command(
        "verify",
        run_verify,
        "Verify a proof and print what it says.",
        "It says something about a program, and whoever made it chose the name in it: only packaged examples are "
        "looked up by that name, any other program must be given.",
        [
            "proof.bin",
            "proof.bin examples/keccak --expect length=2048",
            "proof.bin guest.vk --security 100",
            "proof.bin guest.vk --input data --expect-output-hex 6869",
            "proof.bin guest.vk --exit-code any --output result",
        ],
    )
    subparser.add_argument("proof", type=Path, metavar="PROOF", help="a proof file")
    subparser.add_argument("program", nargs="?", metavar="PROGRAM", help=f"a verifying key; or {PROGRAM_HELP}")
    demands.add_arguments(subparser)
    subparser.add_argument(
        "--output", type=Path, metavar="FILE", help="of a guest: write what it put out, as proven, to a file"
    )
    subparser.add_argument(
        "--security", type=bits, default=128, metavar="BITS", help="refuse fewer provable bits (default 128)"
    )
    _with_proximity(subparser)
    add_json(subparser)


def _add_setup(command: Command) -> None:
    subparser = command(
        "setup",
        run_setup,
        "Write the verifying key of a compiled program.",
        "A key of a few hundred bytes replaces the program in `graphprover verify`, and saves it the commitment to the "
        "program. It is as good as whoever made it: make it yourself.",
        ["guest.elf -o guest.vk"],
    )
    subparser.add_argument("program", metavar="GUEST.ELF", help="a program for RV64IM, linked statically")
    subparser.add_argument(
        "-o", "--output", type=Path, default=Path("guest.vk"), metavar="FILE", help="default guest.vk"
    )
    add_json(subparser)


def _add_inspect(command: Command) -> None:
    subparser = command(
        "inspect",
        run_inspect,
        "Show what a proof, a verifying key or a program is made of.",
        "A proof: header, parameters, sizes by part, provable security by round; nothing is verified. A key: the "
        "program it is for, and the hash that covers all of it; with the program, whether it is its key. A program: "
        "its tables, and the parameters and security its proof will have.",
        ["proof.bin", "proof.bin tables.py", "guest.vk guest.elf", "examples/keccak --input README.md --rate 8"],
    )
    subjects = f"a proof file; a verifying key; or {PROGRAM_HELP}"
    subparser.add_argument("subject", metavar="PROOF|KEY|PROGRAM", help=subjects)
    subparser.add_argument(
        "program", nargs="?", metavar="PROGRAM", help="the program of the proof, or its verifying key; that of the key"
    )
    _with_input(subparser)
    _with_level(subparser)
    add_json(subparser)


def _add_export(command: Command) -> None:
    subparser = command(
        "export",
        run_export,
        "Write a proof as Plonky3's own verifier reads it.",
        "The folder gets statement.json, the tables that are proven, and payload.bin, Plonky3's proof; of a proof in "
        "pieces a folder of the two for each. All of the statement but public values, heights and parameters comes "
        "from the program, not from the proof; nothing is verified here. docs/interop.md says how to build a verifier "
        "on Plonky3 that takes them.",
        ["proof.bin", "proof.bin guest.elf -o plonky3"],
    )
    subparser.add_argument("proof", type=Path, metavar="PROOF", help="a proof file")
    subparser.add_argument(
        "program",
        nargs="?",
        metavar="PROGRAM",
        help=f"of a guest its ELF file, for a key lacks the columns that Plonky3 commits to; or {PROGRAM_HELP}",
    )
    subparser.add_argument(
        "-o", "--output", dest="folder", type=Path, default=Path("exported"), metavar="FOLDER", help="default exported"
    )
    add_json(subparser)


def _add_plan(command: Command) -> None:
    subparser = command(
        "plan",
        run_plan,
        "Show what a proof will cost, before anything runs.",
        "For each round and table: operations, bytes, and what it waits for. On a GPU small tables share tasks up to "
        "more rows than on a CPU, so the plans differ. A guest is run for it: how tall its tables are depends on that.",
        ["examples/keccak --input README.md", "guest.elf --device cuda", "examples/keccak --html plan.html"],
    )
    _with_program(subparser)
    _with_level(subparser)
    _with_pieces(subparser, "1")
    subparser.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help="whose tasks to plan: auto (default: what `prove` takes on this machine), cpu, cuda or cuda:NUMBER; the "
        "GPU need not be there",
    )
    subparser.add_argument(
        "--svg", type=Path, metavar="FILE", help="also draw it: a row for each table, boxes as wide as tasks take long"
    )
    subparser.add_argument("--html", type=Path, metavar="FILE", help="also a page with the picture and all tasks")
    add_json(subparser)


def _add_check(command: Command) -> None:
    subparser = command(
        "check",
        run_check,
        "Check a program's traces row by row, without a proof.",
        "Names the first row on which a constraint fails, with its values, and the messages of a bus that nobody "
        "answers.",
        ["examples/keccak --input README.md", "tables.py"],
    )
    _with_program(subparser)


def _add_warm(command: Command) -> None:
    subparser = command(
        "warm",
        warm.run_warm,
        "Compile all kernels, once for this machine.",
        "Other commands compile what they need when they need it, a minute or two in all, and on a GPU for each new "
        "table; this does it ahead, for a container's image for instance, and names each. A GPU's take all cores for "
        "minutes: name the guests that matter to compile their tables only.",
        ["", "guest.elf --device cuda"],
    )
    warm.add_arguments(subparser)


def _with_program(subparser: argparse.ArgumentParser) -> None:
    subparser.add_argument("program", metavar="PROGRAM", help=PROGRAM_HELP)
    _with_input(subparser)


def _with_input(subparser: argparse.ArgumentParser) -> None:
    subparser.add_argument("--input", type=Path, metavar="FILE", help="the file that the program reads")
    vm.with_limits(subparser)


def _with_pieces(subparser: argparse.ArgumentParser, default: str) -> None:
    group = subparser.add_mutually_exclusive_group()
    group.add_argument(
        "--pieces",
        type=count,
        metavar="N",
        help="in so many pieces, which a device makes one after another in the memory of one, and the workers of a "
        "cluster side by side: the tables are dealt to "
        f"them, the run of a guest is cut into windows (default {default})",
    )
    group.add_argument(
        "--window", type=count, metavar="CYCLES", help="of a guest: a piece for each window of so many cycles"
    )


def _with_proximity(subparser: argparse.ArgumentParser) -> None:
    subparser.add_argument(
        "--proximity",
        choices=PROXIMITIES,
        default=JOHNSON_PROXIMITY,
        help="the results by which the bits are proven: all up to Johnson's radius, of which the better counts "
        "(johnson, default), or unique decoding alone (unique), which takes a longer proof",
    )


def _with_level(subparser: argparse.ArgumentParser) -> None:
    subparser.add_argument("--security", type=bits, default=128, metavar="BITS", help="provable bits (default 128)")
    _with_proximity(subparser)
    rate = subparser.add_mutually_exclusive_group()
    rate.add_argument(
        "--rate",
        type=int,
        choices=tuple(RATES),
        help="rate 1/2, 1/4 or 1/8 of the code: less is a smaller proof for more work (see `plan`); by default 1/2, "
        "and 1/8 where there is little to prove; asked for at 8, a guest's run has fewer tables, of more cells",
    )
    for name, number, what in (("--fast", FAST, "the least work"), ("--small", SMALL, "the smallest proof")):
        rate.add_argument(name, dest="rate", action="store_const", const=number, help=f"{what}: --rate {number}")


def run_prove(options: argparse.Namespace) -> int:
    """``graphprover prove``"""
    for path in (options.output, *report_files(options)):
        check_writable(path)
    stages: list[Stage] = []

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        started = clock()
        yield
        stages.append(Stage(name, started, clock()))
        _log.debug("%s: %.3f s", name, stages[-1].seconds)

    program, data, limits = _run(options)
    with stage("imports"), configured(options):
        check_device(options)
        from graphprover.jobs import Job, Prover
        from graphprover.prover import verify_made
    level = {"security": options.security, "rate": options.rate, "proximity": options.proximity}
    prover = Prover(program, **level, pieces=options.pieces, window=options.window)
    job = Job(prover, data, program.name, options.commit_input, options.exit_code or 0, limits)
    try:
        with configured(options), observed() if asks(options) else nullcontext():
            by = _made_here if options.executor in LOCAL else _made_by_cluster
            made, verdict = by(job, options, stage)
        proof = made.proof
        if verdict is None:
            with stage("verify"):
                own = program.statement_of(proof)
                verdict = verify_made(proof, own, options.security, options.proximity, made.preprocessed_cap)
        job.check_claim(proof)
    except OtherExitCode:
        raise
    except VerificationError as error:
        flags = f" --input {options.input}" if options.input else ""
        raise VerificationError(
            f"{program.name}: not proven: {error} (`graphprover check {program.name}{flags}` says what is wrong)"
        ) from error
    except ValueError as error:
        if type(error) is not ValueError:  # others are not about arguments
            raise
        raise UsageError(f"{program.name}: {error}") from error
    encoded = proof.to_bytes()
    with stage("write"):
        write(options.output, encoded)
    found = facts.verdict(program, verdict) | {"proof": _file(options.output, encoded)}
    if made.observation:
        seen = made.observation.named(job.label).with_stages(stages)
        save_proof(seen, options)
        if None in (options.report or ()):
            found["report"] = facts.times(seen)

    def describe() -> list[report.Block]:
        size = {"proof": f"{_place(options.output)}, {len(encoded):,} bytes"}
        times = report.times_report(found["report"]) if "report" in found else []
        return [program.describe(verdict.public_values) | _worth(verdict) | size, *times]

    report.say(found, describe, options)
    return OK


Timing = Callable[[str], AbstractContextManager[None]]


_Verified = tuple["Made", Verdict | None]  # a proof, which is to be verified where there is no verdict


def _made_here(job: "Job", options: argparse.Namespace, stage: Timing) -> _Verified:
    """A proof by this process."""
    from graphprover.prover import make

    with stage("prepare"):
        prepared = job.prepared(options.device)
    progress = sys.stderr.isatty() and DEBUG not in os.environ
    return make(prepared, options.executor, options.device, progress, verified=False), None


def _made_by_cluster(job: "Job", options: argparse.Namespace, stage: Timing) -> _Verified:
    """A proof by a worker of a cluster, or its pieces by several; they run the program, too."""
    from graphprover.jobs import made_by_cluster
    from graphprover.prover import Made
    from graphprover.terminal import bar

    drawn = sys.stderr.isatty() and DEBUG not in os.environ
    looking: AbstractContextManager[list[Observation] | None] = observed() if asks(options) else nullcontext()
    with stage("cluster"), looking as seen, bar() if drawn else nullcontext() as tell:
        proof, verdict = made_by_cluster(job, options.executor, options.device, tell)
    return Made(proof, None, {}, 0, observation=seen[0] if seen else None), verdict


def run_verify(options: argparse.Namespace) -> int:
    """``graphprover verify``"""
    if options.output:
        check_writable(options.output)
    data = read_proof(options.proof)
    try:
        proof = proof_from_bytes(data)
        check_level(proof, options.security)  # before the statement, which may be expensive to make
        program = _program_of(proof, options)
        demands.refuse(program, options)
        verdict = verify(proof, program.statement_of(proof), options.security, options.proximity)
    except VerificationError as error:
        raise VerificationError(f"{options.proof}: not valid: {error}") from error
    demands.check_demands(program, verdict.public_values, options)
    if options.output:
        write(options.output, claim_of(verdict.public_values).output)

    def describe() -> list[report.Block]:
        described = program.describe(verdict.public_values)
        return [{"program": program.name} | described | _worth(verdict), "valid"]

    report.say({"valid": True} | facts.verdict(program, verdict), describe, options)
    return OK


def _worth(verdict: Verdict) -> dict[str, str]:
    return ({"pieces": str(verdict.pieces)} if verdict.pieces > 1 else {}) | {"security": verdict.security.summary}


def run_setup(options: argparse.Namespace) -> int:
    """``graphprover setup``"""
    check_writable(options.output)
    program = open_program(options.program)
    if not isinstance(program, Guest) or not isinstance(program.machine, Machine):
        raise UsageError(f"{options.program}: not an ELF file; only guests have verifying keys")
    from graphprover.vm.setup import make_key

    key = make_key(program.machine)
    encoded = key.to_bytes()
    write(options.output, encoded)
    found = facts.key(key) | {"program": options.program, "key": _file(options.output, encoded)}
    report.say(found, lambda: [*report.key_report(found), _written(options.output, encoded)], options)
    return OK


def _file(path: Path, data: bytes) -> facts.Facts:
    return {"file": str(path), "bytes": len(data)}


def _written(path: Path, data: bytes) -> str:
    return f"written to {_place(path)}, {len(data):,} bytes"


def _place(path: Path) -> str:
    return "standard output" if path == STREAM else str(path)


def run_inspect(options: argparse.Namespace) -> int:
    """``graphprover inspect``"""
    path = Path(options.subject)
    is_file = path == STREAM or path.is_file()
    if is_packaged(options.subject) or not is_file or path.suffix == ".py" or is_guest(path):
        named = open_program(options.subject)
        if isinstance(named, Guest) and isinstance(named.machine, Key):
            _say_key(named.machine, options)
            return OK
        if options.program:
            raise UsageError(f"{options.subject}: not a proof, so {options.program} says nothing about it")
        options.program = options.subject
        program, statement = _program_and_statement(options)
        layout = _prepared(program, statement, options).layout
        security = security_of(layout)
        made = {"program": program.name, **facts.statement(layout), "security": security_facts(security)}
        report.say(made, lambda: [*report.statement_report(made), *report.security_report(security)], options)
        return OK
    try:
        _say_proof(proof_from_bytes(read_proof(path)), path, options)
    except VerificationError as error:
        raise VerificationError(f"{path}: {error}") from error
    return OK


def _say_key(key: Key, options: argparse.Namespace) -> None:
    """What a key is for and, with a program, whether it is that program's."""
    found = facts.key(key)
    if options.program:
        program = open_program(options.program)
        if not isinstance(program, Guest) or not isinstance(program.machine, Machine):
            raise UsageError(f"{options.program}: not an ELF file, so the key is not its key")
        from graphprover.vm.setup import check_key

        try:
            check_key(key, program.machine)
        except VerificationError as error:
            raise VerificationError(f"{options.subject}: not the key of {options.program}: {error}") from error
        found["program"] = options.program
    own = [f"the key of {options.program}"] if options.program else []
    report.say(found, lambda: [*report.key_report(found), *own], options)


def _say_proof(proof: Proof | ProofInPieces, path: Path, options: argparse.Namespace) -> None:
    """What a proof says about itself and, where its program is known, how large its parts are and what it is worth."""
    found = facts.header(proof) | {"sizes": None, "security": None}
    if not options.program and proof.label not in packaged_names():
        hint = f"for sizes and security, name its program: graphprover inspect {path} PROGRAM"
        report.say(found, lambda: [*report.header_report(found), hint], options)
        return
    layouts = layouts_of_proof(proof, _program_of(proof, options).statement_of(proof))
    security = security_of(*layouts)
    found |= {"sizes": sizes_of(proof, *layouts), "security": security_facts(security)}

    def describe() -> list[report.Block]:
        sizes = report.sizes_section(found["sizes"])
        return [*report.header_report(found), sizes, *report.security_report(security)]

    report.say(found, describe, options)


def run_export(options: argparse.Namespace) -> int:
    """``graphprover export``"""
    try:
        proof = proof_from_bytes(read_proof(options.proof))
        program = _program_of(proof, options)
        if isinstance(program, Guest) and isinstance(program.machine, Key):
            raise UsageError(
                f"{program.name}: a verifying key, without the columns that Plonky3 commits to: give the ELF file"
            )
        files = export(proof, program.statement_of(proof))
    except VerificationError as error:
        raise VerificationError(f"{options.proof}: {error}") from error
    for name, data in files.items():
        make_folder((options.folder / name).parent)
        write(options.folder / name, data)
    written = {name: _file(options.folder / name, data) for name, data in files.items()}
    found = {"program": program.name, "release": RELEASE, "files": list(written.values())}
    lines = [_written(options.folder / name, data) for name, data in files.items()]
    report.say(found, lambda: lines, options)
    return OK


def run_plan(options: argparse.Namespace) -> int:
    """``graphprover plan``"""
    for path in filter(None, (options.svg, options.html)):
        check_writable(path)
    from graphprover.device.choose import profile_of
    from graphprover.graphs.ceilings import assumed
    from graphprover.graphs.plan import make_plan
    from graphprover.graphs.plan_html import plan_html
    from graphprover.graphs.plan_svg import plan_svg
    from graphprover.graphs.plan_text import peak_text, plan_rows, rates_rows
    from graphprover.prepared import LITTLE, rate_for

    try:
        profile = profile_of(options.device)
    except ValueError as error:
        raise UsageError(f"--device: {error}") from error
    program, statement = _program_and_pieces(options)
    prepared = _prepared(program, statement, options)
    if isinstance(statement, Pieces):
        return _plan_in_pieces(program, statement, prepared, profile, options)
    plan = make_plan(prepared.layout, profile.log_batch_rows, prepared.traces)
    by_table = committed_cells(statement)
    cells = by_table if isinstance(program, Guest) else None
    found = {"program": program.name, **facts.plan(plan, profile), "committed_cells": cells}

    times = assumed(profile.kind, profile.threads)
    rates = _rates(program, prepared, profile, times.ceilings, options)
    all_cells = sum(by_table.values())
    found |= {"rates": rates, "default_rate": rate_for(all_cells)}
    default = f"by default 1/{found['default_rate']}: {all_cells:,} committed cells ({LITTLE:,} or fewer are few)"

    def describe() -> list[report.Block]:
        tail = [] if cells is None else report.cells_report(cells, claimed(statement).cycles)
        peak = peak_text(plan, profile.threads)
        return [
            report.Section(plan_rows(plan)),
            f"on {profile}",
            peak,
            report.Section(rates_rows(rates)),
            default,
            *tail,
        ]

    for path, draw in ((options.svg, plan_svg), (options.html, plan_html)):
        if path:
            write(path, draw(plan, program.name, times, profile.threads).encode())
    report.say(found, describe, options)
    return OK


def _rates(
    program: Program | Guest, prepared: Any, profile: "Profile", ceilings: "Ceilings", options: argparse.Namespace
) -> list[facts.Facts]:
    """What a proof costs at each rate that reaches the level: of these tables, or of those that a run has there."""
    from graphprover.graphs.plan import make_plan
    from graphprover.prepared import at_rate

    found, known = [], {price_at(options.rate): prepared}  # a run is made once for all rates of a price
    for rate in RATES:
        with suppress(ValueError):
            price = price_at(rate) if isinstance(program, Guest) else price_at(options.rate)
            if price not in known:
                there = argparse.Namespace(**vars(options) | {"rate": rate})
                known[price] = _prepared(program, _program_and_pieces(there)[1], there)
            asked = known[price]
            layout = at_rate(asked, options.security, rate, options.proximity).layout
            plan = make_plan(layout, profile.log_batch_rows, asked.traces)
            found.append(facts.rate(rate, layout, plan, profile, ceilings))
    return found


def _plan_in_pieces(
    program: Program | Guest, statement: Pieces, prepared: Any, profile: "Profile", options: argparse.Namespace
) -> int:
    from graphprover.device.choose import CPU
    from graphprover.graphs.ceilings import assumed
    from graphprover.graphs.pieces import On, plan_keeping
    from graphprover.graphs.pieces_html import pieces_html
    from graphprover.graphs.pieces_svg import pieces_svg
    from graphprover.graphs.pieces_times import PiecesTimes
    from graphprover.graphs.plan_text import pieces_peak_text, pieces_rows
    from graphprover.graphs.proof import Keep

    on = On(profile.log_batch_rows, profile.threads, profile.kind != CPU)
    plans = {keep: plan_keeping(prepared.shapes, on, keep) for keep in Keep}
    cells = committed_cells(statement) if isinstance(program, Guest) else None
    found = {"program": program.name, **facts.plan_in_pieces(plans, profile), "committed_cells": cells}

    def describe() -> list[report.Block]:
        tail = [] if cells is None else report.cells_report(cells, claimed(statement).cycles)
        return [report.Section(pieces_rows(plans)), f"on {profile}", pieces_peak_text(plans), *tail]

    for path, draw in ((options.svg, pieces_svg), (options.html, pieces_html)):
        if path:
            rates = assumed(profile.kind, profile.threads)
            times = PiecesTimes(prepared.shapes, on, rates.ceilings)
            write(path, draw(times, program.name, rates).encode())
    report.say(found, describe, options)
    return OK


def run_check(options: argparse.Namespace) -> int:
    """``graphprover check``"""
    program, statement = _program_and_statement(options)
    findings = check(statement)
    for finding in findings:
        print(finding)
    if findings:
        return FAILED
    airs = statement.descriptions
    constraints, buses = (
        sum(len(air.constraints) for air in airs),
        {interaction.bus for air in airs for interaction in air.globals},
    )
    print(f"{program.name}: {len(airs)} tables satisfy their {constraints} constraints, and {len(buses)} buses balance")
    return OK


def _program_and_statement(options: argparse.Namespace) -> tuple[Program | Guest, Statement]:
    """The program asked for, and its statement about the input."""
    program, data, limits = _run(options)
    if not isinstance(program, Guest):
        return program, program.statement_for(data)
    statement = program.statement_for(data, state_input=getattr(options, "commit_input", False), **limits)
    assert isinstance(statement, Statement)
    return program, statement


def _program_and_pieces(options: argparse.Namespace) -> tuple[Program | Guest, Statement | Pieces]:
    """The same in the pieces asked for."""
    from graphprover.prover import in_pieces

    program, data, limits = _run(options)
    pieces = options.pieces or 1
    try:
        if isinstance(program, Guest):
            return program, program.statement_for(
                data, pieces=pieces, window=options.window, rate=options.rate, **limits
            )
        return program, in_pieces(program.statement_for(data), pieces)
    except ValueError as error:
        raise UsageError(f"{program.name}: {error}") from error


def _run(options: argparse.Namespace) -> tuple[Program | Guest, bytes | None, Limits]:
    """The program asked for, its input, and the limits of a guest's run; UsageError where another is given those."""
    program = open_program(options.program)
    data = None if options.input is None else read_input(options.input)
    limits = vm.limits(options)
    if not isinstance(program, Guest):
        if limits:
            raise UsageError(f"--{min(limits).replace('_', '-')}: {program.name} is no guest, and has no cycles")
        if getattr(options, "commit_input", False):
            raise UsageError(f"--commit-input: {program.name} is no guest; what its proofs say is up to its tables")
        if getattr(options, "window", None) is not None:
            raise UsageError(f"--window: {program.name} is no guest, and has no cycles: --pieces deals its tables")
        if getattr(options, "exit_code", None) is not None:
            raise UsageError(f"--exit-code: only guests have one, and {program.name} is none")
    return program, data, limits


def _prepared(program: Program | Guest, statement: Statement | Pieces, options: argparse.Namespace) -> Any:
    """The statement with its checked traces and the layout of the proof asked for, as `prepared.ready` gives it."""
    from graphprover.prepared import ready

    try:
        return ready(statement, options.security, options.rate, proximity=options.proximity)
    except ValueError as error:
        raise UsageError(f"{program.name}: {error}") from error


def _program_of(proof: Proof | ProofInPieces, options: argparse.Namespace) -> Program | Guest:
    """The program named on the command line, else the packaged example that the proof names; never other code."""
    if options.program:
        return open_program(options.program)
    try:
        return load_packaged(proof.label)
    except ProgramError:
        raise UsageError(
            f"proof of {proof.label!r}, which is no packaged example: name the program you mean, "
            "as in `graphprover verify PROOF PROGRAM`"
        ) from None
