"""The command line: prove, verify, setup, inspect, plan, check, execute, warm."""

import argparse
import math
import os
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from graphprover import __version__, report, warm
from graphprover.checker import check
from graphprover.envelope import Proof
from graphprover.files import FileError, check_writable, read_input, read_proof, write
from graphprover.programs import Program, ProgramError, is_guest, load, load_packaged, packaged_names
from graphprover.protocol.errors import VerificationError
from graphprover.statement import Statement
from graphprover.verifier import Verdict, verify
from graphprover.vm import cli as vm
from graphprover.vm.guest import Guest
from graphprover.vm.machine import Machine, cells_text, said

OK, FAILED, USAGE = 0, 1, 2  # exit codes

DEBUG = "GRAPHPROVER_DEBUG"  # set, errors come with their traceback

PROGRAM_HELP = (
    "an ELF file for RV64IM; a folder or .py file that defines tables(), prove_inputs() and describe(); or "
) + ", ".join(packaged_names())

EPILOG = f"""\
first steps:
  graphprover prove examples/keccak --input README.md -o proof.bin
  graphprover verify proof.bin
  graphprover inspect proof.bin

exit codes: 0 ok, 1 not proven or not valid, 2 usage (arguments, files, programs), 130 interrupted, 143 terminated.
With {DEBUG}=1 in the environment, errors come with their traceback.
"""


