"""Plonky3 accepts our proofs of every guest with a thorough input, and refuses another output or exit code."""

import json
import random
import struct
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from graphprover.jobs.opening import open_program
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.parameters import BLAKE3, KECCAK, SMALL
from graphprover.proving.prove import prove
from graphprover.statement.statement import Table, with_traces
from graphprover.verifier.plonky3 import PAYLOAD, STATEMENT, export
from graphprover.vm.statement.table_numbers import TableNumber
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.mutations import flipped
from tests.interop.tables import PLAIN

SHARDS = 3
FLIPS = 20  # of bits of each shard
GUESTS = Path(__file__).parents[2] / "examples/guests"
STATED = "sha256"  # the guest whose proof states its input
JSON = b'{"a": [1, -2.5e3, true, null], "b\\u00e9": {"c": "x\\n"}, "d": [[], {}]}'


def inputs() -> dict[str, bytes]:
    """Return an input for each guest that runs its loops, and several blocks of a hash."""
    rng = random.Random(1)
    words = [rng.getrandbits(64) - 2**63 for _ in range(60)]
    return {
        "fib_iterative": (20_000).to_bytes(8, "little"),
        "sha256": rng.randbytes(300),
        "keccak": rng.randbytes(300),
        "quicksort": struct.pack("<60q", *words),
        "matrix": struct.pack("<32q", *words[:32]),
        "merkle": struct.pack("<Q", 0b10110) + rng.randbytes(32 * 6),
        "json": JSON,
        "interpreter": b'let m = {"a": 1}; for i in 5 { m[i] = i * 3 - 7; } print(m, m.a < 2);',
    }


def test_every_guest_is_here() -> None:
    """The guests in Rust are large, and tests/vm/test_rust_guests.py runs them."""
    assert set(inputs()) == {file.stem for file in GUESTS.glob("*.elf")} - {"ecdsa_json", "revm"}


@pytest.mark.parametrize(
    ("guest", "rate", "hash"),
    [
        *product(inputs(), [None], [KECCAK]),
        ("interpreter", SMALL, KECCAK),
        (STATED, SMALL, KECCAK),
        (STATED, None, BLAKE3),
    ],
)
def test_plonky3_accepts_guests(guest: str, rate: int | None, hash: str, tmp_path: Path) -> None:
    """Accept the tables of a proof at any rate, the fewer tables of the smallest proof, and either hash."""
    parameters = replace(PLAIN, hash=hash)
    program = open_program(str(GUESTS / f"{guest}.elf"))
    stated = guest == STATED
    run = program.record(inputs()[guest], random_seed=0 if stated else None)
    case = Case(parameters, with_traces(program.statement_about(run, commit_input=stated, rate=rate)))
    tables = list(case.statement.tables)
    cycles, lo, hi, *shape = tables[0].public_values or ()
    assert cycles > 100 and (lo, hi) == (0, 0) and TableNumber.OUTPUT in shape
    payload = tmp_path / "payload"
    payload.write_bytes(case.prove())

    places = [(None, 0), (0, 0), (0, 1), (1 + shape.index(TableNumber.OUTPUT), 2)]
    places += [(1 + shape.index(TableNumber.STATED_INPUT), 2)] if guest == STATED else []
    statements = []
    for number, (table, value) in enumerate(places):
        changed = list(tables)
        if table is not None:
            changed[table] = another_value(tables[table], value)
        statements.append(tmp_path / f"statement{number}")
        plonky3.write_statement(statements[-1], parameters, changed, case.statement.label)
    honest, *others = plonky3.verify_all((statement, payload) for statement in statements)
    assert honest is None
    assert all(others), "accepted for other cycles, another exit code, output or input"


def another_value(table: Table, index: int) -> Table:
    """Return the table with one public value changed."""
    values = list(table.public_values or ())
    values[index] ^= 1
    return replace(table, public_values=values)


def test_plonky3_accepts_a_guest_in_shards(tmp_path: Path) -> None:
    """Accept it, and refuse it with a flipped bit in any shard, another exit code, or other cycles."""
    program = open_program(str(GUESTS / "fib_iterative.elf"))
    statement = program.statement_about(program.record(inputs()["fib_iterative"]), shards=SHARDS)
    proof = prove(statement, "sync", parameters=PLAIN)
    assert isinstance(proof, ShardedProof)
    folders = [tmp_path / str(index) for index in range(SHARDS)]
    for folder in folders:
        folder.mkdir()
    for name, data in export(proof, program.statement_of(proof)).items():
        (tmp_path / name).write_bytes(data)
    honest = [[folder / STATEMENT, folder / PAYLOAD] for folder in folders]

    proofs = [honest]
    for index, folder in enumerate(folders):
        for number, payload in enumerate(flipped(proof.proofs[index].payload, FLIPS)):
            file = folder / f"flipped{number}.bin"
            file.write_bytes(payload)
            proofs.append([*honest[:index], [folder / STATEMENT, file], *honest[index + 1 :]])
    stated = json.loads((folders[0] / STATEMENT).read_text())
    for value in range(2):  # of the boundary, which follows the head of the first shard
        stated["tables"][1]["public_values"][value] ^= 1
        other = folders[0] / f"other{value}.json"
        other.write_text(json.dumps(stated))
        stated["tables"][1]["public_values"][value] ^= 1
        proofs.append([[other, folders[0] / PAYLOAD], *honest[1:]])
    first, *others = plonky3.verify_all([path for pair in each for path in pair] for each in proofs)
    assert first is None
    assert len(others) == SHARDS * FLIPS + 2 and all(others)
