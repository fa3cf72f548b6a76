"""Options that several commands share, and their types."""

import argparse
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from graphprover.cli.paths import path_argument
from graphprover.jobs.programs import line_of
from graphprover.proof.compressed import MAX_MEMBERS
from graphprover.protocol.errors import RuleError
from graphprover.protocol.level import LAYER_RATE, MOST_POW_BITS, RATES_TEXT, Level, default_pow_bits
from graphprover.protocol.parameters import DEFAULT_HASH, FAST, HASH_NAMES, RATES, SMALL
from graphprover.protocol.security import JOHNSON_PROXIMITY, PROXIMITIES, QUERY_POW_BITS
from graphprover.runtime.errors import DEBUG, UsageError
from graphprover.runtime.files import STREAM, goes_to_stdout, is_replaced, resolved
from graphprover.vm.statement.guest import Limits, limits_of

SMALL_SECONDS = 60.0  # of --small without a number

PAGE, DATA = ".html", ".json"  # suffixes of report files

READ = ("proof", "subject", "guest", "jobs", "input", "expect_output")  # options that name an input file
WRITTEN = ("output", "svg", "html", "summary", "profile", "trace")  # options that name an output file

GUEST_HELP = "guest program: a statically linked ELF file for RV64IM"
DEVICE_HELP = "auto (default: the first GPU, or the CPU if there is none), cpu, cuda or cuda:NUMBER"

# Return the parser of a command, for its arguments, from its `run`, sentences for its help, and example arguments.
Command = Callable[[Callable[[argparse.Namespace], int], str, Sequence[str]], argparse.ArgumentParser]


def check_files(options: argparse.Namespace) -> None:
    """Raise UsageError if standard input, standard output or an output file has two uses in one command."""
    if _paths(options, READ).count(STREAM) > 1:
        raise UsageError("standard input (-) can be read only once")
    if has_stdout(options):
        others = sum(map(goes_to_stdout, _outputs(options))) > 1
        if others or getattr(options, "json", False):
            raise UsageError("standard output (-) can receive only one file, or the output of --json")
    for path, times in Counter(resolved(path) for path in _outputs(options) if is_replaced(path)).items():
        if times > 1:
            raise UsageError(f"{path}: two options name this output file")


def has_stdout(options: argparse.Namespace) -> bool:
    """Return whether a file of a command goes to standard output, so that its report must not."""
    return any(map(goes_to_stdout, _outputs(options)))


def _outputs(options: argparse.Namespace) -> list[Path]:
    """Return the output files of a command."""
    reports = getattr(options, "report", None) or ()
    return [*_paths(options, WRITTEN), *(path for path in reports if path is not None)]


def _paths(options: argparse.Namespace, names: Sequence[str]) -> list[Path]:
    given = (getattr(options, name, None) for name in names)
    return [Path(value) for value in given if value is not None]


def drawn() -> bool:
    """Return whether to draw progress bars: stderr is a terminal and receives no log."""
    return sys.stderr.isatty() and DEBUG not in os.environ


def refuse(error: ValueError, subject: object) -> NoReturn:
    """End a command because a function rejected its arguments with a ValueError.

    Args:
        error: The exception of the function.
        subject: The program or file that the error message starts with.

    Raises:
        UsageError: The message of `error`, prefixed with `subject`.
        ValueError: `error` itself, if a line of the user's program raised it.
    """
    if line_of(error):
        raise error
    raise UsageError(f"{subject}: {error}") from error


@contextmanager
def refusing(subject: object) -> Iterator[None]:
    """End a command by `refuse` if a block rejects its arguments with a ValueError; subclasses have other causes."""
    try:
        yield
    except ValueError as error:
        if type(error) not in (ValueError, RuleError):
            raise
        refuse(error, subject)


