"""``graphprover serve``: a proving service with a queue that survives restarts."""

import argparse
import os
from pathlib import Path

from graphprover.cli.args import Command, add_machine, count, positive, reader
from graphprover.cli.executor import picked
from graphprover.cli.paths import path_argument
from graphprover.jobs.machine_options import SERVE
from graphprover.jobs.options import BY_NAME
from graphprover.proving.settings import ProvingSettings
from graphprover.runtime.errors import OK, UsageError
from graphprover.service.config import Config, ServiceLimits

PORT = 8750
MIB = 1 << 20


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "Clients upload programs and inputs, submit jobs and fetch proofs, with `graphprover submit`, Python "
        "(graphprover.service.Client), or HTTP. A job with the program, input and options of an earlier one gets its "
        "proof from the store. The queue survives a restart of the service, of workers and of their scheduler. "
        "The URL / has a page for people, /docs describes the interface. Logs are JSON on stderr. Needs the extras "
        "[prover,serve]. docs/serve.md describes the service.",
        [
            "",
            "--data /var/lib/graphprover --executor cuda",
            "--tokens tokens --add-token alice",
            "--host 0.0.0.0 --tokens tokens --tls-cert cert.pem --tls-key key.pem",
            "--database postgresql://user@host/graphprover --store s3://bucket/graphprover",
        ],
    )
    parser.add_argument("--host", default="127.0.0.1", help="Address to listen at. Default: 127.0.0.1.")
    parser.add_argument("--port", type=port, default=PORT, metavar="N", help=f"Port. Default: {PORT}.")
    parser.add_argument(
        "--data",
        type=path_argument,
        default=Path("graphprover-service"),
        metavar="FOLDER",
        help="Folder of the service on this host, for the database and the store by default. One service uses it. "
        "Default: graphprover-service.",
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help="Database of the queue, as SQLAlchemy names it, such as postgresql://user@host/name. One service uses "
        "it. Default: SQLite, in the file FOLDER/queue.db.",
    )
    parser.add_argument(
        "--store",
        metavar="URL",
        help="Folder of programs, inputs and proofs, as fsspec names it, such as s3://bucket/folder. Default: "
        "FOLDER/store.",
    )
    _add_access(parser)
    _add_limits(parser)
    add_machine(parser, SERVE)


def _add_access(parser: argparse.ArgumentParser) -> None:
    """Add the options of tokens, TLS and callbacks."""
    group = parser.add_argument_group("access")
    group.add_argument(
        "--tokens",
        type=path_argument,
        metavar="FILE",
        help="Accept only requests with a token of FILE, which has a line with the name and the SHA-256 of each "
        "token. A client sees the jobs of its token. Default: anybody who can connect may do anything.",
    )
    group.add_argument(
        "--add-token",
        metavar="NAME",
        help="Add a token called NAME to the file of --tokens, print the token, and end. A running service reads the "
        "file when it starts.",
    )
    group.add_argument(
        "--allow-anybody",
        action="store_true",
        help="Listen at an address that other hosts can reach without --tokens.",
    )
    group.add_argument(
        "--tls-cert", type=path_argument, metavar="FILE", help="Certificate chain of TLS, PEM. Needs --tls-key."
    )
    group.add_argument("--tls-key", type=path_argument, metavar="FILE", help="Private key of TLS, PEM.")
    group.add_argument(
        "--callback-host",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="Host that jobs may name as their callback; may be repeated. Default: none.",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the limits, whose names are the ones of `graphprover.service.config.ServiceLimits`, and the retention."""
    group = parser.add_argument_group("limits")
    group.add_argument(
        "--max-program",
        dest="program_bytes",
        type=mebibytes,
        default=ServiceLimits.program_bytes,
        metavar="MIB",
        help="Largest program, in MiB. Default: 32.",
    )
    group.add_argument(
        "--max-input",
        dest="input_bytes",
        type=mebibytes,
        default=ServiceLimits.input_bytes,
        metavar="MIB",
        help="Largest input, in MiB. Default: 64.",
    )
    group.add_argument(
        "--max-queued",
        dest="queued_jobs",
        type=count,
        default=ServiceLimits.queued_jobs,
        metavar="N",
        help="Most jobs that wait; more are refused with status 429. Default: 100,000.",
    )
    group.add_argument(
        "--max-queued-per-client",
        dest="queued_jobs_per_client",
        type=count,
        metavar="N",
        help="Most jobs of one token that wait. Default: --max-queued.",
    )
    group.add_argument(
        "--max-cycles",
        type=count,
        metavar="N",
        help="Most cycles of a job's run. A job that asks for more is refused; one without max_cycles has at most N.",
    )
    group.add_argument(
        "--max-memory", type=count, metavar="MIB", help="Most MiB of a job's run, in the same way for max_memory."
    )
    group.add_argument(
        "--max-seconds",
        dest="timeout",
        type=reader(BY_NAME["timeout"].values),
        metavar="SECONDS",
        help="Most seconds of a job from its start, in the same way for timeout.",
    )
    group.add_argument(
        "--attempts",
        type=count,
        default=Config.attempts,
        metavar="N",
        help="A job that has started N times, and each time the prover process died, fails. Default: 3.",
    )
    group.add_argument(
        "--keep-days",
        type=positive("number of days"),
        metavar="N",
        help="Remove jobs that ended N days ago, their proofs, and uploads that no job has. Default: keep all.",
    )


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover serve`` and return the exit code."""
    from graphprover.service.tokens import add_token, read_tokens

    if options.add_token is not None:
        if options.tokens is None:
            raise UsageError("--add-token: give the file with --tokens FILE")
        print(add_token(options.tokens, options.add_token))
        return OK
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert and --tls-key: give both")
    for path in (options.tls_cert, options.tls_key):
        if path is not None and not os.access(path, os.R_OK):
            raise UsageError(f"{path}: cannot be read")
    tokens = read_tokens(options.tokens) if options.tokens else {}

    from sqlalchemy.exc import SQLAlchemyError

    from graphprover.service.browsers import is_loopback
    from graphprover.service.server import serve
    from graphprover.service.store import Store

    if not tokens and not options.allow_anybody and not is_loopback(options.host):
        raise UsageError(
            f"--host {options.host}: other hosts could use the service without a token: give --tokens FILE, or "
            "--allow-anybody"
        )
    folder = options.data.resolve()
    config = Config(
        folder,
        options.database or f"sqlite:///{folder}/queue.db",
        options.store or str(folder / "store"),
        picked(ProvingSettings, options),
        is_loopback(options.host),
        tokens,
        picked(ServiceLimits, options),
        options.attempts,
        options.keep_days,
        frozenset(host.lower() for host in options.callback_host),
    )
    try:
        Store(config.store)
    except (ValueError, ImportError) as error:  # ImportError: of a package for this kind of URL
        raise UsageError(f"--store: {error}") from error
    try:
        return serve(config, options.host, options.port, options.tls_cert, options.tls_key)
    except SQLAlchemyError as error:
        raise UsageError(f"--database: {error}") from error


def mebibytes(text: str) -> int:
    """Return a number of MiB in bytes."""
    return count(text) * MIB


mebibytes.__name__ = count.__name__


def port(text: str) -> int:
    """Return a port."""
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: give a number from 1 to 65535")
    return int(text)
