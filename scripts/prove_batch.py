"""Proofs of one guest on many inputs, like `graphprover batch`, in ten lines of Python.

    python scripts/prove_batch.py guest.elf inputs/*.bin --executor processes --folder proofs

Each proof is written as soon as it is done. A second run keeps existing valid proofs.
"""

import argparse
from pathlib import Path

import checkout  # noqa: F401 (finds the package)
from graphprover import Prover, prove_many


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guest", metavar="GUEST.ELF")
    parser.add_argument("inputs", type=Path, nargs="+", metavar="INPUT")
    parser.add_argument("--executor", default="threads", help="threads, sync, processes, cuda, tcp://… or FILE.json")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--security", type=float, default=128)
    parser.add_argument("--folder", type=Path, default=Path("proofs"))
    options = parser.parse_args()

    options.folder.mkdir(parents=True, exist_ok=True)
    prover = Prover(options.guest, security=options.security)
    files = {path: options.folder / f"{path.name}.bin" for path in options.inputs}
    jobs = {prover.job(path, path.name, existing=file): file for path, file in files.items()}
    for result in prove_many(jobs, options.executor, options.device):
        if result.proof and not result.kept:
            result.proof.save(jobs[result.job])
        spent = "kept" if result.kept else f"{sum(result.seconds.values()):.2f} s"
        print(f"{result.job.label}: {result.error or spent}", flush=True)


if __name__ == "__main__":
    main()
