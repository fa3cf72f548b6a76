"""Parameters: ranges and the canonical encoding."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.protocol.parameters import ENCODED_BYTES, HASH_NAMES, Parameters

parameters = st.builds(
    Parameters,
    hash=st.sampled_from(HASH_NAMES),
    **{name: st.integers(*bounds) for name, bounds in Parameters.RANGES.items()},
)
SOME = Parameters("keccak", 1, 100, 0, 3, 4, 0, 1, 2, 3, 20)


@given(parameters)
def test_round_trip(value):
    assert Parameters.from_bytes(value.to_bytes()) == value


def test_known_encoding():
    assert SOME.to_bytes().hex() == "00000100640000000300040000000100020003001400"
    assert replace(SOME, hash="blake3").to_bytes().hex() == "01000100640000000300040000000100020003001400"


@pytest.mark.parametrize("hash", ["", "sha256", 1, None])
def test_another_hash_is_refused(hash):
    with pytest.raises(ValueError, match="hash must be keccak or blake3"):
        replace(SOME, hash=hash)


def test_an_unknown_code_of_a_hash_is_refused():
    with pytest.raises(ValueError, match="hash 2 is unknown"):
        Parameters.from_bytes(b"\x02" + SOME.to_bytes()[1:])


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
