"""Packages that the verifier lacks: the extras [prover] and [serve] of setup.cfg install them."""

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
INSTALL = "pip install 'graphprover[prover]'"
INSTALL_SERVE = "pip install 'graphprover[prover,serve]'"


def needs_prover(error: BaseException) -> bool:
    """Return whether an import has failed because a package of the extra [prover] is missing."""
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in PROVER


def needs_serve(error: BaseException) -> bool:
    """Return whether an import has failed because a package of the extra [serve] is missing."""
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in SERVE
