"""Files that verifiers must refuse, each by one rule of docs/refusals.md."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from graphprover import CompressedProof, compress, prove
from graphprover.field import P
from graphprover.graphs.rounds import opening
from graphprover.proof.compressed import Accepted, AnyProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import SHARD_MAGIC, ShardedProof
from graphprover.protocol.joint import Joint
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.proof import BatchProof, decode, encode, least_bytes
from graphprover.runtime.files import COMPRESSED_MAGIC, SHARDS_MAGIC
from graphprover.statement.shards import shards_of
from graphprover.statement.statement import Statement, Table
from graphprover.vm.executor.execute import execute
from graphprover.vm.statement.key import Key
from graphprover.vm.traces.run_statement import statement_of_run
from tests.cheating import NotLowDegree, OtherOpenings, forge, lying_openings
from tests.test_must_fail import PARAMETERS, Digits, numbers, with_cell
from tests.vectors import FOLDER, contents, guest

SMALL = Parameters("keccak", 1, 2, 0, 1, 0, 0, 0, 0, 0, 0)
NUMBERS = {"statement": "statements/numbers.json"}
KEY = {"key": "guests/abc.vk"}
LABEL_AT, PARAMETERS_AT = 24, 25  # offsets in a file with an empty label
HASH, LOG_BLOWUP, TABLES = PARAMETERS_AT, PARAMETERS_AT + 2, PARAMETERS_AT + 22


@dataclass
class Cases:
    """The entries of refused.json, whose files are written as they are added."""

    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, rule: str, comment: str, data: bytes | AnyProof, of: dict[str, Any] = NUMBERS) -> None:
        """Add a file."""
        name = f"{self._name(rule)}.bin"
        (FOLDER / name).write_bytes(data if isinstance(data, bytes) else data.to_bytes())
        self.entries.append({"rule": rule, "comment": comment, "file": name} | of)

    def add_files(self, rule: str, comment: str, *files: bytes) -> None:
        """Add the files of some shards."""
        names = [f"{self._name(rule)}.{letter}.bin" for letter in "abc"[: len(files)]]
        for name, data in zip(names, files, strict=True):
            (FOLDER / name).write_bytes(data)
        self.entries.append({"rule": rule, "comment": comment, "files": names} | NUMBERS)

    def add_key(self, rule: str, comment: str, data: bytes, **of: str) -> None:
        """Add a key."""
        name = f"{self._name(rule)}.vk"
        (FOLDER / name).write_bytes(data)
        self.entries.append({"rule": rule, "comment": comment, "key": name} | of)

    def _name(self, rule: str) -> str:
        return f"refused/{rule}.{sum(entry['rule'] == rule for entry in self.entries)}"


def write() -> list[dict[str, Any]]:
    """Write the files, and return their entries."""
    cases = Cases()
    statement = numbers()
    proof = prove(statement, "sync", parameters=SMALL)
    files(cases, proof)
    headers(cases, proof)
    payloads(cases, proof, statement)
    openings(cases, proof, statement)
    shards(cases, statement)
    compressed(cases, proof)
    guests(cases)
    return cases.entries


def files(cases: Cases, proof: Proof) -> None:
    data = proof.to_bytes()
    cases.add("proof.magic", "the first byte is another", b"h" + data[1:])
    cases.add("proof.truncated", "an empty file", b"")
    cases.add("proof.truncated", "the last byte is missing", data[:-1])
    cases.add("proof.release", "release 0.8.1", data.replace(b"0.8.0", b"0.8.1", 1))
    cases.add("proof.label", "a byte 255", data[:LABEL_AT] + b"\x01\xff" + data[LABEL_AT + 1 :])
    cases.add("proof.hash", "hash 2", patched(data, HASH, struct.pack("<H", 2)))
    cases.add("proof.parameters", "log_blowup 0", patched(data, LOG_BLOWUP, bytes(2)))
    cases.add("proof.parameters", "no queries", patched(data, LOG_BLOWUP + 2, bytes(2)))
    cases.add("proof.short", "65535 tables", patched(data, TABLES, b"\xff\xff"))
    value = struct.pack("<Q", proof.public_values[1][0])
    cases.add("proof.value", "the public value is p", data.replace(value, struct.pack("<Q", P), 1))
    cases.add("proof.trailing", "a byte 0 follows", data + b"\0")


def headers(cases: Cases, proof: Proof) -> None:
    def with_statement(name: str, tables: Sequence[Any]) -> dict[str, str]:
        from tests.vectors.make import write_json

        write_json(f"statements/{name}.json", {"tables": tables})
        return {"statement": f"statements/{name}.json"}

    digits, own = contents("statements/numbers.json")["tables"]
    (value,) = proof.public_values[1]
    cases.add("statement.tables", "the statement has one table", proof, with_statement("digits", [digits]))
    cases.add("statement.value_count", "two values instead of one", replace(proof, public_values=((), (value, 0))))
    cases.add("statement.values", "another sum", replace(proof, public_values=((), (value + 1,))))
    cases.add("statement.height", "8 rows, but 4 preprocessed ones", replace(proof, log_heights=(3, 3)))
    cases.add("layout.height", "2^32 rows", replace(proof, log_heights=(2, 32)))
    final = replace(SMALL, log_final_poly_len=2)
    cases.add("layout.final_polynomial", "4 coefficients, a table of 4 rows", replace(proof, parameters=final))
    cap = replace(SMALL, cap_height=4)
    cases.add("layout.cap", "a cap of 16 digests, extensions of 8 and 16 rows", replace(proof, parameters=cap))
    wider = digits["air"] | {"globals": [one | {"fields": one["fields"] * 2} for one in digits["air"]["globals"]]}
    of_buses = with_statement("buses", [digits | {"air": wider}, own])
    cases.add("layout.buses", "tuples of one and of two fields", proof, of_buses)
    heavy = {"fields": [0], "multiplicity": 0, "weight": 2**32 - 1}

    def of_locals(name: str, *tuples: int) -> dict[str, str]:
        lookups = [{"tuples": [heavy] * count} for count in tuples]
        return with_statement(name, [digits, own | {"air": own["air"] | {"locals": lookups}}])

    cases.add("layout.weights", "a local lookup of two tuples of weight 2^32 - 1", proof, of_locals("weights", 2))
    tall = replace(proof, log_heights=(2, 31))
    cases.add("layout.counts", "three lookups of weight 2^32 - 1 in 2^31 rows", tall, of_locals("counts", 1, 1, 1))
    cases.add("security.level", "2 queries, 128 bits requested", proof, NUMBERS | {"bits": 128})


def payloads(cases: Cases, proof: Proof, statement: Statement) -> None:
    def add(rule: str, comment: str, payload: bytes) -> None:
        cases.add(rule, comment, replace(proof, payload=payload))

    payload, batch = proof.payload, batch_of(proof, statement)
    add("payload.truncated", "the last byte is missing", payload[:-1])
    add("payload.varint", "the first length in two bytes", b"\x81\x00" + payload[1:])
    add("payload.varint", "the first length in eleven bytes", b"\x80" * 10 + b"\x01" + payload[1:])
    add("payload.length", "a cap of two digests", b"\x02" + payload[1:])
    add("payload.option", "no permutation cap", patched(payload, 33, b"\x00"))
    add("payload.option", "a byte 2", patched(payload, 33, b"\x02"))
    add("payload.word", "the nonce before ζ is p", payload[:-8] + struct.pack("<Q", P))
    add("payload.heights", "other heights than in the header", encode(replace(batch, log_heights=(3, 3))))
    add("payload.trailing", "a byte 0 follows", payload + b"\0")


def openings(cases: Cases, proof: Proof, statement: Statement) -> None:
    def add(rule: str, comment: str, of: Proof = proof, **changed: Any) -> None:
        payload = encode(replace(batch_of(of, statement), **changed)) if changed else of.payload
        cases.add(rule, comment, replace(of, payload=payload))

    ground = prove(statement, "sync", parameters=PARAMETERS)
    nonce = batch_of(ground, statement).zeta_nonce
    add("transcript.work", "the nonce before ζ is one more", ground, zeta_nonce=nonce + 1)
    add("transcript.work", "a nonce of 1 for 0 bits", zeta_nonce=1)
    other = forge(with_cell(statement, 1, 2, 3), PARAMETERS)
    add("constraints.identity", "a trace with one other total", other)
    add("lookups.balance", "a trace with one other count", forge(with_cell(statement, 0, 0, 1), PARAMETERS))
    batch = batch_of(proof, statement)
    main, *others = batch.round_queries
    shorter = replace(main, path=main.path[:-32])
    add("merkle.length", "a digest less in the main round", round_queries=(shorter, *others))
    longer = replace(main, path=main.path + bytes(32))
    add("merkle.length", "a digest more in the main round", round_queries=(longer, *others))
    row = replace(main, rows=patched(main.rows, 0, bytes([main.rows[0] ^ 1])))
    add("merkle.cap", "another word in the main round", round_queries=(row, *others))
    fold, *folds = batch.fold_queries
    changed = replace(fold, siblings=patched(fold.siblings, 0, bytes([fold.siblings[0] ^ 1])))
    add("merkle.cap", "another sibling in the first fold", fold_queries=(changed, *folds))
    many = prove(statement, "sync", parameters=replace(SMALL, num_queries=17))  # of 16 rows: two are the same
    (main, *others) = batch_of(many, statement).round_queries
    size = len(main.rows) // 17
    rows = [main.rows[at : at + size] for at in range(0, len(main.rows), size)]
    last = next(i for i in range(16, 0, -1) if rows[i] in rows[:i])
    rows[last] = bytes([rows[last][0] ^ 1]) + rows[last][1:]
    again = replace(main, rows=b"".join(rows))
    add("merkle.rows", "one of two rows at one leaf is another", many, round_queries=(again, *others))
    squares(cases)
    one_row(cases)


def squares(cases: Cases) -> None:
    """Open the quotient of a false trace at values that satisfy the constraints."""
    from tests.vectors.make import OF_TINY, TINY

    false = Statement(with_cell(TINY, 0, 1, 1).tables, TINY.label)
    with patch.object(opening, "openings", lying_openings):
        proof = forge(false, replace(OF_TINY, num_queries=8), OtherOpenings())
    of = {"statement": "statements/tiny.json"}
    cases.add("fri.final", "an opening that is no value of the quotient", proof, of)


def one_row(cases: Cases) -> None:
    from tests.vectors.make import One, stated, write_json

    statement = Statement([Table(One(), (), One.trace)])
    write_json("statements/one.json", stated(statement))
    of = {"statement": "statements/one.json"}
    cases.add("codeword.one_row", "a column that is not constant", forge(statement, SMALL, NotLowDegree(1)), of)


def shards(cases: Cases, statement: Statement) -> None:
    sharded = shards_of(statement, [[0], [1]])
    proof = prove(sharded, "sync", parameters=SMALL)
    assert isinstance(proof, ShardedProof)
    data, (first, second) = proof.to_bytes(), proof.proofs
    at = len(SHARDS_MAGIC)
    cases.add("shards.missing", "the file of shard 0", proof.shards[0].to_bytes())
    cases.add("shards.truncated", "the last byte is missing", data[:-1])
    cases.add("shards.trailing", "a byte 0 follows", data + b"\0")
    cases.add("shards.count", "one shard", patched(data, at, struct.pack("<I", 1)))
    more = replace(second, parameters=replace(SMALL, num_queries=3))
    cases.add("shards.parameters", "more queries in shard 1", joined(proof, first, more))
    cases.add("shards.label", "a label in shard 1", joined(proof, first, replace(second, label="x")))
    twice = replace(second, public_values=((0,), *second.public_values[1:]))
    cases.add("shards.tables", "table 0 in both shards", joined(proof, first, twice))
    given = zip(proof.proofs, sharded.statements, strict=True)
    one, two = (batch_of(of, own, shard=True) for of, own in given)
    nonce = replace(second, payload=encode(replace(two, lookup_nonce=1)))
    cases.add("shards.nonce", "another nonce in shard 1", joined(proof, first, nonce))
    damaged = replace(first, payload=encode(replace(one, main_cap=(bytes(32),))))
    cases.add("shards.digest", "another main cap in shard 0", joined(proof, damaged, second))
    values = one.openings[1].main_separated
    assert values is not None
    other = replace(one.openings[1], main_separated=bytes([values[0] ^ 1]) + values[1:])
    opened = replace(first, payload=encode(replace(one, openings=(one.openings[0], other))))
    cases.add("shards.digest", "another separated value in shard 0", joined(proof, opened, second))
    without = [replace(table, main_separated=None) for table in one.openings]
    cut = replace(first, payload=encode(replace(one, openings=tuple(without))))
    cases.add("payload.truncated", "no separated values in shard 0", joined(proof, cut, second))
    one_file, two_file = (own.to_bytes() for own in proof.shards)
    cases.add_files("shard.magic", "another first byte of the file of shard 0", b"h" + one_file[1:], two_file)
    index = len(SHARD_MAGIC) + 4
    cases.add_files("shards.index", "shard 2 of 2", one_file, patched(two_file, index, struct.pack("<I", 2)))
    cases.add_files("shards.twice", "shard 0 twice", one_file, one_file)
    foreign = patched(two_file, index + 4, bytes(32))
    cases.add_files("shards.foreign", "another digest of shard 0 in the file of shard 1", one_file, foreign)
    swapped = bytes(data[: at + 4] + data[at + 36 : at + 68] + data[at + 4 : at + 36] + data[at + 68 :])
    cases.add("shards.digest", "the digests in another order", swapped)


def joined(proof: ShardedProof, *shards: Proof) -> bytes:
    """Return the file of a sharded proof with these shards, which need not agree."""
    parts = [SHARDS_MAGIC, struct.pack("<I", len(shards)), *proof.joint.digests]
    return b"".join([*parts, *(struct.pack("<Q", own.size) + own.to_bytes() for own in shards)])


def compressed(cases: Cases, proof: Proof) -> None:
    """Damage a compressed proof. Those that are refused while they are parsed need no last layer."""
    from tests.vectors.make import stated, write_json

    statement = rows_of_numbers()
    tables = stated(statement)["tables"]
    write_json("statements/rows.json", {"tables": [own | {"public_values": None} for own in tables]})
    own = Parameters("blake3", 1, 4, 3, 3, 0, 0, 0, 0, 0, 0)
    honest = compress(prove(statement, "sync", parameters=own), statement, security=1, rate=64, pow_bits=0)
    (base,) = honest.children
    of, layer = {"statement": "statements/rows.json"}, honest.layer
    parsed = COMPRESSED_MAGIC + b"\1"

    def header(of: Proof) -> bytes:
        return struct.pack("<I", of.size) + of.to_bytes()

    def shard(count: int, index: int, total: int = 0) -> bytes:
        return header(base.header) + b"\xff" + struct.pack("<II32sQ3Q", count, index, bytes(32), 0, total, 0, 0)

    def add(rule: str, comment: str, data: bytes | CompressedProof) -> None:
        cases.add(rule, comment, data, of)

    add("compressed.truncated", "it ends inside a header", parsed + header(base.header)[:-1])
    add("compressed.layers", "a last layer about no proof", COMPRESSED_MAGIC + b"\0")
    add("compressed.layers", "a last layer about 26 proofs", COMPRESSED_MAGIC + b"\x1a" + header(base.header) + b"\0")
    add("compressed.layers", "17 layers", parsed + (header(base.header) + b"\1") * 17)
    add("compressed.payload", "a header with a payload", parsed + header(proof) + b"\0")
    add("compressed.shards", "a sum of p", parsed + shard(2, 0, P))
    add("shards.count", "shard 0 of 2^32 - 1", parsed + shard(2**32 - 1, 0))
    add("shards.index", "shard 2 of 2", parsed + shard(2, 2))
    short = replace(layer, payload=bytes(least_bytes(3, 0, layer.parameters)))
    both = COMPRESSED_MAGIC + b"\2" + shard(2, 1) + shard(2, 0)
    add("compressed.shards", "shards in another order", both + short.to_bytes())
    keccak = replace(base.header, parameters=replace(own, hash="keccak"))
    add("compressed.layout", "a base by Keccak-256", CompressedProof((Accepted(keccak),), layer))
    other = replace(layer.without_payload(), parameters=replace(layer.parameters, hash="keccak"))
    add("compressed.commitment", "a layer by Keccak-256", CompressedProof((Accepted(other, (base,)),), layer))
    changed = replace(base.header, public_values=((), (base.header.public_values[1][0] + 1,)))
    add("statement.values", "another public value of the base", CompressedProof((Accepted(changed),), layer))


def rows_of_numbers() -> Statement:
    """Return the statement of `numbers` with 16 rows in each table, as compression needs."""
    low, high = np.arange(16) % 4, np.arange(16) // 4
    total = np.cumsum(low + 4 * high)
    _, summed = numbers().tables
    columns = np.stack([low, high, total]).astype(np.uint64)
    count = np.zeros((1, 16), dtype=np.uint64)
    count[0, :4] = 8
    return Statement([Table(Digits(tuple(range(16))), (), count), Table(summed.air, (int(total[-1]),), columns)])


Listed = tuple[int, int, tuple[int, ...]]  # number of a table, log2 of its rows, public values


@dataclass(frozen=True)
class Header:
    """The header of a guest's proof in one shard, without a payload."""

    proof: Proof
    numbers: tuple[int, ...]  # of the tables behind the boundary

    def changed(
        self,
        tables: dict[int, tuple[int, tuple[int, ...]] | None] | None = None,
        cycles: int | None = None,
        columns: int = 0,
    ) -> Proof:
        """Return a proof with other tables: by number, log2 of the rows and public values, or None for no table.

        The payload is zeros, as long as ``columns`` require.
        """
        values = self.proof.public_values[1:]
        own = dict(zip(self.numbers, zip(self.proof.log_heights[1:], values, strict=True), strict=True))
        own |= tables or {}
        listed = [(number, *own[number]) for number in sorted(own) if own[number] is not None]
        return self.listed(listed, cycles, columns)

    def listed(
        self,
        tables: Sequence[Listed],
        cycles: int | None = None,
        columns: int = 0,
        rows: int = 6,
    ) -> Proof:
        first, *code = self.proof.public_values[0][:3]
        boundary = (first if cycles is None else cycles, *code, *(number for number, *_ in tables))
        values = (boundary, *(values for _, _, values in tables))
        logs = (rows, *(log for _, log, _ in tables))
        size = least_bytes(len(logs), columns, self.proof.parameters)
        return replace(self.proof, log_heights=logs, public_values=values, payload=bytes(size))


