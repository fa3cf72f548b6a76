"""The intermediate values of a verification, from the documents alone.

It imports nothing from the package, only the modules that follow the pages, and reads machine.json.
"""

import gzip
import json
import struct
from functools import cache
from pathlib import Path
from typing import Any

from tests.hashes import digest
from tests.protocol.section_7 import Shard, challenges, joint_seed, shard_start
from tests.protocol.section_11 import binding_over, canonical, cap
from tests.protocol.section_12 import HASHES, Reader, header, in_statement, payload
from tests.protocol.section_16 import heads
from tests.protocol.security_page import level
from tests.vm.statement import spec_tables
from tests.vm.statement.spec_shape import lanes_of_words

FOLDER = Path(__file__).parent
MACHINE = FOLDER.parents[1] / "docs" / "machine.json.gz"


@cache
def machine() -> dict[int, dict[str, Any]]:
    """Return the descriptions of machine.json by number."""
    tables = json.loads(gzip.decompress(MACHINE.read_bytes()))["tables"]
    return {table["number"]: table["air"] for table in tables}


def values(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the intermediate values of an entry of vectors.json."""
    data = (FOLDER / entry["file"]).read_bytes()
    digests, files = _files(data)
    read = [(reader, header(reader)) for reader in map(Reader, files)]
    stated = _stated(entry, [of for _, of in read])
    hash = stated[0]["parameters"]["hash"]
    found: dict[str, Any] = {"joint_seed": joint_seed(hash, digests).hex()} if digests else {}
    found["shards"] = []
    for index, ((reader, _), own) in enumerate(zip(read, stated, strict=True)):
        committed = _committed(entry, own)
        binding = binding_over(own, committed)
        shard = Shard(digests, index) if digests else None
        head = {
            "descriptions": [digest(hash, canonical(table["air"])).hex() for table in own["tables"]],
            "preprocessed_cap": committed.hex(),
            "binding": binding.hex(),
            "start": (shard_start(hash, shard, binding) if shard else binding).hex(),
        }
        found["shards"].append(head | challenges(own, payload(reader, own), binding, committed, shard))
    rounds = level(stated)
    found["security"] = {radius: {name: round(bits, 6) for name, bits in of.items()} for radius, of in rounds.items()}
    return found | ({"guest": _facts(entry)} if "key" in entry else {})


def _files(data: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the digests of a sharded proof, and the file of each shard (sections 12 and 16)."""
    magic = b"graphprover pieces\x02"
    if not data.startswith(magic):
        return [], [data]
    (count,) = struct.unpack_from("<I", data, len(magic))
    at = len(magic) + 4
    digests = [data[at + 32 * i : at + 32 * i + 32] for i in range(count)]
    at, files = at + 32 * count, []
    for _ in range(count):
        (size,) = struct.unpack_from("<Q", data, at)
        files.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    assert at == len(data)
    return digests, files


def _stated(entry: dict[str, Any], headers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the statement of each shard, with the values of its header."""
    if "key" in entry:
        (of,) = headers
        return [in_statement({"tables": [{"air": air} for air in _guest_airs(entry, of["values"])]}, of)]
    tables = json.loads((FOLDER / entry["statement"]).read_text())["tables"]
    if len(headers) == 1:
        return [in_statement({"tables": tables}, headers[0])]
    shares = [[tables[number] for number in of["values"][0]] for of in headers]
    of_heads = heads([[table["air"] for table in share] for share in shares])
    own = [[{"air": head, "preprocessed": None}, *share] for head, share in zip(of_heads, shares, strict=True)]
    return [in_statement({"tables": share}, of) | {"shard": True} for share, of in zip(own, headers, strict=True)]


def _key(entry: dict[str, Any]) -> tuple[bytes, int, int, dict[tuple[str, int], bytes]]:
    """Return the program's hash, the entry, `zero_base`, and the commitments of whole statements by hash and rate."""
    data = (FOLDER / entry["key"]).read_bytes()
    own, first, zero_base, _, _, program = struct.unpack_from("<32sQQBB32s", data, 16)
    of_machine = json.loads(gzip.decompress(MACHINE.read_bytes()))
    assert data[:16] == b"graphprover key\x05" and own == spec_tables.digest(of_machine)
    kinds = [data[at : at + 98] for at in range(98, len(data), 98)]
    # With table 9, or without it: the second commitment is for statements with table 10.
    return program, first, zero_base, {(HASHES[kind[0]], kind[1]): kind[2:66] for kind in kinds}


def _guest_airs(entry: dict[str, Any], public: list[list[int]]) -> list[dict[str, Any]]:
    _, first, zero_base, _ = _key(entry)
    numbers = public[0][3:]
    words = {number: len(of) // 2 for number, of in zip(numbers, public[1:], strict=True)}
    w, v = words.get(6, 0), words.get(14, 0)
    airs = [spec_tables.boundary(first, len(numbers))]
    regions = {4: (zero_base, 2**31), 7: (3 * 2**30 + 8 * max(w, 1), 2**32), 15: (2**31 + 8 * v, 3 * 2**30)}
    for number in numbers:
        if number in regions:
            airs.append(spec_tables.zero_memory(*regions[number]))
        elif number in (6, 14):
            airs.append(spec_tables.public_words(number, words[number], lanes_of_words(number, w, v)))
        else:
            airs.append(machine()[number])
    return airs


def _committed(entry: dict[str, Any], stated: dict[str, Any]) -> bytes:
    """Return the digests of the preprocessed cap."""
    parameters = stated["parameters"]
    if "key" in entry:
        both = _key(entry)[3][parameters["hash"], parameters["log_blowup"]]
        return both[32:] if 10 in stated["tables"][0]["public_values"][3:] else both[:32]
    columns = [table["preprocessed"] for table in stated["tables"] if table["preprocessed"]]
    size = parameters["cap_height"]
    return cap(parameters["hash"], columns, parameters["log_blowup"], size) if columns else b""


def _facts(entry: dict[str, Any]) -> dict[str, str]:
    key = (FOLDER / entry["key"]).read_bytes()
    return {"program_hash": _key(entry)[0].hex(), "key_hash": digest("keccak", key).hex()}
