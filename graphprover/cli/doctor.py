"""``graphprover doctor``: list software and hardware of this host for proofs and guests, with remedies for gaps."""

import argparse
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

from graphprover import __version__
from graphprover.cli.args import Command, add_json
from graphprover.cli.text_output import say
from graphprover.device.host_memory import host_memory
from graphprover.runtime.errors import FAILED, OK
from graphprover.runtime.extras import install

GIB = 1 << 30
LEAST_BYTES = {"memory": 4 * GIB, "disk": GIB, "shared memory": 64 << 20}  # below which proofs of guests fail
OF_PROVER = ("numba", "dask", "distributed")  # packages of the extra [prover] that every proof needs
COMPARED = ("python", "dask", "distributed", "numpy", "numba")  # versions that are equal on a cluster
SHARED = Path("/dev/shm")
C_COMPILERS = (("riscv64-unknown-elf-gcc",), ("clang", "ld.lld"))  # either is enough for guests in C


@dataclass(frozen=True)
class Line:
    """A line of the report, about one subject."""

    subject: str
    found: str  # in words
    remedy: str = ""  # empty if nothing is missing
    needed: bool = False  # whether no proof can be made without it


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "Each line is ok or missing, and what is missing has a remedy. The exit code is 0 if this host can prove; a "
        "GPU and compilers for guests are optional.",
        ["", "--json", "--cluster tcp://10.0.0.1:8786"],
    )
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="Compare the versions of a Dask cluster with the ones of this host."
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover doctor``; return FAILED if something is missing that every proof needs."""
    findings = list(_findings(options.cluster))
    facts = {
        "findings": [asdict(one) for one in findings],
        "proves": not any(one.needed and one.remedy for one in findings),
    }

    def report() -> Iterator[dict[str, str]]:
        yield {
            one.subject: f"missing: {one.found}\nremedy: {one.remedy}" if one.remedy else f"ok: {one.found}"
            for one in findings
        }

    say(facts, report, options)
    return OK if facts["proves"] else FAILED


def _findings(cluster: str | None) -> Iterator[Line]:
    yield Line("graphprover", __version__)
    yield Line("Python", platform.python_version())
    missing = [name for name in OF_PROVER if util.find_spec(name) is None]
    if missing:
        yield Line("prover", f"no {', '.join(missing)}", install("prover"), needed=True)
    else:
        yield Line("prover", ", ".join(f"{name} {metadata.version(name)}" for name in OF_PROVER))
        yield _kernels()
    yield _gpu()
    yield from _compilers()
    yield _space("memory", host_memory(), "prove on a host with more, or split proofs by --shards")
    yield _space("disk", shutil.disk_usage(Path()).free, "free some space, or work in another folder")
    if SHARED.is_dir():
        yield _space("shared memory", shutil.disk_usage(SHARED).free, f"enlarge {SHARED} (docker run --shm-size 1g)")
    if cluster:
        yield _cluster(cluster)


def _space(subject: str, size: int, remedy: str) -> Line:
    enough = size >= LEAST_BYTES[subject]
    return Line(subject, f"{size / GIB:,.1f} GiB", "" if enough else remedy, needed=True)


def _kernels() -> Line:
    """Return the CPU kernels that the package contains for this processor."""
    from graphprover.runtime.numba_cache import level, not_shipped
    from graphprover.vm.executor import interpreter

    if reason := not_shipped(interpreter.run):
        return Line("kernels", reason, "graphprover warm compiles them once")
    return Line("kernels", f"compiled for this processor ({level()})")


def _gpu() -> Line:
    from graphprover.device.choose import missing

    if not Path("/proc/driver/nvidia/version").exists():
        return Line("GPU", "none (proofs are made by the CPU)")
    if util.find_spec("cupy") is None:
        return Line("GPU", "a driver, but no CuPy", install("cuda13"))
    import cupy

    try:
        number = cupy.cuda.runtime.getDeviceCount()
        names = [cupy.cuda.runtime.getDeviceProperties(i)["name"].decode() for i in range(number)]
        driver = cupy.cuda.runtime.driverGetVersion()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return Line("GPU", str(error), "install a driver from 525 on")
    if not names:
        return Line("GPU", missing(0), "see `nvidia-smi`")
    return Line("GPU", f"{', '.join(names)}; CUDA {driver // 1000}.{driver % 1000 // 10} by the driver")


def _compilers() -> Iterator[Line]:
    """Yield the compilers for guests in C, Rust, and in C++ and Zig."""
    found = next((names for names in C_COMPILERS if all(map(shutil.which, names))), None)
    remedy = "apt-get install gcc-riscv64-unknown-elf"
    yield Line("guests in C", " and ".join(found) if found else "no compiler", "" if found else remedy)
    yield _rust()
    zig = util.find_spec("ziglang") is not None
    words = ("the wheel ziglang", "") if zig else ("no wheel ziglang", "pip install ziglang")
    yield Line("guests in C++, Zig", *words)


def _rust() -> Line:
    packages = "apt-get install rustc-web cargo-web rust-web-src binutils-riscv64-unknown-elf"
    subject = "guests in Rust"
    if absent := [name for name in ("rustc", "cargo") if not shutil.which(name)]:
        return Line(subject, f"no {' and '.join(absent)}", f"{packages}, or rustup with the component rust-src")
    root = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True).stdout.strip()
    if not (Path(root) / "lib/rustlib/src/rust/library").is_dir():
        return Line(
            subject, "no sources of its library", "apt-get install rust-web-src, or rustup component add rust-src"
        )
    return Line(subject, "rustc, cargo and rust-src")


def _cluster(address: str) -> Line:
    """Return the versions of a cluster's scheduler and workers that differ from this host's."""
    from distributed import Client

    try:
        with Client(address, timeout=10) as client:
            versions = client.get_versions()
    except (OSError, ValueError) as error:
        return Line("cluster", f"{address}: {error}", "is the scheduler running?")
    here = _packages(versions["client"])
    others = {"scheduler": versions["scheduler"], **versions["workers"]}
    wrong = [
        f"{name} has {package} {found}, not {here[package]}"
        for name, of in others.items()
        for package, found in _packages(of).items()
        if found != here[package]
    ]
    if wrong:
        return Line("cluster", "; ".join(wrong), "install equal versions")
    return Line("cluster", f"{len(others) - 1} workers and the scheduler have equal versions")


def _packages(found: dict[str, Any]) -> dict[str, Any]:
    """Return the versions that are compared, of one answer of Dask's `get_versions`; a worker without one has None."""
    return {name: found["packages"].get(name) or found["host"].get(name) for name in COMPARED}