def add_output(parser: argparse.ArgumentParser, default: str, what: str = "File of the proof.") -> None:
    """Add ``--output``, the file that the command writes, with this default; ``what``: a sentence for the help."""
    parser.add_argument(
        "-o",
        "--output",
        type=path_argument,
        default=Path(default),
        metavar="FILE",
        help=f"{what} Default: {default}.",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument(
        "--json", action="store_true", help="Print one JSON object instead of text. docs/cli_json.md lists its fields."
    )


def bits(text: str) -> float:
    """Return a security level in bits."""
    level = float(text)
    if not 0 < level < math.inf:
        raise ValueError
    return level


bits.__name__ = "number of bits"  # argparse prints the name in its error


def count(text: str) -> int:
    """Return a positive integer."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


count.__name__ = "positive integer"


def positive(name: str) -> Callable[[str], float]:
    """Return the type of options that are positive numbers; ``name``: argparse prints it in its error."""

    def number_of(text: str) -> float:
        number = float(text)
        if not 0 < number < math.inf:
            raise ValueError
        return number

    number_of.__name__ = name
    return number_of


seconds = positive("number of seconds")


def small_seconds(text: str) -> float:
    """Return the time of `--small`, whose value argparse takes from the next argument, also if that is a program."""
    try:
        return seconds(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds: put PROGRAM first") from None


def layer_rates(text: str) -> tuple[int, ...]:
    """Return the rates of `--compress`, whose value argparse takes from the next argument, also if it is a program."""
    parts = text.split(",")
    if not set(parts) <= set(map(str, RATES)):
        raise argparse.ArgumentTypeError(f"{text!r} is no N of a rate 1/N, {RATES_TEXT}: put PROGRAM first")
    return tuple(map(int, parts))


def add_compress(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--compress``, described by ``text``."""
    parser.add_argument(
        "--compress",
        type=layer_rates,
        nargs="?",
        const=(LAYER_RATE,),
        metavar="N[,N]",
        help=f"{text} Default N: {LAYER_RATE}.",
    )


def pow_bits(text: str) -> int:
    """Return the bits of a proof of work."""
    number = int(text)
    if not 0 <= number <= MOST_POW_BITS:
        raise ValueError
    return number


pow_bits.__name__ = f"number from 0 to {MOST_POW_BITS}"


def report(text: str) -> Path:
    """Return the path of a report; its suffix selects the format."""
    path = path_argument(text)
    if path.suffix not in (PAGE, DATA):
        raise argparse.ArgumentTypeError(
            f"{text} is neither FILE.html nor FILE.json; for a text report write --report last, without FILE"
        )
    return path


def add_report(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--report`` and ``--trace``; `text` describes the contents of the text report."""
    parser.add_argument(
        "--report",
        type=report,
        nargs="?",
        action="append",
        metavar="FILE",
        help=f"Print {text}. With FILE.html or FILE.json, write a report page or its data to the file instead. May be "
        "repeated.",
    )
    parser.add_argument(
        "--trace",
        type=path_argument,
        metavar="FILE",
        help="Write a timeline of all tasks in the Chrome trace format, for Perfetto.",
    )


def asks(options: argparse.Namespace) -> bool:
    """Return whether a report or trace was requested, so that proofs must be observed."""
    return bool(options.report or options.trace)


def report_files(options: argparse.Namespace) -> list[Path]:
    """Return the report and trace files that were requested."""
    return [path for path in [*(options.report or ()), options.trace] if path is not None]


def add_shards(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--shards`` and ``--shard-size``; `default` describes the number of shards without them."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--shards",
        type=count,
        metavar="N",
        help="Split the proof into N shards. A single device proves them one after another and needs memory for about "
        f"one; cluster workers prove them in parallel. Default: {default}.",
    )
    group.add_argument(
        "--shard-size",
        type=count,
        metavar="CYCLES",
        help="Guests only: split the run into shards of CYCLES cycles each, instead of a fixed number of shards.",
    )


def add_level(parser: argparse.ArgumentParser) -> None:
    """Add the options of a proof's level: security, proximity, hash, rate and proof of work."""
    add_security(parser, "Provable security in bits. Default: 128.")
    add_proximity(parser)
    parser.add_argument(
        "--hash",
        choices=HASH_NAMES,
        default=DEFAULT_HASH,
        help=f"Hash of Merkle trees, transcript and proof of work. Default: {DEFAULT_HASH}.",
    )
    rate = parser.add_mutually_exclusive_group()
    rate.add_argument(
        "--rate",
        type=int,
        choices=tuple(RATES),
        help=f"Reed-Solomon rate {RATES_TEXT}. A lower rate gives a smaller proof; half the rate about doubles time "
        f"and memory; `graphprover plan` compares them. Default: {SMALL} for small statements (at most 2^19 committed "
        f"cells), otherwise {FAST}. From --rate {SMALL} on a guest's run also uses fewer, wider tables.",
    )
    rate.add_argument(
        "--fast", dest="rate", action="store_const", const=FAST, help=f"Least work: same as --rate {FAST}."
    )
    rate.add_argument(
        "--small",
        type=small_seconds,
        nargs="?",
        const=SMALL_SECONDS,
        metavar="SECONDS",
        help="Smallest proof: the rate and the proof of work with the fewest expected bytes, if the plan expects at "
        "most SECONDS on this machine and the memory suffices. Without SECONDS: "
        f"{SMALL_SECONDS:g}. Prints the choice on stderr.",
    )
    add_pow_bits(parser, " With --small this is the least N.", None)


def add_security(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--security``, described by `text`."""
    parser.add_argument("--security", type=bits, default=128, metavar="BITS", help=text)


def add_pow_bits(parser: argparse.ArgumentParser, more: str, default: int | None) -> None:
    """Add ``--pow-bits`` with a default, or without one for `level_given`; `more` ends its description."""
    parser.add_argument(
        "--pow-bits",
        type=pow_bits,
        default=default,
        metavar="N",
        help="Proof of work before the queries: 2^N hashes on average; one in twenty takes three times the mean. Each "
        "bit doubles it, and saves two queries at rate 1/2, one at 1/4, fewer below. `graphprover plan` shows its "
        f"time. From 0 to {MOST_POW_BITS}. Default: {QUERY_POW_BITS if default is None else default}.{more}",
    )


def level_given(options: argparse.Namespace, *, compressed: bool = False) -> Level:
    """Return the level that the options of `add_level` ask for; ``compressed``: of a proof to compress."""
    pow_bits = default_pow_bits(compressed) if options.pow_bits is None else options.pow_bits
    return Level(options.security, options.rate, options.proximity, options.hash, pow_bits)


def add_proximity(parser: argparse.ArgumentParser) -> None:
    """Add ``--proximity``."""
    parser.add_argument(
        "--proximity",
        choices=PROXIMITIES,
        default=JOHNSON_PROXIMITY,
        help="Soundness analysis. johnson (default): the better of the Johnson-bound and unique-decoding analyses. "
        "unique: unique decoding only; proofs need more queries and are larger.",
    )


def add_max_members(parser: argparse.ArgumentParser) -> None:
    """Add ``--max-members``."""
    parser.add_argument(
        "--max-members",
        type=count,
        default=MAX_MEMBERS,
        metavar="N",
        help="Aggregated proofs only: refuse one about more than N proofs, before any of them is verified; of a proof "
        f"in shards each shard counts. Default: {MAX_MEMBERS}.",
    )


def add_device(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--device``, described by `text`."""
    parser.add_argument("--device", default="auto", metavar="NAME", help=text)


def add_limits(parser: argparse.ArgumentParser, default_memory: str = "half of this host's memory") -> None:
    """Add the limits of a guest's run, ``--max-cycles`` and ``--max-memory``."""
    parser.add_argument(
        "--max-cycles",
        type=count,
        metavar="N",
        help="Guests only: fail if the run takes more than N cycles. Default: 2^30.",
    )
    parser.add_argument(
        "--max-memory",
        type=count,
        metavar="MIB",
        help="Guests only: fail if pages, output and execution record of the run exceed this many MiB. Default: "
        f"{default_memory}.",
    )


def random_seed(text: str) -> int:
    """Return a seed of 64 bits."""
    number = int(text, 0)
    if not 0 <= number < 1 << 64:
        raise ValueError
    return number


random_seed.__name__ = "number below 2^64"


def add_random_seed(parser: argparse.ArgumentParser) -> None:
    """Add ``--random-seed``."""
    parser.add_argument(
        "--random-seed",
        type=random_seed,
        metavar="N",
        help="Guests only: seed of the guest's random numbers, 64 bits. Default: derived from the input.",
    )


def add_max_cost(parser: argparse.ArgumentParser) -> None:
    """Add ``--max-cost``."""
    parser.add_argument(
        "--max-cost",
        type=count,
        metavar="N",
        help="Guests only: fail, before anything is proved, if the cost number of the run exceeds N. `graphprover "
        "execute --cost` prints the number.",
    )


def limits_given(options: argparse.Namespace) -> Limits:
    """Return the limits of a guest's run that the user gave."""
    return limits_of(options.max_cycles, options.max_memory)