MANY = 500  # columns: more than the tables here have together


def guests(cases: Cases) -> None:
    elf = guest("guests/abc.elf").compiled()
    run = statement_of_run(elf, execute(elf.image, record=True), f"abc {elf.program_hash.hex()}")
    few = Parameters("keccak", 1, 1, 0, 3, 0, 0, 0, 0, 0, 0)
    proof = prove(run, "sync", parameters=few)
    assert isinstance(proof, Proof)
    header = Header(proof, proof.public_values[0][3:])
    own = [*zip(header.numbers, proof.log_heights[1:], proof.public_values[1:], strict=True)]

    def add(rule: str, comment: str, data: bytes | Proof | ShardedProof) -> None:
        cases.add(rule, comment, data, KEY)

    plain = header.changed()
    add("guest.label", "the hash of another program", replace(plain, label=f"abc {'0' * 64}"))
    add("guest.cap", "cap height 1", replace(plain, parameters=replace(few, cap_height=1)))
    boundary, *values = plain.public_values
    add("guest.boundary", "a number less than tables", replace(plain, public_values=(boundary[:-1], *values)))
    large = (boundary[0], 2**32, *boundary[2:])
    add("guest.exit_code", "a value of 2^32", replace(plain, public_values=(large, *values)))
    add("guest.words", "a length of 9 with one word", header.changed({6: (6, (9, 0, 0x636261, 0))}))
    add("guest.words", "a value of 2^32", header.changed({6: (6, (3, 0, 2**32, 0))}))
    stated = {5: None, 14: (6, (1, 0, 0x6261, 0))}
    add("guest.input", "a padding that is not 0", header.changed(stated))
    add("guest.short", "a payload too short for the columns", plain)
    for rule, comment, tables in (
        ("shape.unknown", "number 4101", {4101: (6, ())}),
        ("shape.unknown", "a table of `halt` alone", {16 * 46 + 1: (6, ())}),
        ("shape.missing", "no table 11", {11: None}),
        ("shape.data", "table 3, but no data", {3: (6, ())}),
        ("shape.numbers", "tables 9 and 10", {9: (16, ()), 10: (6, ())}),
        ("shape.exit", "no table 4096", {4096: None}),
        ("shape.input", "tables 5 and 14", {5: (6, ()), 14: (6, (1, 0, 0x61, 0))}),
        ("shape.zero_between", "table 15 without 14", {15: (6, ())}),
        ("shape.keccak", "table 13 without a call", {13: (12, ())}),
        ("shape.lanes", "chip 1 with one lane and two", {17: (6, ()), 18: (6, ())}),
    ):
        add(rule, comment, header.changed(tables))
    add("shape.order", "the last table first", header.listed([own[-1], *own[:-1]]))
    place = header.numbers.index(2)
    add("shape.twice", "table 2 twice", header.listed([*own[:place], own[place], *own[place:]]))
    add("shape.boundary", "a boundary of 128 rows", header.listed(own, columns=MANY, rows=7))
    add("shape.rows", "32 rows in table 4096", header.changed({4096: (5, ())}, columns=MANY))
    add("shape.height", "128 rows in table 2", header.changed({2: (7, ())}, columns=MANY))
    add("shape.sparse_range", "table 10 in 2^17 + 1 cycles", header.changed({9: None, 10: (6, ())}, 2**17 + 1, MANY))
    add("shape.cycles", "100,000 cycles", header.changed(cycles=10**5, columns=MANY))
    common = [table for table in own if table[0] == 4096]
    rest = [table for table in own if table[0] < 4096]
    add("shape.uses", "two tables 4096 of 64 rows", header.listed([*rest, (4096, 6, ()), *common], columns=MANY))
    bumps = [(8, 26, ())] * 8
    full = sorted([table for table in own if table[0] != 8] + bumps, key=lambda table: table[0])
    add("shape.time", "eight tables 8 of 2^26 rows", header.listed(full, columns=MANY))
    sharded_guests(cases, header, own)
    keys(cases, proof)
    rate = prove(run, "sync", parameters=replace(few, log_blowup=2))
    assert isinstance(rate, Proof)
    add("key.commitment", "a proof at rate 1/4, for which the key has no commitment", rate)


