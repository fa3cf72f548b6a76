"""The oracle: Plonky3 proves our descriptions, accepts its own proofs, and refuses tampered ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphprover.protocol.parameters import BLAKE3, Parameters
from graphprover.statement.statement import Statement, Table
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN, Counter, counter, fibonacci, limbs, power, shuffle, squares, statements


@pytest.mark.parametrize("name", statements())
def test_accepts_its_own_proofs_and_both_transcripts_agree(name: str, tmp_path: Path) -> None:
    parameters, tables = statements()[name]
    files = plonky3.write_and_prove(tmp_path, parameters, tables, "a label")
    assert plonky3.verify(files.statement, files.proof) is None
    proving = plonky3.transcript(files.statement, traces=files.traces)
    assert proving[0] == f"start {Case(parameters, Statement(tables, 'a label')).binding.hex()}"
    assert proving == plonky3.transcript(files.statement, proof=files.proof)


@pytest.mark.parametrize("name", statements())
def test_rejects_tampered_proofs(name: str, tmp_path: Path) -> None:
    files = plonky3.write_and_prove(tmp_path, *statements()[name])
    data = files.proof.read_bytes()
    step = max(1, len(data) // 40)
    flipped = [data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :] for i in range(0, len(data), step)]
    verdicts = plonky3.verify_payloads(
        tmp_path, files.statement, [data, *flipped, data + b"\0", data[:-1], b"", data[:1] + data]
    )
    assert verdicts[0] is None
    assert len(verdicts) == len(flipped) + 5 and None not in verdicts[1:]


def test_rejects_a_proof_for_another_statement(tmp_path: Path) -> None:
    table = fibonacci(8)
    files = plonky3.write_and_prove(tmp_path, PLAIN, [table])
    assert table.public_values is not None
    first, second, result = table.public_values
    others: dict[str, tuple[Parameters, list[Table], str]] = {
        "public value": (PLAIN, [replace(table, public_values=(first, second, result + 1))], ""),
        "label": (PLAIN, [table], "another"),
        "queries": (replace(PLAIN, num_queries=5), [table], ""),
        "hash": (replace(PLAIN, hash=BLAKE3), [table], ""),
        "rate": (replace(PLAIN, log_blowup=2), [table], ""),
        "grinding": (replace(PLAIN, query_pow_bits=20), [table], ""),
        "table": (PLAIN, [power(8)], ""),
    }
    for what, (parameters, tables, label) in others.items():
        plonky3.write_statement(tmp_path / "other.json", parameters, tables, label)
        assert plonky3.verify(tmp_path / "other.json", files.proof) is not None, what


def spoiled(tables: list[Table], index: int, column: int, row: int) -> list[Table]:
    """Yield the tables with one cell of one trace changed."""
    main = tables[index].main
    assert main is not None
    main = main.copy()
    main[column, row] += np.uint64(1)
    return [replace(table, main=main) if i == index else table for i, table in enumerate(tables)]


@pytest.mark.parametrize(
    "tables",
    [
        spoiled([fibonacci(8)], 0, 0, 3),
        spoiled(list(squares(8, 64)), 0, 1, 2),
        spoiled(list(limbs(32)), 1, 0, 5),
        spoiled([shuffle(16)], 0, 1, 0),
        spoiled([counter(16)], 0, 0, 15),
    ],
    ids=["constraint", "count", "limb", "shuffle", "last row"],
)
def test_rejects_proofs_of_false_statements(tables: list[Table], tmp_path: Path) -> None:
    files = plonky3.write_and_prove(tmp_path, PLAIN, tables)
    assert plonky3.verify(files.statement, files.proof) is not None


def test_takes_preprocessed_columns_from_the_statement_alone(tmp_path: Path) -> None:
    class Skewed(Counter):
        def preprocessed_trace(self) -> np.ndarray:
            return super().preprocessed_trace() + np.uint64(1)

    table = counter(16)
    files = plonky3.write_and_prove(tmp_path, PLAIN, [table])
    plonky3.write_statement(files.statement, PLAIN, [replace(table, air=Skewed(16))])
    assert plonky3.verify(files.statement, files.proof) is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"hash": "keccak", ', ""),
        ('"hash": "keccak"', '"hash": "Keccak"'),
        ('"hash": "keccak"', '"hash": 0'),
        ('"num_queries": 4', '"num_queries": "4"'),
        ('"log_blowup": 1, ', ""),
        ('"log_height": 3', '"log_height": 33'),
        ('"public_values": [1, 2, 55]', '"public_values": [1, 2]'),
        ('"public_values": [1, 2, 55]', f'"public_values": [1, 2, {2**64 - 1}]'),
        ('"preprocessed": null', '"preprocessed": [[1, 2]]'),
        ('"label": "", ', ""),
        ('"label": ""', '"label": "' + 256 * "a" + '"'),
        ('"label": ""', f'"label": "", "binding": "{bytes(32).hex()}"'),
        ('"log_blowup": 1', f'"log_blowup": {1 + 2**16}'),
        ("[1, 0, 0]", "[11, 0, 0]"),
        ("[1, 0, 0]", "[1, 2, 0]"),
    ],
)
def test_refuses_statements_that_it_cannot_read(before: str, after: str, tmp_path: Path) -> None:
    files = plonky3.write_and_prove(tmp_path, PLAIN, [fibonacci(8)])
    text = files.statement.read_text()
    assert before in text
    files.statement.write_text(text.replace(before, after))
    with pytest.raises(RuntimeError):
        plonky3.verify(files.statement, files.proof)
