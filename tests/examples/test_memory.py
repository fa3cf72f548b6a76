"""Read-only memory by LogUp."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphprover.air.debugger import UnbalancedBus
from graphprover.examples import memory
from graphprover.statement.check import check
from tests.examples.mutation import Inputs, stated, unnoticed, wrong_public_values


def findings(inputs: Inputs) -> list:
    return check(stated(memory.tables(), inputs))


def test_a_known_word() -> None:
    inputs = memory.prove_inputs(b"Quiz!")
    assert findings(inputs) == []
    assert memory.describe([public for _, public in inputs]) == {"bytes read": "5", "worth": str(10 + 1 + 1 + 10)}
    assert int(memory.contents().sum()) == 2 * sum(worth * len(letters) for worth, letters in memory.WORTH.items())
    assert np.count_nonzero(memory.contents()) == 52


@given(st.binary(max_size=70))
def test_any_text(text: bytes) -> None:
    inputs = memory.prove_inputs(text)
    assert findings(inputs) == []
    assert inputs[0][1] == [len(text), sum(int(memory.contents()[byte]) for byte in text)]


def test_the_default_text() -> None:
    assert findings(memory.prove_inputs(None)) == []


def test_forgeries_are_noticed() -> None:
    inputs = memory.prove_inputs(b"seven!!")
    for changed in wrong_public_values(inputs):
        assert findings(changed)
    # Unconstrained: address and value of a row without a read.
    off = {("reads", name, 7) for name in ("address", "value")}
    assert set(unnoticed(memory.tables(), inputs, samples=256)) == off


def test_a_false_value_is_found_on_the_bus() -> None:
    inputs = memory.prove_inputs(b"cab!")
    (main, (reads, worth)), contents = inputs
    values = memory.Reads().view(main)
    values.value[1] += 5
    values.worth[2:] += 5
    (finding,) = findings([(main, [reads, worth + 5]), contents])
    assert isinstance(finding, UnbalancedBus)
    assert {message.fields for message in finding.messages} == {(ord("a"), 1), (ord("a"), 6)}
