"""The degree of a table at a rate: the cheapest one, which prover, verifier and the specification agree on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.air.degree import MOST_LOG_CHUNKS, at_rate, cost, packed, packings
from graphprover.air.description import AirDescription
from graphprover.protocol.parameters import RATES
from graphprover.vm.tables.chips import CHIPS
from tests.air.strategies import descriptions
from tests.interop.tables import Crowd
from tests.protocol.section_2 import derived

rates = st.integers(1, 6)


@settings(max_examples=200, deadline=None)
@given(descriptions, rates)
def test_it_is_that_of_the_specification(air: AirDescription, log_blowup: int) -> None:
    found, expected = at_rate(air, log_blowup), derived(air.to_json(), log_blowup)
    assert (found.log_quotient_chunks, len(found.lookups)) == (expected.log_chunks, expected.lookups)


@settings(max_examples=200, deadline=None)
@given(descriptions, rates)
def test_no_degree_that_the_rate_allows_is_cheaper(air: AirDescription, log_blowup: int) -> None:
    found = at_rate(air, log_blowup)
    assert air.log_quotient_chunks <= found.log_quotient_chunks <= max(air.log_quotient_chunks, log_blowup)
    for log_chunks in range(min(log_blowup, MOST_LOG_CHUNKS) + 1):
        assert cost(found, log_blowup) <= cost(packed(air, log_chunks), log_blowup)


@given(descriptions, rates, rates)
def test_another_rate_starts_from_the_same_table(air: AirDescription, before: int, after: int) -> None:
    assert at_rate(at_rate(air, before), after) == at_rate(air, after)
    assert at_rate(air, before).canonical_bytes == air.canonical_bytes


def test_columns_are_shared_by_two_four_and_eight_messages() -> None:
    air = Crowd().describe()
    found = [at_rate(air, log_blowup) for log_blowup in RATES.values()]
    assert [len(packing.lookups) for packing in found] == [32, 16, 16, 16, 8, 8]
    assert [packing.pin_budget for packing in found] == [3, 5, 5, 5, 9, 9]
    assert [len(packing.lookups) for packing in packings(air, RATES.values())] == [32, 16, 8]


@pytest.mark.parametrize(("log_blowup", "most"), [(1, 2), (2, 4)])
def test_a_rate_bounds_the_chunks(log_blowup: int, most: int) -> None:
    """More chunks than the rate's inverse would need further points of every column, and Plonky3 refuses them."""
    for chip in ("add", "lb", "divw", "sh_crossing"):
        air = CHIPS[chip](1).describe()
        assert 1 << at_rate(air, log_blowup).log_quotient_chunks <= max(most, 1 << air.log_quotient_chunks)
