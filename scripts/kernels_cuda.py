"""Compile the GPU kernels that come with the package, without a GPU: kernels/cuda/shipped/sm_90.zip and others.

    python scripts/kernels_cuda.py                     # for all generations of GPUs
    python scripts/kernels_cuda.py --arch 90           # for H100 and H200: 45 s of one core
    python scripts/kernels_cuda.py --arch 90 --tables  # also the machine's tables: an hour of one core, 40 MB

The compiler is that of the wheel nvidia-cuda-nvrtc-cu12 or nvidia-cuda-nvrtc. Machine code of release 12 runs with
drivers of both releases. The same sources and compiler give the same bytes; kernels that an archive has already are
not compiled again.
"""

import argparse
import json
import os
import sys
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import checkout  # noqa: F401
from graphprover.air import AirDescription
from graphprover.air.degree import packings
from graphprover.kernels.cuda import nvrtc, shipped, sources
from graphprover.kernels.cuda.source_cache import made_lookups, made_quotient
from graphprover.protocol.parameters import FAST, LAYER_RATES, RATES, SMALL

ARCHITECTURES = ("80", "90", "100", "120")  # A100; H100, H200; B200; RTX 50
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the time of each member
_LEVEL = 9


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--arch", nargs="+", choices=ARCHITECTURES, default=ARCHITECTURES, help="compute capabilities without a dot"
    )
    parser.add_argument("--tables", action="store_true", help="also compile the kernels of all tables of the machine")
    parser.add_argument("-o", "--output", type=Path, default=shipped.FOLDER, help="folder, by default the package's")
    options = parser.parse_args(arguments)
    if nvrtc.library() is None:
        parser.error("no compiler: pip install nvidia-cuda-nvrtc-cu12")
    operations = _operations()
    main_texts = {*operations.values(), *_texts_of(_recursion_tables())}
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for arch in options.arch:
            _build(pool, arch, options.output / f"sm_{arch}.zip", main_texts, operations)
        if options.tables:
            texts = set(_texts_of(_machine_tables())) - main_texts
            for arch in options.arch:
                _build(pool, arch, options.output / f"sm_{arch}_tables.zip", texts, {})
    return 0


def _operations() -> dict[str, str]:
    """Return the texts of all kernels that belong to no table, by name."""
    from graphprover.recursion.kernels.cuda import sources as recursion
    from graphprover.vm.kernels.cuda import sources as machine

    return sources.texts() | machine.texts() | recursion.texts()


def _recursion_tables() -> Iterable[AirDescription]:
    from graphprover.recursion.layer_tables import possible_tables

    return chain.from_iterable(packings(air.describe(), LAYER_RATES.values()) for air in possible_tables())


def _machine_tables() -> Iterable[AirDescription]:
    from graphprover.vm.executor.execute import smallest
    from graphprover.vm.statement.statement import Machine
    from graphprover.vm.statement.version import CHIP_NUMBERS
    from graphprover.vm.traces.possible import possible_tables

    tables = possible_tables(Machine(smallest()), set(CHIP_NUMBERS))
    return chain.from_iterable(packings(air, [RATES[FAST], RATES[SMALL]]) for air in tables)


def _texts_of(tables: Iterable[AirDescription]) -> Iterable[str]:
    """Return the texts that are generated for tables."""
    for air in tables:
        yield from made_lookups(air).texts
        yield from made_quotient(air).texts


def _build(
    pool: ProcessPoolExecutor, arch: str, path: Path, texts: Iterable[str], operations: Mapping[str, str]
) -> None:
    """Write an archive of these texts' machine code for one generation of GPUs."""
    started = time.perf_counter()
    about = {
        "nvrtc": nvrtc.version(),
        "standard": sources.STANDARD,
        "operations": {name: shipped.digest_of(text) for name, text in sorted(operations.items())},
    }
    known = _known(path, about)
    missing = {shipped.digest_of(text): text for text in texts}
    members = {digest: known[digest] for digest in missing.keys() & known.keys()}
    ordered = sorted((item for item in missing.items() if item[0] not in members), key=lambda item: -len(item[1]))
    codes = pool.map(nvrtc.compile, [text for _, text in ordered], [f"sm_{arch}"] * len(ordered))
    members |= zip((digest for digest, _ in ordered), codes, strict=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w") as archive:
        contents = {shipped.ABOUT: json.dumps(about, indent=1, allow_nan=False).encode()} | dict(
            sorted(members.items())
        )
        for name, data in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _BEGINNING), data, zipfile.ZIP_LZMA, _LEVEL)
    unfinished.replace(path)
    seconds = time.perf_counter() - started
    print(f"{path}: {len(members)} kernels, {len(ordered)} compiled, {path.stat().st_size:,} bytes, {seconds:.0f} s")


def _known(path: Path, about: Mapping[str, object]) -> dict[str, bytes]:
    """Return the machine code of an earlier archive of the same compiler and options, by digest."""
    try:
        with zipfile.ZipFile(path) as archive:
            before = json.loads(archive.read(shipped.ABOUT))
            if (before["nvrtc"], before["standard"]) != (about["nvrtc"], about["standard"]):
                return {}
            return {name: archive.read(name) for name in archive.namelist() if name != shipped.ABOUT}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return {}


if __name__ == "__main__":
    sys.exit(main())
