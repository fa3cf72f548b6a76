"""The expected size of a proof is its size."""

import pytest

from graphprover import prove
from graphprover.examples import keccak, synthetic
from graphprover.proof.sizes import expected_sizes, sizes_of
from graphprover.prover.prepare import prepare
from graphprover.statement.statement import Statement, Table


def hashing() -> Statement:
    inputs = keccak.prove_inputs(b"abc")
    return Statement([Table(air, values, main) for air, (main, values) in zip(keccak.tables(), inputs, strict=True)])


@pytest.mark.parametrize("rate", [2, 8])
@pytest.mark.parametrize("make", [hashing, lambda: synthetic.statement(10, 12, 4)])
def test_bytes_by_part_are_expected_before_a_proof_is_made(make, rate: int) -> None:  # type: ignore[no-untyped-def]
    layout = prepare(make(), rate=rate).layout
    expected, found = expected_sizes(layout), sizes_of(prove(make(), rate=rate), layout)
    assert expected.keys() == found.keys()
    for part, size in found.items():
        by_luck = "paths" in part or part.startswith("header")
        assert abs(expected[part] - size) <= (0.1 * size + 64 if by_luck else 0), part
    assert abs(sum(expected.values()) - sum(found.values())) < 0.04 * sum(found.values())
