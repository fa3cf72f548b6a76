"""SHA-256 of the kit: in C for this computer, and as a guest on the machine's compression, against hashlib."""

import ctypes
import hashlib
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from graphprover.vm.accelerators.sha256.table import SHA256
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import Image, load_elf
from tests.vm.kit import GCC, SDK, TARGET
from tests.vm.sha256 import START, compress

SIZES = (*range(20), *range(50, 75), 111, 112, 119, 120, 127, 128, 129, 1000)
# Messages of the vectors by NIST (FIPS 180-4 examples, SHAVS), and their digests.
NIST = {
    b"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq":
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    b"": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    b"\xd3": "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1",
    b"a" * 1000: "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3",
}  # fmt: skip
GUEST = """
#include "zkvm.h"

int main(void)
{
    const uint8_t *input;
    size_t size;
    uint64_t state[4] = {0xBB67AE856A09E667, 0xA54FF53A3C6EF372, 0x9B05688C510E527F, 0x5BE0CD191F83D9AB};
    uint64_t block[8] = {0};

    read_input(&input, &size);
    zkvm_sha256_hash hash;
    zkvm_sha256(input + input[0], size - input[0], &hash);
    write_output(hash.data, sizeof hash.data);
    zkvm_sha256(hash.data, sizeof hash.data, &hash);
    write_output(hash.data, sizeof hash.data);
    sha256_compress(state, block);
    write_output((const uint8_t *)state, sizeof state);
    return 0;
}
"""


def given(data: bytes, offset: int = 8) -> bytes:
    """Return the guest's input for a message at an offset from a multiple of 8."""
    return bytes([offset]).ljust(offset, b"x") + data


def expected(data: bytes) -> bytes:
    """Return the guest's output."""
    once = hashlib.sha256(data).digest()
    return once + hashlib.sha256(once).digest() + struct.pack("<8I", *compress(START, bytes(64)))


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Image:
    if not shutil.which(GCC):
        pytest.skip(f"no {GCC}")
    folder = tmp_path_factory.mktemp("sha256")
    (folder / "main.c").write_text(GUEST)
    flags = (*TARGET, "-ffreestanding", "-O2", "-mtune=size", "-mno-strict-align", "-Wall", "-Wextra", "-Werror")
    linked = ("-nostdlib", "-static", "-T", SDK / "zkvm.ld", f"-L{SDK}", "-lzkvm", "-o", folder / "main.elf")
    sources = (folder / "main.c", SDK / "runtime/sha256.c")
    subprocess.run([GCC, *flags, f"-I{SDK / 'include'}", *sources, *linked], check=True)
    return load_elf((folder / "main.elf").read_bytes())


def test_nist_vectors(guest: Image) -> None:
    for message, digest in NIST.items():
        assert execute(guest, given(message)).output[:32].hex() == digest


@pytest.mark.parametrize("offset", [1, 4, 7, 8])
def test_messages_on_the_machine(guest: Image, offset: int) -> None:
    for size in SIZES:
        data = random.Random(size).randbytes(size)
        assert execute(guest, given(data, offset)).output == expected(data)


def test_calls_and_cycles_of_a_message(guest: Image) -> None:
    """Call the machine once for each block, in place if the message is aligned."""
    for offset, most in ((8, 6), (1, 22)):
        less, more = (execute(guest, given(bytes(64 * blocks), offset)).cycles for blocks in (100, 101))
        assert more - less <= most


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_messages_on_this_computer(tmp_path: Path) -> None:
    flags = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=undefined")
    command = ["gcc", *flags, "-fsanitize-undefined-trap-on-error", "-shared", "-fPIC", f"-I{SDK / 'include'}"]
    subprocess.run([*command, SDK / "host/sha256.c", "-o", tmp_path / "library.so"], check=True)
    library = ctypes.CDLL(str(tmp_path / "library.so"))
    for size in SIZES:
        data = random.Random(size).randbytes(size)
        result = (ctypes.c_uint64 * 4)()
        assert library.zkvm_sha256(data, ctypes.c_size_t(size), result) == 0
        assert bytes(result) == hashlib.sha256(data).digest()
        if size >= 64:
            state = (ctypes.c_uint32 * 8)(*START)
            block = (ctypes.c_uint64 * 8).from_buffer_copy(data[:64])
            library.sha256_compress(state, block)
            assert list(state) == compress(START, data[:64])


def test_the_number_of_the_call() -> None:
    assert f"#define SHA256 {SHA256}\n" in (SDK / "runtime/sha256.c").read_text()
