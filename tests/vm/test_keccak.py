"""The kit's Keccak-256 and its host calls: of the machine, from the kit's source, and in C for other programs."""

import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from graphprover.protocol.hashing import keccak256
from graphprover.vm.accelerators.keccak.absorb import RATE_WORDS
from graphprover.vm.accelerators.keccak.permutation import WORDS, rounds
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from tests.vm.kit import GCC, SDK, build

MOST, OFFSETS = 300, 8  # bytes of the messages, and of their addresses
HASHES = f"""
#include "zkvm.h"

int main(void)
{{
    static zkvm_keccak256_hash hashes[{MOST + 1}][{OFFSETS}];
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    for (size_t length = 0; length <= {MOST}; length++)
        for (size_t offset = 0; offset < {OFFSETS}; offset++)
            zkvm_keccak256(input + offset, length, &hashes[length][offset]);
    write_output((const uint8_t *)hashes, sizeof hashes);
    return 0;
}}
"""
ABSORBS = """
#include "zkvm.h"

#include <stdio.h>

int main(void)
{
    uint64_t words[64];

    for (long at; scanf("%ld", &at) == 1;) {
        for (size_t i = 0; i < 64; i++)
            words[i] = (i + 1) * 0x9e3779b97f4a7c15;
        keccak_absorb(words + 17, words + at);
        for (size_t i = 0; i < 25; i++)
            printf("%llu ", (unsigned long long)words[17 + i]);
    }
    return 0;
}
"""

needs_cross = pytest.mark.skipif(not shutil.which(GCC), reason=f"no {GCC}")
needs_host = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")


@needs_cross
def test_hashes_of_all_lengths_and_alignments(tmp_path: Path) -> None:
    """Compile the kit's source, with which a guest leaves the library's object out."""
    source = SDK / "runtime/keccak.c"
    program = build(f'#include "{source}"\n{HASHES}', tmp_path, "gcc", "ld", "-mno-strict-align")
    data = random.Random(6).randbytes(MOST + OFFSETS)
    expected = [keccak256(data[at : at + size]) for size in range(MOST + 1) for at in range(OFFSETS)]
    assert execute(load_elf(program.read_bytes()), data).output == b"".join(expected)


@needs_host
def test_the_call_in_c_absorbs_blocks_that_overlap(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(ABSORBS)
    sanitize = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover", f"-I{SDK / 'include'}")
    command = ["gcc", *sanitize, "main.c", str(SDK / "host/keccak.c"), "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    places = range(47)
    found = subprocess.run([tmp_path / "main"], input=" ".join(map(str, places)), capture_output=True, text=True)
    words = np.arange(1, 65, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    states = np.tile(words[17 : 17 + WORDS, None], len(places))
    states[:RATE_WORDS] ^= np.stack([words[at : at + RATE_WORDS] for at in places], axis=1)
    assert list(map(int, found.stdout.split())) == rounds(states)[-1].T.ravel().tolist()
