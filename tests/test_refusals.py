"""docs/refusals.md lists the rules by which the package refuses, and each of them refuses something."""

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from graphprover import VerificationError
from graphprover.field import GENERATOR, root_of_unity
from graphprover.proof.compressed import CompressedProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof, proof_from_bytes
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.constraints import selectors_of
from graphprover.protocol.errors import RuleError
from graphprover.protocol.joint import draw_separating_point
from graphprover.protocol.layout import make_layout
from graphprover.protocol.proof import decode
from graphprover.protocol.verification import Challenges, _reduce_openings, rows_by_height
from graphprover.statement.shards import shards_of
from graphprover.verifier import expect
from graphprover.verifier.headers import statements_of
from graphprover.vm.statement.claim import claim_of
from graphprover.vm.statement.table_rules import TABLE_RULES
from tests.test_must_fail import PARAMETERS, numbers
from tests.vectors import FOLDER, contents

ROOT = Path(__file__).parents[1]
RAISED = {"VerificationError", "RuleError", "MalformedKey", "OtherExitCode", "by_rule"}
REQUESTS = ("asked.", "worker.")  # of commands and workers: not about a proof, and tested with them


def documented() -> list[str]:
    page = (ROOT / "docs" / "refusals.md").read_text()
    rows = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
    return [rule for row in rows for rule in re.findall(r"`([a-z_]+\.[a-z0-9_]+)`", row)]


def raised() -> Iterator[str]:
    """Yield the first argument of every call that makes a refusal."""
    for path in sorted((ROOT / "graphprover").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield cast(str, first.value)
                else:
                    assert ast.unparse(first) in ("self.rule", "error.rule", "rule", "rule.rule"), (
                        f"{path}:{node.lineno}"
                    )


def test_the_page_lists_each_rule_of_the_code_once() -> None:
    # The rules of openings are chosen by name in protocol/merkle.py, and those of a machine's tables in table_rules.py.
    of_tables = {rule.rule for rule in TABLE_RULES if rule.rule}
    assert sorted(documented()) == sorted({*raised(), *of_tables, "merkle.rows", "merkle.cap"})


@cache
def sharded() -> ShardedProof:
    proof = proof_from_bytes((FOLDER / "proofs/shards-keccak.bin").read_bytes())
    assert isinstance(proof, ShardedProof)
    return proof


@cache
def single() -> Proof:
    proof = proof_from_bytes((FOLDER / "proofs/numbers-keccak.bin").read_bytes())
    assert isinstance(proof, Proof)
    return proof


def other_header() -> None:
    proof = sharded()
    expected = expect(proof, shards_of(numbers(), [[0], [1]]), 0)
    expected.check(0, replace(proof.proofs[0], label="x"))


def in_a_trace_domain() -> None:
    layout = make_layout(numbers().descriptions, single().log_heights, PARAMETERS)
    selectors_of(layout, (root_of_unity(3), 0, 0))


def at_a_query() -> None:
    """Open at the point of query 0 in the tallest domain."""
    layout = make_layout(numbers().descriptions, single().log_heights, PARAMETERS)
    batch = decode(single().payload, layout)
    rows = rows_by_height(layout, batch)
    zero, one = (0, 0, 0), (1, 0, 0)
    queries = np.zeros(PARAMETERS.num_queries, dtype=np.int64)
    _reduce_openings(layout, batch, rows, Challenges(zero, [], zero, zero, zero, (GENERATOR, 0, 0), one, [], queries))


def in_the_base_field() -> None:
    """Draw three words of zeros."""
    draw_separating_point(replace(Challenger("keccak", b""), output=bytes(24)))


MADE: dict[str, Callable[[], object]] = {
    "shards.magic": lambda: ShardedProof.from_bytes(b"another file"),
    "shards.number": lambda: statements_of(single(), shards_of(numbers(), [[0], [1]])),
    "shards.header": other_header,
    "shards.point": in_the_base_field,
    "compressed.magic": lambda: CompressedProof.from_bytes(b"another file"),
    "layout.tables": lambda: make_layout([], [], PARAMETERS),
    "guest.output": lambda: claim_of([(1, 0, 0, 6), (2**20 + 1, 0, *[0] * (2**18 + 2))], b""),
    "constraints.domain": in_a_trace_domain,
    "codeword.point": at_a_query,
}


@pytest.mark.parametrize("rule", MADE)
def test_a_rule_without_a_file_refuses(rule: str) -> None:
    with pytest.raises((VerificationError, RuleError)) as refused:
        MADE[rule]()
    assert refused.value.rule == rule


def test_the_page_of_vectors_says_why_a_rule_has_no_file() -> None:
    page = (ROOT / "docs" / "vectors.md").read_text()
    rows = re.findall(r"^\| (`[a-z`_., ]+`) \| [^|]{20,} \|$", page.split("without a file")[1], re.MULTILINE)
    assert sorted(rule for row in rows for rule in re.findall(r"`(.*?)`", row)) == sorted(MADE)


def test_every_rule_about_proofs_refuses_something() -> None:
    of_files = {entry["rule"] for entry in contents("refused.json")["refused"]}
    assert not of_files & set(MADE)
    assert sorted(of_files | set(MADE)) == sorted(rule for rule in documented() if not rule.startswith(REQUESTS))


def test_a_refusal_is_pickled_with_its_rule() -> None:
    error = VerificationError("proof.magic", "not a proof")
    error.shard = 3
    found = pickle.loads(pickle.dumps(error))
    assert (found.rule, str(found), found.shard) == ("proof.magic", "not a proof", 3)
