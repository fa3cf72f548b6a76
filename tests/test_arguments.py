"""Arguments of a wrong type: the error names the argument, what was given and what is expected."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from graphprover import (
    Air,
    Job,
    Proof,
    Prover,
    Statement,
    Table,
    aggregate,
    check,
    compress,
    graph,
    plan,
    prove,
    prove_many,
    verify,
    verify_aggregate,
)
from graphprover.examples.fibonacci import Fibonacci, trace

TRACE, VALUES = trace(64)
GUEST = "examples/guests/fib_iterative.elf"
TABLE = Table(Fibonacci(), VALUES, TRACE)


def statement() -> Statement:
    return Statement([TABLE])


@cache
def proof() -> Proof:
    return prove(statement(), "sync", device="cpu")


def described(**names: Any) -> Any:
    return type("Named", (Air,), names | {"define": lambda self, t: None})().describe()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Job("guest.elf", b""), r"'guest.elf' is a file, not a Prover: Prover\('guest.elf'\).job"),
        (lambda: Job(None, b""), "Job: the prover is None: give a Prover"),
        (lambda: Job(Prover(GUEST), 3), "the input is 3: give bytes, or a Path to a file"),
        (lambda: Job(Prover(GUEST), b"", exit_code="0"), "exit_code is '0': give an integer, or 'any'"),
        (lambda: [*prove_many(["a"])], "prove_many: a job is 'a': give a Job"),
        (lambda: [*prove_many(Prover(GUEST).job(b""))], "prove_many: jobs is a Job: give a sequence"),
        (lambda: Prover(3), "Prover: the program is 3: give a path"),
        (lambda: Prover(statement()), "Prover: the program is a Statement: give a path; prove"),
        (lambda: Prover(GUEST).prove("text"), "the input is 'text': give bytes, or a Path"),
        (lambda: Prover(GUEST).execute("text"), "the input is 'text': give bytes"),
        (lambda: Prover(GUEST).cost("text"), "the input is 'text': give bytes"),
        (lambda: Prover(GUEST).verify("p.bin"), r"'p.bin' is a file, not a proof: load_proof\('p.bin'\)"),
        (lambda: Prover(GUEST).program.elf.verify(3), "the proof is 3: give a proof"),
        (lambda: Statement(TABLE), r"a statement has a sequence of tables: Statement\(\[Table"),
        (lambda: Statement([Fibonacci()]), r"Statement: table 0 is a Fibonacci: give a Table\(air"),
        (lambda: Statement(None), "Statement: the tables are None: give a sequence"),
        (lambda: Statement([TABLE], 3), "Statement: the label is 3: give text"),
        (lambda: Table(Fibonacci, VALUES, TRACE), r"Fibonacci is a class: give an object of it, Table\(Fibonacci\(\)"),
        (lambda: Table("name"), "Table: the first argument is 'name': give an Air"),
        (lambda: Table(Fibonacci(), TRACE, VALUES), "the public values are a matrix, not a sequence of integers: the"),
        (lambda: Table(Fibonacci(), VALUES, "abc"), "table fibonacci: the trace is 'abc': give an array"),
        (lambda: Table(Fibonacci(), VALUES, [[1, 2], [3]]), "fibonacci: the trace is a list of columns of different"),
        (lambda: Table(Fibonacci(), [1.5, 2]), "table fibonacci: public value 0 is 1.5, not an integer"),
        (lambda: Table(Fibonacci(), 3), "table fibonacci: the public values are 3, not a sequence of integers"),
        (lambda: Table(Fibonacci(), [-1, 2]), "table fibonacci: public value 0 is -1, not in 0..p - 1"),
        (lambda: check(Statement([Table(Fibonacci(), VALUES, TRACE.astype(float))])), "dtype float64 is the problem"),
        (lambda: check(Statement([Table(Fibonacci(), VALUES, TRACE.T)])), r"shape \(64, 3\); .*; transpose it"),
        (lambda: described(columns="abc"), "columns: 'abc' is no sequence of names: write a tuple"),
        (lambda: described(columns=("a",), public_values="x"), "public_values: 'x' is no sequence of names"),
        (lambda: prove("text"), "prove: the statement is 'text': give a Statement"),
        (lambda: prove(TABLE), r"prove: the statement is a Table: give Statement\(\[table\]\)"),
        (lambda: check([TABLE]), "check: the statement is a list: give a Statement"),
        (lambda: graph(Statement), "graph: the statement is the class Statement: give a Statement"),
        (lambda: plan(None), "plan: the statement is None: give a Statement"),
        (lambda: verify("p.bin", statement()), r"'p.bin' is a file, not a proof: load_proof\('p.bin'\)"),
        (lambda: verify(statement(), proof()), "the proof is a Statement: give a proof"),
        (lambda: verify(proof(), "tables.py"), "verify: the statement is 'tables.py': give a Statement"),
        (lambda: compress("p.bin", statement()), "'p.bin' is a file, not a proof"),
        (lambda: compress(proof(), "text"), "compress: the statement is 'text': give a Statement"),
        (lambda: aggregate([3], [statement()]), "the proof is 3: give a proof"),
        (lambda: verify_aggregate(proof(), [statement()]), "verify_aggregate: the proof is a Proof: give a Compressed"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        call()


def test_lists_are_traces_and_arrays_are_public_values() -> None:
    assert check(Statement([Table(Fibonacci(), np.array(VALUES), TRACE.tolist())])) == []
