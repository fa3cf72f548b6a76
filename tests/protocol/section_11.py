"""The binding of docs/protocol.md, section 11, computed only from sections 1 to 5 and 11 and a hash.

It reads the output of ``graphprover export``.
"""

import struct
from typing import Any

from tests.hashes import BOTH, digest

P = 2**64 - 2**32 + 1
PARAMETERS = (
    "log_blowup", "num_queries", "log_final_poly_len", "max_log_arity", "cap_height",
    "lookup_pow_bits", "ood_pow_bits", "batch_pow_bits", "commit_pow_bits", "query_pow_bits",
)  # fmt: skip


def binding(stated: dict[str, Any]) -> bytes:
    """Return the binding of a file statement.json (section 11)."""
    parameters, tables = stated["parameters"], stated["tables"]
    preprocessed = [table["preprocessed"] for table in tables if table["preprocessed"]]
    hash = parameters["hash"]
    committed = cap(hash, preprocessed, parameters["log_blowup"], parameters["cap_height"]) if preprocessed else b""
    return binding_over(stated, committed)


def binding_over(stated: dict[str, Any], committed: bytes) -> bytes:
    """Return the binding with these digests of the preprocessed cap."""
    parameters, tables, label = stated["parameters"], stated["tables"], stated["label"].encode()
    hash = parameters["hash"]
    hashed = b"graphprover statement 2" + b"0.8.0" + bytes([len(label)]) + label
    hashed += struct.pack("<11H", BOTH.index(hash), *(parameters[field] for field in PARAMETERS))
    hashed += struct.pack("<I", len(tables))
    for table in tables:
        hashed += digest(hash, canonical(table["air"]))
    return digest(hash, hashed + struct.pack("<I", len(committed)) + committed)


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def canonical(air: dict[str, Any]) -> bytes:
    """Return the canonical bytes of a description (section 2)."""
    found = b"graphprover air 1" + words(air["main_width"], air["preprocessed_width"], air["num_public_values"])
    found += words(len(air["nodes"])) + b"".join(words(*node) for node in air["nodes"])
    found += words(len(air["constraints"]), *air["constraints"])
    found += words(len(air["locals"]))
    for interaction in air["locals"]:
        found += words(0, len(interaction["tuples"])) + b"".join(map(of_tuple, interaction["tuples"]))
    found += words(len(air["globals"]))
    for interaction in air["globals"]:
        name = interaction["bus"].encode()
        found += words(len(name)) + name + words(1) + of_tuple(interaction)
    return found


def of_tuple(of: dict[str, Any]) -> bytes:
    return words(len(of["fields"]), *of["fields"], of["multiplicity"], of["weight"])


def reversed_bits(i: int, bits: int) -> int:
    return sum((i >> bit & 1) << (bits - 1 - bit) for bit in range(bits))


def root(log: int) -> int:
    return pow(7, (P - 1) >> log, P)


def extension(column: list[int], log_blowup: int) -> list[int]:
    """Return the values on 7·K in bit-reversed order, by Lagrange's formula (section 4)."""
    log = len(column).bit_length() - 1
    n, points = len(column), [pow(root(log), i, P) for i in range(len(column))]
    found = []
    for i in range(n << log_blowup):
        y = 7 * pow(root(log + log_blowup), reversed_bits(i, log + log_blowup), P) % P
        vanishing = (pow(y, n, P) - 1) * pow(n, -1, P) % P
        found.append(sum(v * x * vanishing * pow(y - x, -1, P) for v, x in zip(column, points, strict=True)) % P)
    return found


def cap(hash: str, matrices: list[list[list[int]]], log_blowup: int, cap_height: int) -> bytes:
    """Return the digests of the cap over the extensions of these columns (section 5)."""
    rows: dict[int, list[bytes]] = {}
    for columns in matrices:
        extended = [extension(column, log_blowup) for column in columns]
        own = [words(*row) for row in zip(*extended, strict=True)]
        before = rows.get(len(own), [b""] * len(own))
        rows[len(own)] = [a + b for a, b in zip(before, own, strict=True)]
    layer = [digest(hash, row) for row in rows[max(rows)]]
    while len(layer) > 2**cap_height:
        layer = [digest(hash, layer[i] + layer[i + 1]) for i in range(0, len(layer), 2)]
        if len(layer) in rows:
            layer = [digest(hash, node + digest(hash, row)) for node, row in zip(layer, rows[len(layer)], strict=True)]
    return b"".join(layer)