class UsageError(Exception):
    """Arguments that make no sense together."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Errors are one line on stderr; `__main__` has the signals."""
    options = parser().parse_args(arguments)
    try:
        return options.command(options)
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if DEBUG in os.environ:
            raise
        if isinstance(error, UsageError | ProgramError | FileError):
            message, code = str(error), USAGE
        elif isinstance(error, VerificationError):
            message, code = str(error), FAILED
        else:
            message, code = f"{type(error).__name__}: {error}", FAILED
        print(f"graphprover: {' '.join(message.split())}", file=sys.stderr)
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

    def command(name: str, function: Any, summary: str, more: str, examples: Sequence[str]) -> argparse.ArgumentParser:
        each = commands.add_parser(
            name,
            help=summary[0].lower() + summary[1:].rstrip("."),
            description=textwrap.fill(f"{summary} {more}", 79),
            epilog="\n  ".join(["examples:", *(f"graphprover {name} {example}" for example in examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        each.set_defaults(command=function)
        return each

    def with_program(each: argparse.ArgumentParser) -> None:
        each.add_argument("program", metavar="PROGRAM", help=PROGRAM_HELP)
        with_input(each)

    def with_input(each: argparse.ArgumentParser) -> None:
        each.add_argument("--input", type=Path, metavar="FILE", help="the file that the program reads")
        vm.with_limits(each)

    def with_level(each: argparse.ArgumentParser) -> None:
        each.add_argument("--security", type=_bits, default=128, metavar="BITS", help="provable bits (default 128)")
        each.add_argument(
            "--rate",
            type=int,
            choices=(2, 4, 8),
            default=2,
            help="rate 1/2 (default), 1/4 or 1/8 of the code: less is a smaller proof for more work",
        )

    prove = command(
        "prove",
        run_prove,
        "Prove that the tables of a program hold, and write the proof to a file.",
        "The proof is verified before it is written, and the file is replaced whole or not at all.",
        [
            "examples/keccak --input README.md -o proof.bin",
            "tables.py --rate 8 -o small.bin",
            "guest.elf --input data -o proof.bin",
            "examples/keccak --executor tcp://10.0.0.1:8786",
        ],
    )
    with_program(prove)
    with_level(prove)
    prove.add_argument(
        "--commit-input",
        action="store_true",
        help="of a guest: the proof also states its input, of at most 64 KiB, which `verify --input` compares",
    )
    prove.add_argument("-o", "--output", type=Path, default=Path("proof.bin"), metavar="FILE", help="default proof.bin")
    prove.add_argument(
        "--executor",
        type=_executor,
        default="threads",
        help="who runs the graph: threads of this process (default), sync (one thread), or a Dask cluster by the "
        "address of its scheduler or its scheduler file FILE.json; the proof has the same bytes",
    )
    prove.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help="auto (default: the first GPU, else the CPU), cpu, cuda or cuda:NUMBER; the proof has the same bytes",
    )
    prove.add_argument("--report", action="store_true", help="print times, peak memory and size")

    check_proof = command(
        "verify",
        run_verify,
        "Verify a proof and print what it says.",
        "It says something about a program, and whoever made it chose the name in it: only packaged examples are "
        "looked up by that name, any other program must be given.",
        [
            "proof.bin",
            "proof.bin examples/keccak --expect length=2048",
            "proof.bin guest.vk --security 100",
            "proof.bin guest.vk --input data",
        ],
    )
    check_proof.add_argument("proof", type=Path, metavar="PROOF", help="a proof file")
    check_proof.add_argument("program", nargs="?", metavar="PROGRAM", help=f"a verifying key; or {PROGRAM_HELP}")
    check_proof.add_argument(
        "--input", type=Path, metavar="FILE", help="fail unless the proof states this input (prove --commit-input)"
    )
    check_proof.add_argument(
        "--security", type=_bits, default=128, metavar="BITS", help="refuse fewer provable bits (default 128)"
    )
    check_proof.add_argument(
        "--expect",
        action="append",
        default=[],
        type=_expectation,
        metavar="KEY=VALUE",
        help="fail unless the proof says so (as printed); may be repeated",
    )

    setup = command(
        "setup",
        run_setup,
        "Write the verifying key of a compiled program.",
        "A key of a few hundred bytes replaces the program in `graphprover verify`, and saves it the commitment to the "
        "program. It is as good as whoever made it: make it yourself.",
        ["guest.elf -o guest.vk"],
    )
    setup.add_argument("program", metavar="GUEST.ELF", help="a program for RV64IM, linked statically")
    setup.add_argument("-o", "--output", type=Path, default=Path("guest.vk"), metavar="FILE", help="default guest.vk")

    inspect = command(
        "inspect",
        run_inspect,
        "Show what a proof or a program is made of.",
        "A proof: header, parameters, sizes by part, provable security by round; nothing is verified. A program: its "
        "tables, and the parameters and security its proof will have.",
        ["proof.bin", "proof.bin tables.py", "examples/keccak --input README.md --rate 8"],
    )
    inspect.add_argument("subject", metavar="PROOF|PROGRAM", help="a proof file, or a program as for prove")
    inspect.add_argument("program", nargs="?", metavar="PROGRAM", help="the program of the proof")
    with_input(inspect)
    with_level(inspect)

    plan = command(
        "plan",
        run_plan,
        "Show what a proof will cost, before anything runs.",
        "For each round and table: operations, bytes, and what it waits for.",
        ["examples/keccak --input README.md", "examples/keccak --svg plan.svg"],
    )
    with_program(plan)
    with_level(plan)
    plan.add_argument("--svg", type=Path, metavar="FILE", help="also draw it")

    debug = command(
        "check",
        run_check,
        "Check a program's traces row by row, without a proof.",
        "Names the first row on which a constraint fails, with its values, and the messages of a bus that nobody "
        "answers.",
        ["examples/keccak --input README.md", "tables.py"],
    )
    with_program(debug)

    execute = command(
        "execute",
        vm.run_execute,
        "Run a compiled program without a proof.",
        "Prints its instructions by kind, its cycles, memory, output and exit code.",
        vm.EXAMPLES,
    )
    vm.add_arguments(execute)

    command(
        "warm",
        warm.run_warm,
        "Compile the kernels of the CPU, once for this machine.",
        "Other commands compile what they need when they need it, a minute or two in all; this does it ahead, for a "
        "container's image for instance, and names each. A GPU's are compiled when a table first needs them.",
        [""],
    )
    return top


def run_prove(options: argparse.Namespace) -> int:
    """``graphprover prove``"""
    check_writable(options.output)
    stages: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        stages[name] = time.perf_counter() - started

    with stage("trace"):
        program, statement = _program_and_statement(options)
    with stage("imports"):
        from dask.diagnostics import Profiler

        from graphprover.device.choose import device_for
        from graphprover.graphs.executors import Progress
        from graphprover.prover import plan, prove
    try:
        layout = plan(statement, options.security, options.rate)
    except ValueError as error:
        raise UsageError(f"{program.name}: {error}") from error
    try:
        device_for(options.device)
    except ValueError as error:
        raise UsageError(f"--device: {error}") from error
    with stage("prove"), Profiler() as tasks, Progress() if sys.stderr.isatty() else nullcontext():
        proof = prove(statement, options.executor, parameters=layout.parameters, device=options.device)
    with stage("verify"):
        try:
            verdict = verify(proof, program.statement_of(proof), options.security)
        except VerificationError as error:
            flags = f" --input {options.input}" if options.input else ""
            raise VerificationError(
                f"{program.name}: not proven: {error} (`graphprover check {program.name}{flags}` says what is wrong)"
            ) from error
    encoded = proof.to_bytes()
    with stage("write"):
        write(options.output, encoded)
    described = program.describe(verdict.public_values)
    size = {"proof": f"{options.output}, {len(encoded):,} bytes"}
    print(report.listed(described | {"security": f"{verdict.bits:.1f} bits"} | size))
    if options.report:
        print(report.times_text(stages, tasks.results))
    return OK


def run_verify(options: argparse.Namespace) -> int:
    """``graphprover verify``"""
    data = read_proof(options.proof)
    try:
        proof = Proof.from_bytes(data)
        program = _program_of(proof, options)
        verdict = verify(proof, program.statement_of(proof), options.security)
    except VerificationError as error:
        raise VerificationError(f"{options.proof}: not valid: {error}") from error
    if options.input:
        _check_input(program, verdict, options)
    described = program.describe(verdict.public_values)
    for key, value in options.expect:
        if key not in described:
            raise UsageError(f"--expect {key}: this program says {', '.join(map(repr, described))}")
        if described[key] != value:
            raise VerificationError(f"{options.proof}: {key} is {described[key]}, not {value}")
    print(report.listed({"program": program.name} | described | {"security": f"{verdict.bits:.1f} bits"}))
    print("valid")
    return OK


def _check_input(program: Program | Guest, verdict: Verdict, options: argparse.Namespace) -> None:
    """Raises VerificationError unless the proof states the input in the file."""
    if not isinstance(program, Guest):
        raise UsageError(f"--input: only proofs of guests state their input; {program.name} is none")
    data, stated = read_input(options.input), said(verdict.public_values).input
    if stated is None:
        raise VerificationError(f"{options.proof}: states no input, as it was made without --commit-input")
    if stated != data:
        raise VerificationError(f"{options.proof}: on another input than {options.input}, of {len(stated):,} bytes")


def run_setup(options: argparse.Namespace) -> int:
    """``graphprover setup``"""
    check_writable(options.output)
    program = load(options.program)
    if not isinstance(program, Guest) or not isinstance(program.machine, Machine):
        raise UsageError(f"{options.program}: not an ELF file; only guests have verifying keys")
    from graphprover.vm.setup import make_key

    key = make_key(program.machine)
    encoded = key.to_bytes()
    write(options.output, encoded)
    print(report.listed({"program hash": key.program_hash.hex(), "key": f"{options.output}, {len(encoded):,} bytes"}))
    return OK


def run_inspect(options: argparse.Namespace) -> int:
    """``graphprover inspect``"""
    path = Path(options.subject)
    if not path.is_file() or path.suffix == ".py" or is_guest(path):
        if options.program:
            raise UsageError(f"{options.subject}: not a proof, so {options.program} says nothing about it")
        options.program = options.subject
        print(report.statement_text(_layout(*_program_and_statement(options), options)))
        return OK
    try:
        proof = Proof.from_bytes(read_proof(path))
        print(report.header_text(proof))
        if not options.program and proof.label not in packaged_names():
            print(f"for sizes and security, name its program: graphprover inspect {path} PROGRAM")
            return OK
        print(report.proof_text(proof, _program_of(proof, options).statement_of(proof)))
    except VerificationError as error:
        raise VerificationError(f"{path}: {error}") from error
    return OK


def run_plan(options: argparse.Namespace) -> int:
    """``graphprover plan``"""
    if options.svg:
        check_writable(options.svg)
    from graphprover.device.cpu import available_threads
    from graphprover.graphs.draw import plan_svg, plan_table
    from graphprover.graphs.plan import make_plan
    from graphprover.prover import load as load_traces

    program, statement = _program_and_statement(options)
    plan = make_plan(_layout(program, statement, options), main=load_traces(statement))
    print(plan_table(plan, available_threads()))
    if isinstance(program, Guest):
        print(cells_text(statement))
    if options.svg:
        write(options.svg, plan_svg(plan).encode())
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
    constraints, buses = sum(len(air.constraints) for air in airs), {each.bus for air in airs for each in air.globals}
    print(f"{program.name}: {len(airs)} tables satisfy their {constraints} constraints, and {len(buses)} buses balance")
    return OK


def _program_and_statement(options: argparse.Namespace) -> tuple[Program | Guest, Statement]:
    """The program asked for, and its statement about the input."""
    program = load(options.program)
    data = None if options.input is None else read_input(options.input)
    limits = vm.limits(options)
    if isinstance(program, Guest):
        return program, program.statement_for(data, state_input=getattr(options, "commit_input", False), **limits)
    if limits:
        raise UsageError(f"--{min(limits).replace('_', '-')}: {program.name} is no guest, and has no cycles")
    if getattr(options, "commit_input", False):
        raise UsageError(f"--commit-input: {program.name} is no guest; what its proofs say is up to its tables")
    return program, program.statement_for(data)


def _layout(program: Program | Guest, statement: Statement, options: argparse.Namespace) -> Any:
    """The layout of the proof asked for."""
    from graphprover.prover import plan

    try:
        return plan(statement, options.security, options.rate)
    except ValueError as error:
        raise UsageError(f"{program.name}: {error}") from error


def _program_of(proof: Proof, options: argparse.Namespace) -> Program | Guest:
    """The program named on the command line, else the packaged example that the proof names; never other code."""
    if options.program:
        return load(options.program)
    try:
        return load_packaged(proof.label)
    except ProgramError:
        raise UsageError(
            f"proof of {proof.label!r}, which is no packaged example: name the program you mean, "
            "as in `graphprover verify PROOF PROGRAM`"
        ) from None


def _bits(text: str) -> float:
    bits = float(text)
    if not 0 < bits < math.inf:
        raise ValueError
    return bits


def _executor(text: str) -> str:
    if text in ("sync", "threads") or "://" in text or (text.endswith(".json") and Path(text).is_file()):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is neither sync, threads, tcp://ADDRESS nor a scheduler's FILE.json")


def _expectation(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no KEY=VALUE")
    return key, value


_bits.__name__ = "number of bits"  # argparse names the type in its message
