"""The CPU's kernels that proofs of guests need whatever their device: the interpreter's, and the verifier's.

Where nothing was compiled before, processes of their own compile them, side by side. Most of Numba's compiler is
Python, so that in the process itself it would share Python's lock with the threads that compile for a GPU.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from graphprover.kernels.cpu import fri, products
from graphprover.kernels.cpu.hashes import KERNELS
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.runtime.compiling import waiting
from graphprover.runtime.numba_cache import is_compiled
from graphprover.vm.executor import interpreter
from graphprover.vm.executor.execute import prepare

_LOG_WORDS = 5  # of what the verifier's kernels are tried on


@dataclass(frozen=True)
class KernelSet:
    """Kernels that one process compiles."""

    load: Callable[[], object]  # calls each of them, which compiles what is not kept
    last: Any  # the kernel that it calls last


def load_interpreter() -> None:
    """Load what runs guests."""
    prepare(record=True)


def _load_verifier() -> None:
    words = np.zeros((3, 1 << _LOG_WORDS), dtype=np.uint64)
    fri.final_polynomial(words, _LOG_WORDS)
    KERNELS[DEFAULT_HASH].hash_messages([words], np.empty((3, DIGEST_WORDS), dtype=np.uint64))
    products.multiply(words[0], words[1])
    products.ext_multiply(words, words)
    products.ext_inverse(words + np.uint64(1), words, 0, words.shape[1])
    group, folded = np.zeros((3, 1, 2), dtype=np.uint64), np.empty((3, 1), dtype=np.uint64)
    products.fold_groups(group, words[0], words[0], words[0], np.uint64(1), folded)
    places = np.zeros(1, dtype=np.intp)
    products.evaluate(places, places, places, words, 1)
    products.dot(words, words, np.empty((3, 3), dtype=np.uint64))


PARTS = MappingProxyType(
    {"interpreter": KernelSet(load_interpreter, interpreter.run), "verifier": KernelSet(_load_verifier, products.dot)}
)


def compile_missing() -> None:
    """Has what was never compiled here compiled and kept; what another process fails at is left to who needs it."""
    missing = [name for name, part in PARTS.items() if not is_compiled(part.last)]
    if not missing:
        return
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command, silent = [sys.executable, "-m", __name__], subprocess.DEVNULL  # this process will meet with the same
    processes = [subprocess.Popen([*command, name], env=environment, stdout=silent, stderr=silent) for name in missing]
    try:
        with waiting():
            for process in processes:
                process.wait()
    finally:
        for process in processes:
            process.kill()


if __name__ == "__main__":
    PARTS[sys.argv[1]].load()
