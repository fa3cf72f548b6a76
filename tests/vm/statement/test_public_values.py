"""The public values of a guest's proof, value by value as in docs/protocol.md, section 15."""

import hashlib
import struct
from pathlib import Path

from graphprover.jobs.opening import open_program
from graphprover.protocol.hashing import keccak256
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf

SHA256 = Path(__file__).parents[3] / "examples/guests/sha256.elf"
NAMES = {
    1: "program",
    2: "registers",
    3: "image_memory",
    4: "zero_memory",
    5: "input_memory",
    6: "output_memory",
    7: "zero_memory",
    8: "bump",
    9: "numbers",
    10: "sparse_range",
    11: "powers",
    14: "stated_input",
    15: "zero_memory",
    4096: "common",
    4097: "rare",
}


def test_public_values_and_label_are_those_of_the_page() -> None:
    image = load_elf(SHA256.read_bytes())
    program_hash = keccak256(
        struct.pack("<QQQQ", image.entry, image.code_base, image.zero_base, len(image.code))
        + struct.pack(f"<{len(image.code)}I", *image.code.tolist())
        + struct.pack("<Q", len(image.addresses))
        + struct.pack(f"<{len(image.addresses)}Q", *image.addresses.tolist())
        + struct.pack(f"<{len(image.values)}Q", *image.values.tolist())
    )
    for stated in (False, True):
        guest = open_program(str(SHA256))
        run = guest.record(b"abc", random_seed=0 if stated else None)
        statement = guest.statement_about(run, commit_input=stated)
        assert statement.label.endswith(f"sha256.elf {program_hash.hex()}")
        boundary, *others = [tuple(table.public_values or ()) for table in statement.tables]
        numbers = boundary[3:]
        assert boundary[:3] == (execute(image, b"abc").cycles, 0, 0) and len(numbers) == len(others)
        names = [air.name for air in statement.descriptions[1:]]
        assert {
            number: name for number, name in zip(numbers, names, strict=True) if not 16 <= number < 4096
        }.items() <= NAMES.items()
        assert all(number % 16 in (1, 4) for number in numbers if 16 <= number < 4096)
        expected = {6: (32, 0, *struct.unpack("<8I", hashlib.sha256(b"abc").digest()))}
        if stated:
            expected[14] = (3, 0, 0x00636261, 0)
        assert (14 in numbers, 5 in numbers) == (stated, not stated)
        assert others == [expected.get(number, ()) for number in numbers]
