"""A proof, a verdict, a layout and a plan as a notebook and a prompt show them, and proofs in files."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from graphprover import FileError, Proof, VerificationError, files, verify
from graphprover.graphs.plan import make_plan
from graphprover.notebook import MOST_ROWS, html
from graphprover.prepared import prepare
from graphprover.programs import load_packaged
from graphprover.protocol.parameters import Parameters
from graphprover.prover import prove
from graphprover.statement import Statement

WEAK = Parameters(1, 4, 0, 2, 0, 0, 0, 0, 0, 0)


@pytest.fixture(scope="module")
def statement() -> Statement:
    program = load_packaged("examples/memory").statement_for(None)
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
