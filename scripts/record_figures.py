"""The figures of this machine at this commit, kept in docs/figures, and the page docs/figures.md made of all of them.

    python scripts/record_figures.py cpu      # one or two minutes on a quiet machine
    python scripts/record_figures.py cuda
    python scripts/record_figures.py page     # measures nothing

docs/figures/MACHINE.jsonl has a line a commit: what was measured by which benchmark, with its ratio to the ceiling of
the same run, on which machine, with which versions. The tree must be committed, or --commit says what it is; a line of
the same commit is replaced.
"""

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER, PAGE = ROOT / "docs/figures", ROOT / "docs/figures.md"
BENCHMARKS = {
    "cpu": (
        "bench_kernels.py",
        "bench_prove.py --from 12 --to 16",
        "bench_prove_vm.py --runs fib:1 interpreter:100",
    ),
    "cuda": (
        "bench_kernels_cuda.py",
        "bench_rounds_cuda.py",
        "bench_prove_cuda.py --sync",
        "bench_batches_cuda.py",
        "bench_prove_vm.py --device cuda",
    ),
}
PACKAGES = ("numpy", "numba", "dask", "cupy-cuda13x", "cupy-cuda12x")
SHOWN = 5  # commits of a machine on the page, the newest last


def measured(benchmark: str) -> list[dict[str, Any]]:
    """The figures of one benchmark; ends this process where it fails."""
    script, *arguments = shlex.split(benchmark)
    print(benchmark, file=sys.stderr, flush=True)
    command = [sys.executable, str(ROOT / "scripts" / script), *arguments, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{benchmark} ended with {done.returncode}; nothing is recorded")
    return [{"benchmark": benchmark, **json.loads(line)} for line in done.stdout.splitlines()]


def machine(kind: str) -> str:
    """Its processor and cores, or its GPU."""
    if kind == "cuda":
        import cupy

        return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.+)", info.read_text()) if info.exists() else None
    return f"{named[1] if named else platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def versions() -> Iterator[tuple[str, str]]:
    yield "python", platform.python_version()
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def committed() -> str:
    """The commit that is checked out; ends this process where it is not all that is."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"git {arguments[0]}: {done.stderr.strip()}; --commit says what is measured")
        return done.stdout.strip()

    if git("status", "--porcelain", "--", ".", ":!docs/figures", ":!docs/figures.md"):
        raise SystemExit("there are changes that are not committed; --commit says what is measured")
    return git("rev-parse", "--short", "HEAD")


def recorded() -> dict[str, list[dict[str, Any]]]:
    """All records of each machine."""
    return {records[-1]["machine"]: records for records in map(records_of, sorted(FOLDER.glob("*.jsonl")))}


def text(machines: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """docs/figures.md, from the records of each machine, the oldest first."""
    return "\n".join(page(machines)) + "\n"


def page(machines: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Its lines."""
    yield from ("# Figures", "")
    yield "Made by `python scripts/record_figures.py page` from docs/figures. A column is a commit; the last is the"
    yield "newest's share of its ceiling in the same run. Bare times belong to one machine."
    for name, records in machines.items():
        shown = records[-SHOWN:]
        newest = shown[-1]
        yield from ("", f"## {name}", "")
        yield ", ".join(f"{package} {number}" for package, number in newest["versions"].items()) + "."
        for benchmark in dict.fromkeys(figure["benchmark"] for figure in newest["figures"]):
            values = [
                {figure["name"]: figure["value"] for figure in record["figures"] if figure["benchmark"] == benchmark}
                for record in shown
            ]
            yield from ("", f"`python scripts/{benchmark}`", "")
            yield (
                "| | unit | " + " | ".join(f"{record['commit']}, {record['date']}" for record in shown) + " | ceiling |"
            )
            yield "|---|---|" + "---:|" * (len(shown) + 1)
            for figure in newest["figures"]:
                if figure["benchmark"] == benchmark:
                    cells = [cell(of_commit.get(figure["name"])) for of_commit in values]
                    ratio = f"{figure['ratio']:.2f}" if "ratio" in figure else ""
                    yield f"| {' | '.join([figure['name'], figure['unit'], *cells, ratio])} |"


def cell(value: float | None) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*BENCHMARKS, "page"])
    parser.add_argument("--commit", help="what is measured, where git does not say")
    options = parser.parse_args()
    if options.what != "page":
        commit, name = options.commit or committed(), machine(options.what)
        figures = [figure for benchmark in BENCHMARKS[options.what] for figure in measured(benchmark)]
        date = datetime.now(UTC).date().isoformat()
        record = {"machine": name, "commit": commit, "date": date, "versions": dict(versions()), "figures": figures}
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.jsonl"
        others = [other for other in records_of(path) if other["commit"] != commit]
        path.write_text("".join(json.dumps(line) + "\n" for line in [*others, record]))
    PAGE.write_text(text(recorded()))


if __name__ == "__main__":
    main()
