"""Proofs, plans, statements, jobs and observations as a notebook and a prompt show them, and proofs in files."""

import pickle
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover import (
    Air,
    FileError,
    Job,
    Proof,
    Prover,
    Result,
    Statement,
    Table,
    VerificationError,
    check,
    observed,
    verify,
)
from graphprover.examples.fibonacci import Fibonacci, trace
from graphprover.graphs.planner.plan import make_plan
from graphprover.jobs.opening import load_packaged
from graphprover.protocol.parameters import Parameters
from graphprover.prover.made import Made
from graphprover.prover.prepare import prepare
from graphprover.proving.prove import prove
from graphprover.runtime import files
from graphprover.runtime.display.notebook import MOST_ROWS, html

WEAK = Parameters("keccak", 1, 4, 0, 2, 0, 0, 0, 0, 0, 0)


@pytest.fixture(scope="module")
def statement() -> Statement:
    program = load_packaged("examples/memory").record()
    return Statement(program.tables, "<b>bold</b>")


@pytest.fixture(scope="module")
def proof(statement: Statement) -> Proof:
    return prove(statement, parameters=WEAK, device="cpu")


class Cells(HTMLParser):
    """The texts of a page, its rows, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.rows += tag == "tr"
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert "b" not in self.open[2:], "nothing but the title is bold"
        self.texts.append(data)


def test_one_line_and_a_small_page(statement: Statement, proof: Proof) -> None:
    layout = prepare(statement, parameters=WEAK).layout
    verdict, plan = verify(proof, statement, security=0), make_plan(layout)
    for shown, line, cell in (
        (proof, f"<Proof of '<b>bold</b>': 2 tables, {len(proof.to_bytes()):,} bytes>", "2^8"),
        (verdict, f"<Verdict: valid, {verdict.security.summary}>", "44, 99"),
        (layout, "<Layout of 2 tables of up to 2^8 rows at rate 1/2>", "reads"),
        (plan, f"<Plan of {len(plan.tasks)} tasks for 2 tables>", "quotient"),
    ):
        assert repr(shown) == line
        page = shown._repr_html_()
        cells = Cells(page)
        assert not cells.open and cells.rows > 2 and len(page) < 10_000
        assert any(cell in text for text in cells.texts), cells.texts


SCRIPT = "<script>alert(1)</script>" * 9


def test_what_users_name_is_escaped_and_short(statement: Statement, proof: Proof) -> None:
    class Named(Air):
        name, columns = SCRIPT + "\n", ("x",)

    with observed() as seen:
        prove(Statement(statement.tables, SCRIPT[:250]), "sync", parameters=WEAK, device="cpu")
    prover = Prover("examples/memory", security=90, shards=3)
    named, job = Job(prover, bytes(10**6), SCRIPT, output=Path(SCRIPT)), Job(prover, Path(SCRIPT * 4), existing=b"1234")
    made = Made(proof, None, {SCRIPT: 1.5}, 0)
    again = pickle.loads(pickle.dumps(prover))
    trace = np.zeros((1, 1 << 20), np.uint64)
    shown: Any
    for shown, line, facts in (
        (prover, "<Prover of 'examples/memory' with 90 bits of security>", ["shards: 3", "device: auto"]),
        (again, repr(prover), ["security bits: 90"]),
        (named, None, ["input: 1,000,000 bytes", "security bits: 90", "output: <script>"]),
        (job, None, ["Job of 'examples/memory', input: <script>", "proof that is there: 4 bytes"]),
        (Result(named, made), None, [f"a proof of {proof.size:,} bytes, made", "1.500", "attempts: 1", "this process"]),
        (Result(job, replace(made, kept=True)), None, ["bytes, kept", "Result of 'examples/memory'"]),
        (
            Result(named, None, ValueError(SCRIPT * 99 + "\n"), SCRIPT),
            None,
            ["ValueError: <script>", "worker: <script>"],
        ),
        (Statement([Table(Named(), None, trace)] * 200), "<Statement of 200 tables>", ["1 × 1,048,576", "any"]),
        (Statement(statement.tables, SCRIPT[:250]), None, ["Statement '<script>", "reads", "2"]),
        (seen[0], None, ["made by: this process, sync", "quotient", f"security: {seen[0].security.summary}"]),
        (seen[0].brief().named(SCRIPT * 9).of_worker("tcp://w"), None, ["made by: tcp://w", "Observation of <script>"]),
        (replace(proof, label=SCRIPT[:250]), None, ["Proof of '<script>"]),
    ):
        assert repr(shown) == line or (line is None and len(repr(shown)) < 200 and "\n" not in repr(shown))
        page = shown._repr_html_()
        cells = Cells(page)
        assert not cells.open and len(page) < 10_000 and "<script" not in page
        assert repr(shown)[1:-1] in "".join(cells.texts)
        for fact in facts:
            assert any(fact in text for text in cells.texts), (fact, cells.texts)
    assert "program" not in vars(again), "a prompt does not run what another process has sent"


def test_all_is_escaped_and_long_tables_are_cut() -> None:
    cells = Cells(html("<i>", {"<i>": "<i>"}, [("<i>",), *((n,) for n in range(1000, 1002 + MOST_ROWS))]))
    assert cells.texts[:3] == ["<i>", "<i>: <i>", "<i>"] and "1,000" in cells.texts and cells.texts[-1] == "and 2 more"
    assert "<table>" not in html("title", {})


def test_proofs_in_files(proof: Proof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "proof.bin"
    proof.save(path)
    assert Proof.load(path) == Proof.load(str(path)) == proof and path.read_bytes() == proof.to_bytes()
    with pytest.raises(FileError, match=r"missing/proof.bin: No such file"):
        proof.save(tmp_path / "missing/proof.bin")
    with pytest.raises(FileError, match=r"none.bin: No such file"):
        Proof.load(tmp_path / "none.bin")
    (tmp_path / "noise.bin").write_bytes(b"noise" * 9)
    with pytest.raises(VerificationError, match=r"noise.bin: not a graphprover proof"):
        Proof.load(tmp_path / "noise.bin")
    monkeypatch.setattr(files, "MAX_PROOF_BYTES", 1 << 10)
    with pytest.raises(FileError, match=r"proof.bin: more than"):
        Proof.load(path)


def test_a_table_and_its_description_are_short() -> None:
    table = Table(Fibonacci(), *reversed(trace(64)))
    assert repr(table) == "<Table 'fibonacci': 3 × 64 (columns × rows)>"
    assert repr(Table(Fibonacci())) == "<Table 'fibonacci': no trace>"
    assert "public values: 63, 6557470319842" in table._repr_html_()
    described = Fibonacci().describe()
    assert repr(described) == "<Description of 'fibonacci': 3 columns, 8 constraints of degree 2, 0 messages>"
    assert "columns: step, left, right<br>public values: steps, result" in described._repr_html_()
    assert described._repr_html_().count("<tr>") == 1 + 8
    (keccak, *_) = (air.describe() for air in load_packaged("examples/keccak").module.tables())
    assert len(repr(keccak)) < 120 and "more" in keccak._repr_html_()


def test_findings_are_lines() -> None:
    main, values = trace(64)
    main[1, 5] += np.uint64(1)
    found = check(Statement([Table(Fibonacci(), values, main)]))
    first = repr(found[0])
    assert first.startswith("<fibonacci: constraint fails on row 4; ") and first.endswith("right = 5>")
    assert "\n" not in repr(found)


def test_an_observation_names_the_tables_of_a_proof_without_label() -> None:
    with observed() as seen:
        prove(Statement([Table(Fibonacci(), *reversed(trace(64)))]), "sync", device="cpu")
    assert seen[0].name == "fibonacci" and repr(seen).startswith("[<Observation of fibonacci: ")
