"""The connection of a command to a proving service."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager

from graphprover.cli.args import refusing
from graphprover.cli.paths import path_argument
from graphprover.runtime.files import read_input
from graphprover.service.client import Client, ServiceError

URL = "http://127.0.0.1:8750"
NO_TOKEN = 401  # status of requests without a valid token
URL_VARIABLE, TOKEN_VARIABLE = "GRAPHPROVER_URL", "GRAPHPROVER_TOKEN"


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Add ``--url``, ``--token-file`` and ``--ca-file``."""
    group = parser.add_argument_group("service")
    group.add_argument(
        "--url",
        default=os.environ.get(URL_VARIABLE, URL),
        help=f"URL of the service. Default: {URL_VARIABLE} in the environment, or {URL}.",
    )
    group.add_argument(
        "--token-file",
        type=path_argument,
        metavar="FILE",
        help=f"File of the token. Default: {TOKEN_VARIABLE} in the environment has the token, if the service needs "
        "one.",
    )
    group.add_argument(
        "--ca-file", metavar="FILE", help="Certificates of TLS to trust, PEM. Default: the ones of this host."
    )


@contextmanager
def connected(options: argparse.Namespace) -> Iterator[Client]:
    """Yield a client of the service; an error about the token names the options, not the header."""
    with refusing("--url"):
        client = Client(options.url, _token(options), options.ca_file)
    with client:
        try:
            yield client
        except ServiceError as error:
            if error.status != NO_TOKEN:
                raise
            remedy = f"give the token with --token-file FILE, or in the environment as {TOKEN_VARIABLE}"
            raise ServiceError(NO_TOKEN, "the request has no valid token", remedy) from error


def _token(options: argparse.Namespace) -> str | None:
    """Return the token, if one is given."""
    if options.token_file is None:
        return os.environ.get(TOKEN_VARIABLE)
    return read_input(options.token_file).decode(errors="replace").strip()
