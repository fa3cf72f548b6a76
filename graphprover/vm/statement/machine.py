"""The descriptions of all tables of the machine: their digest, and the file machine.json for other verifiers.

docs/machine.md specifies both.
"""

import json
import struct
from collections.abc import Iterator

from graphprover.air.description import AirDescription
from graphprover.protocol.hashing import keccak256
from graphprover.vm.statement.key import Key
from graphprover.vm.statement.table_numbers import BOUNDARY, CHIP_TABLES, TableNumber
from graphprover.vm.statement.version import MACHINE_VERSION, SHAPES_VERSION

# Tables that depend on the program or on public words are described for these.
ENTRY, ZERO_BASE = 0, 8
TABLES, OUTPUT_WORDS, INPUT_WORDS = 2, 32, 33


def descriptions() -> Iterator[tuple[int, AirDescription]]:
    """Yield the number and the description of every table, in the order of the digest."""
    program = Key(ENTRY, ZERO_BASE, 6, 6, bytes(32), {})
    for number in (BOUNDARY, *TableNumber, *CHIP_TABLES):
        yield number, program.air(number, TABLES, OUTPUT_WORDS, INPUT_WORDS).describe()


def machine_digest() -> bytes:
    """Return the digest of the machine: Keccak-256 of its versions and of every table's number and description.

    A version is 8 bytes, a number is 8 bytes, and so is the length of a description's canonical bytes.
    """
    parts = [b"graphprover machine", struct.pack("<QQ", MACHINE_VERSION, SHAPES_VERSION)]
    for number, air in descriptions():
        parts += [struct.pack("<QQ", number, len(air.canonical_bytes)), air.canonical_bytes]
    return keccak256(b"".join(parts))


def machine_json() -> str:
    """Return the text of machine.json, with a table on each line."""
    described_for = {
        "entry": ENTRY,
        "zero_base": ZERO_BASE,
        "tables": TABLES,
        "output_words": OUTPUT_WORDS,
        "input_words": INPUT_WORDS,
    }
    encoded = (_compact({"number": number, "air": air.to_json()}) for number, air in descriptions())
    lines = ",\n".join(encoded)
    head = f'"version":{MACHINE_VERSION},"shapes_version":{SHAPES_VERSION},"described_for":{_compact(described_for)}'
    return f'{{{head},"tables":[\n{lines}\n]}}\n'


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
