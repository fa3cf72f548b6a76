"""The tutorial's example."""

import pytest

from graphprover.examples import fibonacci
from graphprover.field import P
from graphprover.statement.check import check
from tests.examples.mutation import stated, unnoticed, wrong_public_values


def test_it_holds_and_says_what_it_proves() -> None:
    ((main, public),) = fibonacci.prove_inputs(None)
    assert check(stated(fibonacci.tables(), [(main, public)])) == []
    left, right = 0, 1
    for _ in range(1023):
        left, right = right, (left + right) % P
    assert fibonacci.describe([public]) == {"steps": "1023", "result": str(left)}
    assert fibonacci.tables()[0].describe().log_quotient_chunks == 0


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_any_height(rows: int) -> None:
    main, public = fibonacci.trace(rows)
    assert check(stated(fibonacci.tables(), [(main, public)])) == []
    assert public[1] == [0, 1, 1, 2, 3, 5, 8, 13][rows - 1]


def test_forgeries_are_noticed() -> None:
    inputs = [fibonacci.trace(8)]
    assert unnoticed(fibonacci.tables(), inputs, samples=24) == []
    for changed in wrong_public_values(inputs):
        assert check(stated(fibonacci.tables(), changed))


def test_it_takes_no_input() -> None:
    with pytest.raises(ValueError, match="takes no input"):
        fibonacci.prove_inputs(b"")
