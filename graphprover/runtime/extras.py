"""Packages that the verifier lacks: the extra [prover] of setup.cfg installs them."""

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
INSTALL = "pip install 'graphprover[prover]'"


def needs_prover(error: BaseException) -> bool:
    """Return whether an import has failed because a package of the extra [prover] is missing."""
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in PROVER