def sharded_guests(cases: Cases, header: Header, own: Sequence[Listed]) -> None:
    second = [(1, next(log for number, log, _ in own if number == 1), ()), (9, 16, ()), (11, 6, ()), (4096, 6, ())]
    first = [table for table in own if table[0] != 10]
    if 9 not in header.numbers:
        first = sorted([*first, (9, 16, ())], key=lambda table: table[0])

    def add(
        rule: str,
        comment: str,
        one: Sequence[Listed] = first,
        two: Sequence[Listed] = second,
        head: tuple[int, ...] | None = None,
        rows: int = 6,
    ) -> None:
        whole = header.listed(one)
        numbers = whole.public_values[0][3:]
        shard_0 = replace(
            whole,
            log_heights=(6, *whole.log_heights),
            public_values=((0, *numbers), *whole.public_values),
            payload=bytes(9999),
        )
        named = tuple(number for number, *_ in two) if head is None else head
        shard_1 = replace(
            whole,
            log_heights=(rows, *(log for _, log, _ in two)),
            public_values=(named, *(values for *_, values in two)),
            payload=bytes(9999),
        )
        cases.add(rule, comment, ShardedProof(Joint((bytes(32), bytes(32))), (shard_0, shard_1)), KEY)

    add("guest.head", "the head of shard 1 names one table less", head=(1, 9, 11))
    add("guest.head_rows", "a head of 128 rows", rows=7)
    add("shape.first_shard", "table 2 in shard 1", two=[second[0], (2, 6, ()), *second[1:]])
    add("shape.no_cycle", "no chip in shard 0", one=[table for table in first if table[0] < 16])


