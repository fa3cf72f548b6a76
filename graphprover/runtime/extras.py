"""Packages that the verifier lacks, which extras of setup.cfg install, and the command that installs an extra."""

import json
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote

PROVER = {  # top-level modules
    "bokeh",
    "cryptography",
    "dask",
    "distributed",
    "elftools",
    "llvmlite",
    "multi_demangle",
    "numba",
    "prometheus_client",
    "rich",
    "shtab",
}
SERVE = {"fastapi", "fsspec", "h11", "httptools", "psycopg", "pydantic", "sqlalchemy", "starlette", "uvicorn", "uvloop"}
NAME = "graphprover"
PACKAGE = Path(__file__).parents[1]


def install(extras: str) -> str:
    """Return the command that installs this copy of graphprover with extras, such as ``prover,serve``.

    It names the checkout, the file or the URL that this copy is from, and the name alone for a copy from an index.
    """
    if (PACKAGE.parent / "setup.cfg").is_file():  # the package runs in its checkout
        return f"pip install -e {shlex.quote(f'{PACKAGE.parent}[{extras}]')}"
    from importlib import metadata  # here, because only errors need it

    try:
        found = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        return in_checkout(extras)
    pip = "uv pip" if (found.read_text("INSTALLER") or "").strip() == "uv" else "pip"
    # pip writes the file unless it has the package from an index.
    source = source_of(json.loads(found.read_text("direct_url.json") or "{}"), extras)
    return f"{pip} install {shlex.quote(source)}" if source else in_checkout(extras)


def in_checkout(extras: str) -> str:
    """Return the command that installs extras in a checkout whose path is unknown."""
    return f"pip install {shlex.quote(f'.[{extras}]')} in a checkout"


def source_of(direct: dict[str, Any], extras: str) -> str | None:
    """Return the argument of pip for a package with these contents of ``direct_url.json``; None if its file is gone."""
    url = str(direct.get("url", ""))
    if url.startswith("file://"):
        path = Path(unquote(url.removeprefix("file://")))
        return f"{path}[{extras}]" if path.exists() else None
    requirement = f"{NAME}[{extras}]"
    if version := direct.get("vcs_info"):
        return f"{requirement} @ {version['vcs']}+{url}@{version['commit_id']}"
    return f"{requirement} @ {url}" if url else requirement


def needs_prover(error: BaseException) -> bool:
    """Return whether an import has failed because a package of the extra [prover] is missing."""
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in PROVER


def needs_serve(error: BaseException) -> bool:
    """Return whether an import has failed because a package of the extra [serve] is missing."""
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in SERVE
