"""The oracle itself: Plonky3 proves our descriptions, accepts what it proved, and refuses what was tampered with."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.interop import plonky3, tables
from tests.interop.plonky3 import Instance


@pytest.fixture(params=tables.statements())
def paths(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path, Path]:
    """Statement, traces and Plonky3's proof of one of `tables.statements`."""
    parameters, instances = tables.statements()[request.param]
    paths = tmp_path / "statement.json", tmp_path / "traces.bin", tmp_path / "proof.bin"
    plonky3.write_statement(paths[0], parameters, instances)
    plonky3.write_traces(paths[1], instances)
    measured = plonky3.prove(*paths)
    assert measured["proof_bytes"] == paths[2].stat().st_size
    return paths


def test_accepts_its_own_proofs_and_both_transcripts_agree(paths: tuple[Path, Path, Path]) -> None:
    statement, traces, proof = paths
    assert plonky3.verify(statement, proof) is None
    proving = plonky3.transcript(statement, traces=traces)
    assert proving[0] == f"start {plonky3.BINDING.hex()}"
    assert proving == plonky3.transcript(statement, proof=proof)


def test_rejects_tampered_proofs(paths: tuple[Path, Path, Path], tmp_path: Path) -> None:
    statement, _, proof = paths
    data = proof.read_bytes()
    step = max(1, len(data) // 40)
    flipped = [data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :] for i in range(0, len(data), step)]
    tampered = [*flipped, data + b"\0", data[:-1], b"", data[:1] + data]
    files = [tmp_path / f"tampered{i}" for i in range(len(tampered))]
    for file, content in zip(files, tampered, strict=True):
        file.write_bytes(content)
    verdicts = plonky3.verify_all([(statement, file) for file in (proof, *files)])
    assert verdicts[0] is None
    assert len(verdicts) == 1 + len(tampered) and None not in verdicts[1:]


def test_rejects_a_proof_for_another_statement(tmp_path: Path) -> None:
    statement, traces, proof, other = (tmp_path / name for name in ("statement", "traces", "proof", "other"))
    instance = tables.fibonacci(8)
    plonky3.write_statement(statement, tables.PLAIN, [instance])
    plonky3.write_traces(traces, [instance])
    plonky3.prove(statement, traces, proof)
    first, second, result = instance.public_values
    changed: dict[str, tuple[object, ...]] = {
        "public value": (tables.PLAIN, [replace(instance, public_values=(first, second, result + 1))]),
        "binding": (tables.PLAIN, [instance], bytes(32)),
        "queries": (replace(tables.PLAIN, num_queries=5), [instance]),
        "rate": (replace(tables.PLAIN, log_blowup=2), [instance]),
        "grinding": (replace(tables.PLAIN, query_pow_bits=20), [instance]),
        "table": (tables.PLAIN, [tables.power(8)]),
    }
    for what, arguments in changed.items():
        plonky3.write_statement(other, *arguments)  # type: ignore[arg-type]
        assert plonky3.verify(other, proof) is not None, what


def _broken(instances: list[Instance], table: int, column: int, row: int) -> list[Instance]:
    trace = instances[table].trace.copy()
    trace[column, row] += np.uint64(1)
    return [replace(each, trace=trace) if i == table else each for i, each in enumerate(instances)]


@pytest.mark.parametrize(
    "instances",
    [
        _broken([tables.fibonacci(8)], 0, 0, 3),
        _broken(list(tables.squares(8, 64)), 0, 1, 2),
        _broken(list(tables.limbs(32)), 1, 0, 5),
        _broken([tables.shuffle(16)], 0, 1, 0),
        _broken([tables.counter(16)], 0, 0, 15),
    ],
    ids=["constraint", "count", "limb", "shuffle", "last row"],
)
def test_rejects_proofs_of_false_statements(instances: list[Instance], tmp_path: Path) -> None:
    statement, traces, proof = tmp_path / "statement", tmp_path / "traces", tmp_path / "proof"
    plonky3.write_statement(statement, tables.PLAIN, instances)
    plonky3.write_traces(traces, instances)
    plonky3.prove(statement, traces, proof)
    assert plonky3.verify(statement, proof) is not None


def test_a_preprocessed_column_of_the_statement_is_what_counts(tmp_path: Path) -> None:
    statement, traces, proof = tmp_path / "statement", tmp_path / "traces", tmp_path / "proof"
    instance = tables.counter(16)
    plonky3.write_statement(statement, tables.PLAIN, [instance])
    plonky3.write_traces(traces, [instance])
    plonky3.prove(statement, traces, proof)
    assert instance.preprocessed is not None
    plonky3.write_statement(statement, tables.PLAIN, [replace(instance, preprocessed=instance.preprocessed + 1)])
    assert plonky3.verify(statement, proof) is not None
