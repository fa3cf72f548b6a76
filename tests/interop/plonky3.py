"""Plonky3's own prover and verifier for the tables of a test: the Rust crate in this folder, compiled on first use."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.protocol.parameters import Parameters
from graphprover.statement.statement import Table
from graphprover.verifier.plonky3 import statement_json

CRATE = Path(__file__).parent / "plonky3"
REQUIRE = "GRAPHPROVER_REQUIRE_RUST"  # if 1, tests fail on a machine without Rust instead of being skipped


BUILD = ("build", "--release", "--locked", "--quiet")


@cache
def binary() -> Path:
    """Compile the crate on first use and return its program. Skips the calling test without Rust (see REQUIRE)."""
    _cargo(*BUILD)
    return CRATE / "target/release/graphprover-interop"


def start_build() -> "subprocess.Popen[bytes] | None":
    """Start to compile the crate, for which `binary` waits by Cargo's lock; None without Rust."""
    cargo = _program()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # `binary` reports errors
    return subprocess.Popen([cargo, *BUILD], cwd=CRATE, **quiet) if cargo else None  # type: ignore[call-overload]


@cache
def sources() -> dict[str, Path]:
    """Return the source folder of each crate that the program is compiled from, in the pinned release."""
    binary()  # downloads the crates; crates for other systems may be missing
    options = ("--format-version", "1", "--locked", "--offline", "--filter-platform", "host-tuple")
    found = json.loads(_cargo("metadata", *options))
    return {package["name"]: Path(package["manifest_path"]).parent for package in found["packages"]}


def write_statement(path: Path, parameters: Parameters, tables: Sequence[Table], label: str = "") -> None:
    """Write a statement for the program's --statement option; all tables have traces and public values."""
    path.write_text(statement_json(parameters, tables, list(map(log_height, tables)), label))


def write_traces(path: Path, tables: Iterable[Table]) -> None:
    """Write traces for the program's --traces option."""
    with path.open("wb") as file:
        for table in tables:
            assert table.main is not None
            np.array(table.main.shape, dtype="<u8").tofile(file)
            np.ascontiguousarray(table.main, dtype="<u8").tofile(file)


def log_height(table: Table) -> int:
    """Return log2 of the rows of the table's trace."""
    assert table.main is not None
    return table.main.shape[1].bit_length() - 1


@dataclass(frozen=True)
class Files:
    """A statement, its witness and Plonky3's proof on disk."""

    statement: Path
    traces: Path
    proof: Path


def write_and_prove(
    folder: Path, parameters: Parameters, tables: Sequence[Table], label: str = "", *, threads: int = 1
) -> Files:
    """Write a statement and its traces into ``folder``, and prove it with Plonky3."""
    files = Files(folder / "statement.json", folder / "traces.bin", folder / "plonky3.bin")
    write_statement(files.statement, parameters, tables, label)
    write_traces(files.traces, tables)
    prove(files.statement, files.traces, files.proof, threads=threads)
    return files


def prove(statement: Path, traces: Path, proof: Path, *, threads: int = 1, repeat: int = 1) -> dict[str, Any]:
    """Prove with Plonky3 ``repeat`` times; return the seconds of each proof, and the peak memory of the process.

    With more than one thread its grinding takes any nonce that passes, with one thread the least (``find_map_any`` in
    p3-challenger/src/hash_challenger.rs).
    """
    files = ("--statement", statement, "--traces", traces, "--proof", proof)
    output = _run("prove", *files, "--repeat", str(repeat), threads=threads)
    if output.returncode:
        raise RuntimeError(output.stderr)
    return json.loads(output.stdout)


def verify(statement: Path, proof: Path) -> str | None:
    """Return None if Plonky3 accepts, else its reason."""
    output = _run("verify", "--statement", statement, "--proof", proof)
    if output.returncode > 1:
        raise RuntimeError(output.stderr)
    return output.stderr.strip() if output.returncode else None


def verify_shards(folder: Path) -> str | None:
    """Return the verdict of `verify` on a sharded proof in exported form."""
    output = _run("verify", "--shards", folder)
    if output.returncode > 1:
        raise RuntimeError(output.stderr)
    return output.stderr.strip() if output.returncode else None


def verify_all(proofs: Iterable[Sequence[Path]]) -> list[str | None]:
    """Return the verdicts of `verify` on many proofs in one process.

    Each proof is given by its statement and file, or by the statements and files of all its shards. Neighbouring proofs
    of one statement are fast.
    """
    lines = "".join("\t".join(map(str, paths)) + "\n" for paths in proofs)
    output = _run("verify", "--list", "-", stdin=lines)
    if output.returncode:
        raise RuntimeError(output.stderr)
    return [None if verdict == "accepted" else verdict for verdict in output.stdout.splitlines()]


def verify_payloads(folder: Path, statement: Path, payloads: Iterable[bytes]) -> list[str | None]:
    """Return the verdicts of `verify` on many proofs of one statement, written into ``folder`` first."""
    files = []
    for i, payload in enumerate(payloads):
        files.append(folder / f"payload{i}.bin")
        files[-1].write_bytes(payload)
    return verify_all((statement, file) for file in files)


def transcript(statement: Path, *, traces: Path | None = None, proof: Path | None = None) -> list[str]:
    """Return the bytes that Plonky3's challenger absorbs and squeezes while it proves ``traces`` or verifies ``proof``.

    Lines ``start``, ``absorb`` or ``squeeze``, then hexadecimal bytes; neighbouring lines of one kind are joined.
    """
    assert (traces is None) != (proof is None)
    source = ["--traces", str(traces)] if traces else ["--proof", str(proof)]
    output = _run("transcript", "--statement", statement, *source)
    if output.returncode > 1:
        raise RuntimeError(output.stderr)
    return output.stdout.splitlines()


def vectors() -> str:
    """Return known answers of both hashes: commitments and transcripts as Plonky3 composes them (src/vectors.rs)."""
    output = _run("vectors")
    if output.returncode:
        raise RuntimeError(output.stderr)
    return output.stdout


def decode(proof: Path) -> dict[str, Any]:
    """Return the proof with Plonky3's names of its parts."""
    output = _run("decode", "--proof", proof)
    if output.returncode:
        raise RuntimeError(output.stderr)
    return json.loads(output.stdout)


def _cargo(*arguments: str) -> str:
    cargo = _program()
    if cargo is None:
        if os.environ.get(REQUIRE) == "1":
            pytest.fail(f"{REQUIRE}=1, but there is no cargo to build {CRATE} with")
        pytest.skip(f"no cargo to build {CRATE} with")
    # In the crate's folder, because cargo reads .cargo/config.toml there.
    return subprocess.run([cargo, *arguments], cwd=CRATE, check=True, stdout=subprocess.PIPE, text=True).stdout


def _program() -> str | None:
    return shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo/bin"))


def _run(*arguments: str | Path, threads: int = 1, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
    command = [str(argument) for argument in (binary(), *arguments)]
    return subprocess.run(command, input=stdin, env=environment, capture_output=True, text=True, check=False)
