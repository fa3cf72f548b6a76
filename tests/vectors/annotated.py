"""docs/annotated_proof.md: a small proof with the meaning of each of its bytes."""

from itertools import groupby

from tests.protocol.section_12 import Item, Reader, header, in_statement, payload
from tests.vectors import FOLDER, contents

STATEMENT, FILE = "statements/tiny.json", "proofs/tiny.bin"

HEAD = """# A proof, byte by byte

This is the file [tests/vectors/proofs/tiny.bin](../tests/vectors/proofs/tiny.bin), a proof of the statement
[tests/vectors/statements/tiny.json](../tests/vectors/statements/tiny.json): a table of two rows, each with a number and
its square, of which the second number is one more than the first. The bytes are in hexadecimal digits;
`python -m tests.vectors.make` writes this page. [Section 12 of the protocol](protocol.md#12-files) defines the fields.
"""


def page() -> str:
    """Return the text of the page."""
    data = (FOLDER / FILE).read_bytes()
    reader = Reader(data)
    of = header(reader)
    payload(reader, in_statement(contents(STATEMENT), of))
    parts = [HEAD]
    for section, items in groupby(reader.items, key=lambda item: item.section):
        rows = [_row(item, data) for item in items]
        parts.append(f"\n## {section}\n\n| offset | bytes | | meaning |\n|---|---|---|---|\n{''.join(rows)}")
    return "".join(parts)


def _row(item: Item, data: bytes) -> str:
    shown = data[item.offset : item.offset + item.length].hex()
    return f"| {item.offset} | {item.length} | `{shown}` | {item.meaning} |\n"
