"""Compile the CPU's kernels that the package contains, for each level of x86-64 processors.

    python scripts/build_kernels.py [--check]

The kernels are those that ``graphprover warm`` loads. Only missing ones are compiled: an edit of a kernel's source
replaces its files and those of its callers. A level that the host lacks is compiled without a run.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from operator import attrgetter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]


def main() -> int:
    """Run the command line; return 1 if ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="Write nothing; list the files of other sources.")
    parser.add_argument("--level", help=argparse.SUPPRESS)  # of a process that compiles
    options = parser.parse_args()
    if options.level:
        return build(options.level)
    return check() if options.check else build_all()


def build_all() -> int:
    """Compile each level in a process of its own, as Numba compiles for one target; the levels of this host first."""
    from graphprover.runtime.shipped import LEVELS

    for level in sorted(LEVELS, key=_runs, reverse=True):
        with tempfile.TemporaryDirectory() as empty:
            features = ",".join(f"+{feature}" for feature in LEVELS[level].split())
            compiler = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": empty}
            command = [sys.executable, __file__, "--level", level]
            subprocess.run(command, env=os.environ | compiler, check=True)
    return 0


def build(level: str) -> int:
    """Compile the missing kernels of a level, and remove its other files."""
    from graphprover.cli.warm import warm_cpu
    from graphprover.runtime import numba_cache, shipped

    def save(function: Any, signature: Any, compiled: Any) -> None:
        shipped.save(function, signature, level, numba_cache.without_bitcode(compiled))
        numba_cache.taken.append(shipped.file_of(function, signature))

    numba_cache.builders.append(save)
    if _runs(level):
        warm_cpu()
    else:
        run = next(filter(_runs, shipped.LEVELS))
        for path in sorted((shipped.FOLDER / run).iterdir()):
            kernel, signature = _kernel_of(path)
            kernel.compile(signature)
    files = list((shipped.FOLDER / level).iterdir())
    for path in files:
        if path.name not in numba_cache.taken:
            path.unlink()
    files = [path for path in files if path.exists()]
    print(f"{level}: {len(files)} kernels, {sum(path.stat().st_size for path in files):,} bytes")
    return 0


def check() -> int:
    """Print the files whose kernel has another source or compiler, and kernels that a level lacks."""
    from graphprover.runtime import shipped

    levels = {level: {path.name: path for path in (shipped.FOLDER / level).iterdir()} for level in shipped.LEVELS}
    every = {name: path for files in levels.values() for name, path in files.items()}
    wrong = [f"{level} lacks {name}" for level, files in levels.items() for name in sorted(every.keys() - files)]
    for name, path in sorted(every.items()):
        kernel, signature = _kernel_of(path)
        if shipped.file_of(kernel.py_func, signature) != name:
            wrong.append(f"{name} is of another source or version of Numba")
    print(*wrong, f"{len(every)} kernels, {len(wrong)} faults", sep="\n")
    if wrong:
        print("run: python scripts/build_kernels.py")
    return bool(wrong)


def _kernel_of(path: Path) -> tuple[Any, Any]:
    """Return the kernel of a file, and its signature."""
    from graphprover.runtime import shipped

    module, name, signature = shipped.origin_of(path)
    return attrgetter(name)(importlib.import_module(module)), signature


def _runs(level: str) -> bool:
    """Return whether this host has a level's features."""
    from llvmlite import binding

    from graphprover.runtime.shipped import LEVELS

    features = binding.get_host_cpu_features()
    return all(features.get(feature) for feature in LEVELS[level].split())


if __name__ == "__main__":
    raise SystemExit(main())
