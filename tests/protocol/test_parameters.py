"""Parameters: ranges and the canonical encoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.protocol.parameters import ENCODED_BYTES, Parameters

parameters = st.builds(Parameters, **{name: st.integers(*bounds) for name, bounds in Parameters.RANGES.items()})
SOME = Parameters("keccak", 1, 100, 0, 3, 4, 0, 1, 2, 3, 20)


@given(parameters)
def test_round_trip(value):
    assert Parameters.from_bytes(value.to_bytes()) == value


def test_known_encoding():
    assert SOME.to_bytes().hex() == "0100640000000300040000000100020003001400"


@pytest.mark.parametrize("name", Parameters.RANGES)
@pytest.mark.parametrize("beyond", ["below", "above", "bool", "float"])
def test_out_of_range_is_named(name, beyond):
    least, most = Parameters.RANGES[name]
    value = {"below": least - 1, "above": most + 1, "bool": True, "float": float(least)}[beyond]
    with pytest.raises(ValueError, match=name):
        Parameters(**{**vars(SOME), name: value})


@pytest.mark.parametrize("data", [b"", SOME.to_bytes()[:-1], SOME.to_bytes() + b"\0", bytes(ENCODED_BYTES)])
def test_malformed_bytes_are_refused(data):
    with pytest.raises(ValueError):
        Parameters.from_bytes(data)
