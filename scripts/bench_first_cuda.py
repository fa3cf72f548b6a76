"""The first proofs of a user on a GPU, with empty caches, and the kernels that they compile.

    python scripts/bench_first_cuda.py [--turns 200000] [--kernels FOLDER] [--checkout FOLDER] [--json]

Commands run in this order with one cache of GPU kernels, which is empty at first: a proof of a loop, a compressed proof
of it, and the same one again. For each: seconds until the file of the proof is there; seconds of the command, which
then waits for kernels in compilation; and the kernels that NVRTC compiled: of lookups, of quotients, CuPy's own, and
others. A proof by the CPU precedes them, so that no CPU kernel is compiled.

--kernels has the archives that `scripts/kernels_cuda.py` wrote: they are put in the place of the package's. --checkout
measures another checkout of the project; with it the table has both, that checkout first.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import checkout
from figures import Figures, add_option

GUEST = "examples/guests/fib_iterative.elf"
COMMANDS = {
    "first proof": [],
    "first small proof": ["--compress", "fast"],
    "small proof again": ["--compress", "fast"],
}
KINDS = ("lookups", "quotients", "CuPy's", "others")
POLL = 0.005  # seconds


def measure(out: Figures, root: Path, name: str, turns: int) -> None:
    """Run all commands with the package of a checkout, and print a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        cache, argument = Path(folder, "cache"), Path(folder, "turns")
        argument.write_bytes(turns.to_bytes(8, "little"))
        path = os.pathsep.join([str(root), os.environ["PYTHONPATH"]])
        environment = os.environ | {"CUPY_CACHE_DIR": str(cache), "PYTHONPATH": path}

        def run(*options: str) -> tuple[float, float]:
            """Return the seconds until there is a proof, and until the command ends."""
            proof = Path(folder, "proof")
            proof.unlink(missing_ok=True)
            command = [sys.executable, "-m", "graphprover", "prove", GUEST, "--input", str(argument), "-o", str(proof)]
            started, there = time.perf_counter(), 0.0
            with subprocess.Popen(
                [*command, *options], cwd=root, env=environment, stdout=subprocess.DEVNULL
            ) as process:
                while process.poll() is None:
                    if not there and proof.exists():
                        there = time.perf_counter() - started
                    time.sleep(POLL)
            if process.returncode:
                raise SystemExit(f"{name}: graphprover failed with {process.returncode}")
            whole = time.perf_counter() - started
            return there or whole, whole

        run("--device", "cpu")
        known: set[Path] = set()
        for title, options in COMMANDS.items():
            there, whole = run("--device", "cuda", *options)
            found = set(cache.glob("*.cubin"))
            kinds = Counter(kind(file) for file in found - known)
            known = found
            counts = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)
            out.text(
                f"{name:8} {title:18} {there:6.2f} s, command {whole:6.2f} s; compiled {kinds.total():3}: {counts}"
            )
            out(f"{name}: {title}", there, "s")
            out(f"{name}: {title}, command", whole, "s")
            out(f"{name}: {title}, compiled", kinds.total(), "kernels", **kinds)
        for file in sorted(known):
            if kind(file) == "CuPy's":
                out.text(f"{name:8} CuPy's {' '.join(sorted(set(re.findall(r'cupy_[a-z_]+', text_of(file)))))}")


def kind(file: Path) -> str:
    """Return the kind of a compiled kernel by the names in it."""
    words = set(re.findall(r"[a-z_]+", text_of(file)))
    if "lookups" in words or "quotient" in words:
        return "lookups" if "lookups" in words else "quotients"
    return "CuPy's" if any(word.startswith("cupy_") for word in words) else "others"


def text_of(file: Path) -> str:
    return file.read_bytes().decode("latin-1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=200_000, help="of the loop; a turn has five cycles")
    parser.add_argument("--kernels", type=Path, help="folder with archives of compiled kernels")
    parser.add_argument("--checkout", type=Path, help="another checkout to compare with")
    add_option(parser)
    options = parser.parse_args()
    out, root = Figures(options.json), Path(checkout.ROOT)
    if options.kernels:
        shutil.copytree(options.kernels, root / "kernels/cuda/shipped", dirs_exist_ok=True)
    if options.checkout:
        measure(out, options.checkout.resolve(), "before", options.turns)
    measure(out, root, "now", options.turns)


if __name__ == "__main__":
    main()