def keys(cases: Cases, proof: Proof) -> None:
    data = (FOLDER / KEY["key"]).read_bytes()
    kind = len(data) - 2 * 98
    for rule, comment, changed in (
        ("key.magic", "version 4", patched(data, 15, b"\x04")),
        ("key.magic", "a byte less", data[:-1]),
        ("key.machine", "another digest", patched(data, 16, bytes(32))),
        ("key.rows", "2^27 rows of the program", patched(data, 64, bytes([27]))),
        ("key.rows", "2^5 rows of the program", patched(data, 64, bytes([5]))),
        ("key.rows", "2^0 rows of data", patched(data, 65, bytes([0]))),
        ("key.addresses", "an entry that is not a multiple of 4", patched(data, 48, bytes([data[48] + 1]))),
        ("key.order", "the commitments in another order", data[:kind] + data[kind + 98 :] + data[kind : kind + 98]),
    ):
        name = f"refused/{rule}.{sum(entry['rule'] == rule for entry in cases.entries)}.vk"
        (FOLDER / name).write_bytes(changed)
        Key.from_bytes(data)
        cases.add(rule, comment, proof, {"key": name})
    program = {"program": "guests/abc.elf"}
    cases.add_key("key.program", "another hash of the program", patched(data, 66, bytes(32)), **program)
    cases.add_key("key.other", "another entry", patched(data, 48, bytes([data[48] + 4])), **program)


def batch_of(proof: Proof, statement: Statement, *, shard: bool = False) -> BatchProof:
    layout = make_layout(statement.descriptions, proof.log_heights, proof.parameters, shard=shard)
    return decode(proof.payload, layout)


def patched(data: bytes, at: int, new: bytes) -> bytes:
    """Return the bytes with some of them replaced."""
    return data[:at] + new + data[at + len(new) :]
