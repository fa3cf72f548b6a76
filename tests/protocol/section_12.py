"""A reader of the files of docs/protocol.md, section 12, from the page alone.

It names every byte: docs/annotated_proof.md is made from these names.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.protocol.section_2 import derived, folds, rounds

HASHES = ("keccak", "blake3")
PARAMETERS = (
    "log_blowup", "num_queries", "log_final_poly_len", "max_log_arity", "cap_height",
    "lookup_pow_bits", "ood_pow_bits", "batch_pow_bits", "commit_pow_bits", "query_pow_bits",
)  # fmt: skip
Element = tuple[int, int, int]


@dataclass(frozen=True)
class Item:
    """Some bytes of a file."""

    offset: int
    length: int
    meaning: str
    section: str  # heading of the part that it is in


@dataclass
class Reader:
    """The bytes of a file, of which each is read once."""

    data: bytes
    position: int = 0
    section: str = ""
    items: list[Item] = field(default_factory=list)

    def take(self, length: int, meaning: str) -> bytes:
        taken = self.data[self.position : self.position + length]
        assert len(taken) == length, meaning
        self.items.append(Item(self.position, length, meaning, self.section))
        self.position += length
        return taken

    def integer(self, length: int, meaning: str, says: Callable[[int], str] = str) -> int:
        value = int.from_bytes(self.data[self.position : self.position + length], "little")
        self.take(length, f"{meaning}: {says(value)}")
        return value

    def length(self, expected: int, meaning: str) -> int:
        """Read a varint."""
        size = 1
        while self.data[self.position + size - 1] >= 128:
            size += 1
        value = sum((byte & 127) << 7 * i for i, byte in enumerate(self.data[self.position : self.position + size]))
        assert expected in (value, -1), meaning
        self.take(size, f"{meaning}: {value}")
        return value

    def option(self, present: bool, meaning: str) -> bool:
        flag = self.take(1, f"{meaning}: {'present' if present else 'absent'}")
        assert flag == bytes([present])
        return present

    def elements(self, count: int, meaning: str) -> list[Element]:
        self.length(count, f"{meaning}, elements")
        return [self.element(meaning) for _ in range(count)]

    def element(self, meaning: str) -> Element:
        return struct.unpack("<3Q", self.take(24, meaning))  # type: ignore[return-value]

    def digests(self, count: int, meaning: str) -> list[bytes]:
        count = self.length(count, f"{meaning}, digests")
        return [self.take(32, meaning) for _ in range(count)]


def header(reader: Reader) -> dict[str, Any]:
    """Return label, parameters, heights and public values of a file; the payload follows."""
    reader.section = "Header"
    reader.take(18, "`graphprover proof` and the version of the format")
    reader.take(reader.integer(1, "length of the release"), "the release of Plonky3")
    label = reader.take(reader.integer(1, "length of the label"), "the label").decode()
    parameters: dict[str, Any] = {"hash": HASHES[reader.integer(2, "hash", lambda code: f"{code}, {HASHES[code]}")]}
    parameters |= {name: reader.integer(2, name) for name in PARAMETERS}
    heights, values = [], []
    for table in range(reader.integer(2, "number of tables")):
        heights.append(reader.integer(1, f"h of table {table}", lambda h: f"{h}, {2**h} rows"))
        count = reader.integer(4, f"number of public values of table {table}")
        values.append([reader.integer(8, f"public value {i} of table {table}") for i in range(count)])
    reader.integer(8, "length of the payload")
    return {"label": label, "parameters": parameters, "heights": heights, "values": values}


def payload(reader: Reader, stated: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the payload of a proof of these tables, with `header`'s parameters and heights."""
    parameters = stated["parameters"]
    tables = [derived(table["air"], parameters["log_blowup"]) for table in stated["tables"]]
    matrices, cap_height, queries = rounds(stated), parameters["cap_height"], parameters["num_queries"]
    lookups = "permutation" in matrices

    def cap(name: str) -> list[bytes]:
        log = max(matrix.log_height for matrix in matrices[name]) + parameters["log_blowup"]
        return reader.digests(2 ** min(cap_height, log), f"{name} cap")

    found: dict[str, Any] = {}
    reader.section = "Commitments"
    found["main"] = cap("main")
    found["permutation"] = cap("permutation") if reader.option(lookups, "permutation cap") else None
    found["quotient"] = cap("quotient")
    reader.option(False, "zero-knowledge")
    reader.length(len(tables), "openings, tables")
    found["openings"] = {name: [] for name in matrices}
    for number, of in enumerate(tables):
        reader.section = f"Openings of table {number}"
        opened = {"main": [reader.elements(of.main, "main at ζ")]}
        if reader.option(of.main_next, "main at gζ"):
            opened["main"].append(reader.elements(of.main, "main at gζ"))
        if reader.option(of.preprocessed > 0, "preprocessed at ζ"):
            opened["preprocessed"] = [reader.elements(of.preprocessed, "preprocessed at ζ")]
        if reader.option(of.preprocessed > 0 and of.preprocessed_next, "preprocessed at gζ"):
            opened["preprocessed"].append(reader.elements(of.preprocessed, "preprocessed at gζ"))
        reader.length(2**of.log_chunks, "quotient chunks")
        opened["quotient"] = [reader.elements(3, f"chunk {i} at ζ") for i in range(2**of.log_chunks)]
        reader.option(False, "zero-knowledge")
        width = 3 * (of.lookups + 1) if of.lookups else 0
        opened["permutation"] = [reader.elements(width, f"permutation at {point}") for point in ("ζ", "gζ")]
        for name in found["openings"]:
            found["openings"][name] += opened.get(name, [])  # in the order of section 4
    reader.section = "Folds"
    found["batch_nonce"] = reader.integer(8, "batching nonce")
    arities = folds(stated)
    reader.length(len(arities), "fold caps")
    found["folds"] = [reader.digests(2 ** min(cap_height, log - a), "fold cap") for log, a in arities]
    reader.length(len(arities), "fold nonces")
    found["fold_nonces"] = [reader.integer(8, f"nonce of fold {i}") for i in range(len(arities))]
    reader.length(len(matrices), "rounds")
    for name, of_round in matrices.items():
        reader.section = f"Queries of the {name} round"
        reader.length(queries, "queries")
        for query in range(queries):
            reader.length(len(of_round), f"query {query}, matrices")
            for matrix in of_round:
                reader.length(matrix.width, f"row of table {matrix.table}, elements")
                reader.take(8 * matrix.width, f"query {query}, row of table {matrix.table}")
        reader.digests(-1, "multiproof")
    reader.length(len(arities), "folds")
    for fold, (_, a) in enumerate(arities):
        reader.section = f"Queries of fold {fold}"
        reader.length(queries, "queries")
        for query in range(queries):
            reader.elements(2**a - 1, f"query {query}, siblings")
        reader.digests(-1, "multiproof")
    reader.section = "End"
    found["final"] = reader.elements(2 ** parameters["log_final_poly_len"], "final polynomial")
    found["query_nonce"] = reader.integer(8, "query nonce")
    reader.length(len(tables), "terminals, tables")
    found["terminals"] = [
        reader.element(f"terminal of table {number}")
        for number, of in enumerate(tables)
        if reader.option(of.lookups > 0, f"terminal of table {number}")
    ]
    reader.length(len(tables), "heights, tables")
    for number, table in enumerate(stated["tables"]):
        reader.length(table["log_height"], f"h of table {number}")
    found["lookup_nonce"] = reader.integer(8, "lookup nonce") if reader.option(lookups, "lookup nonce") else None
    found["ood_nonce"] = reader.integer(8, "nonce before ζ")
    if stated.get("shard"):
        reader.length(len(tables), "separated values, tables")
        found["separated"] = [reader.elements(of.main, "main at the separating point") for of in tables]
    assert reader.position == len(reader.data)
    return found


def in_statement(stated: dict[str, Any], of: dict[str, Any]) -> dict[str, Any]:
    """Return the statement with the label, parameters, heights and public values of a header."""
    tables = [
        table | {"log_height": height, "public_values": values}
        for table, height, values in zip(stated["tables"], of["heights"], of["values"], strict=True)
    ]
    return {"label": of["label"], "parameters": of["parameters"], "tables": tables}
