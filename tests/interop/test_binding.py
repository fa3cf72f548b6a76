"""Plonky3's verifier starts from a binding that it computes, so that no part of a statement can be chosen later."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphprover.protocol.parameters import BLAKE3, HASH_NAMES, KECCAK
from graphprover.statement.statement import Statement
from tests.interop import late_constants, plonky3
from tests.interop.case import Case
from tests.interop.tables import GRINDING, PLAIN, counter, fibonacci, shuffle, squares, statements
from tests.protocol import section_11, vectors

VECTORS = {  # folder name to the name of its statement
    "counter": "preprocessed next row",
    "height1": "one row",
    "mixed": "mixed",
    "mixed_blake3": "mixed, BLAKE3",
    "squares_pow": "bus, grinding",
    "tiny": "rows 1 and 2",
    "wide_blake3": "wide, BLAKE3",
}
TABLES = [fibonacci(8), shuffle(16), counter(16), *squares(8, 64)]
CASE = Case(replace(GRINDING, num_queries=8, cap_height=2), Statement(TABLES, "a näme"))


def test_a_false_statement_whose_constants_were_chosen_late_is_refused(tmp_path: Path) -> None:
    promised, false, payload = late_constants.forge()
    (table,) = false.statement.tables
    assert len(set(table.air.constants)) == 3, "no x is all three of them"  # type: ignore[attr-defined]
    # All checks pass if the transcript starts from the binding of the other table.
    assert false.our_verdict_unbound(payload, promised.binding) is None
    plonky3.write_statement(tmp_path / "statement.json", PLAIN, [table])
    (verdict,) = plonky3.verify_payloads(tmp_path, tmp_path / "statement.json", [payload])
    assert verdict is not None
    assert false.our_verdict(payload) is not None


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_made_and_accepted(name: str, tmp_path: Path) -> None:
    parameters, tables = statements()[VECTORS[name]]
    files = plonky3.write_and_prove(tmp_path, parameters, tables, name)
    vector = vectors.FOLDER / name
    assert json.loads(files.statement.read_text()) == json.loads((vector / "statement.json").read_text())
    assert files.proof.read_bytes() == (vector / "payload.bin").read_bytes()
    assert plonky3.verify(vector / "statement.json", vector / "payload.bin") is None
    if (vector / "transcript.txt").exists():
        assert plonky3.transcript(files.statement, proof=files.proof) == vectors.transcript(name)


def test_every_vector_is_here() -> None:
    assert sorted(VECTORS) == vectors.NAMES


def test_known_answers_of_the_hashes_are_made() -> None:
    assert plonky3.vectors() == vectors.HASHES.read_text()


def changes(stated: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the result of each single change to a field that section 11 names."""
    for what, at, value in replacements(stated):
        changed = deepcopy(stated)
        *path, last = at
        inner: Any = changed
        for step in path:
            inner = inner[step]
        assert inner[last] != value
        inner[last] = value
        yield what, changed


def replacements(stated: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
    """Yield the name, the path and the new value of each change."""
    yield "label", ("label",), "a name"
    yield "label", ("label",), ""
    yield "hash", ("parameters", "hash"), KECCAK if stated["parameters"]["hash"] == BLAKE3 else BLAKE3
    for field in section_11.PARAMETERS:
        for step in (-1, 1):
            yield field, ("parameters", field), stated["parameters"][field] + step
    tables = stated["tables"]
    yield "a table less", ("tables",), tables[:-1]
    yield "a table more", ("tables",), [*tables, tables[0]]
    yield "order of tables", ("tables",), [*tables[1:], tables[0]]
    for i, table in enumerate(tables):
        air = table["air"]
        for field, more in wider(table):
            yield field, ("tables", i), table | more | {"air": air | {field: air[field] + 1}}
        yield "an unused node", ("tables", i, "air", "nodes"), [*air["nodes"], [0, 5, 0]]
        for j, node in enumerate(air["nodes"]):
            yield "operation", ("tables", i, "air", "nodes", j, 0), node[0] % 10 + 1
            for k in (1, 2):
                yield "operand", ("tables", i, "air", "nodes", j, k), 0 if node[k] else 1
        yield "a constraint more", ("tables", i, "air", "constraints"), [*air["constraints"], 0]
        for j, _ in enumerate(air["constraints"]):
            left = air["constraints"][:j] + air["constraints"][j + 1 :]
            yield "a constraint less", ("tables", i, "air", "constraints"), left
        for kind in ("locals", "globals"):
            for j, interaction in enumerate(air[kind]):
                place = ("tables", i, "air", kind)
                yield f"no {kind}", place, air[kind][:j]
                if kind == "globals":
                    yield "bus", (*place, j, "bus"), "cubes"
                for k, tuple_ in enumerate(interaction.get("tuples", [interaction])):
                    inside = (*place, j, "tuples", k) if kind == "locals" else (*place, j)
                    yield "fields", (*inside, "fields"), tuple_["fields"][:-1]
                    yield "field", (*inside, "fields", 0), tuple_["fields"][0] ^ 1
                    yield "multiplicity", (*inside, "multiplicity"), tuple_["multiplicity"] ^ 1
                    yield "weight", (*inside, "weight"), tuple_["weight"] + 1
        if table["preprocessed"]:
            yield "a preprocessed word", ("tables", i, "preprocessed", 0, 3), table["preprocessed"][0][3] + 1


def wider(table: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield, for each width, the other fields that an increase by one changes."""
    yield "main_width", {}
    yield "num_public_values", {"public_values": [*table["public_values"], 0]}
    columns = table["preprocessed"] or []
    yield "preprocessed_width", {"preprocessed": [*columns, [0] * 2 ** table["log_height"]]}


@pytest.mark.parametrize("hash", HASH_NAMES)
def test_whatever_the_binding_names_is_refused_when_changed(hash: str, tmp_path: Path) -> None:
    """The transcript of each readable file also starts from the binding that section 11 defines for the file."""
    files = replace(CASE, parameters=replace(CASE.parameters, hash=hash)).write_and_prove(tmp_path)
    honest = json.loads(files.statement.read_text())
    assert plonky3.verify(files.statement, files.proof) is None
    other, bound, starts = tmp_path / "other.json", set(), {section_11.binding(honest)}
    for what, changed in changes(honest):
        other.write_text(json.dumps(changed))
        assert refused(other, files.proof), what
        start = start_of(other, files.proof)
        if start is not None:
            assert start == section_11.binding(changed) and start not in starts, what
            starts.add(start)
            bound.add(what)
    # Changes missing from `bound` give files that cannot be read, or tables that Plonky3 refuses.
    assert bound >= {what for what, _ in changes(honest)}


def refused(statement: Path, proof: Path) -> bool:
    """Return whether Plonky3 rejects the proof or cannot read the files."""
    try:
        return plonky3.verify(statement, proof) is not None
    except RuntimeError:
        return True


def start_of(statement: Path, proof: Path) -> bytes | None:
    """Return the initial state of the transcript, None for a statement that cannot be read."""
    try:
        first, *_ = plonky3.transcript(statement, proof=proof)
    except RuntimeError:
        return None
    return bytes.fromhex(first.removeprefix("start "))


def test_names_of_tables_are_not_bound(tmp_path: Path) -> None:
    files = CASE.write_and_prove(tmp_path)
    stated = json.loads(files.statement.read_text())
    for table in stated["tables"]:
        table["air"]["name"] = "another"
    files.statement.write_text(json.dumps(stated))
    assert plonky3.verify(files.statement, files.proof) is None
