"""The smallest proof within a time, chosen by the plan."""

from dataclasses import replace
from pathlib import Path

import pytest

import graphprover.prover.smallest as choosing
from graphprover import Prover
from graphprover.device import CpuDevice
from graphprover.examples import memory
from graphprover.graphs.planner.pace import expected_seconds
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.roofline import assumed
from graphprover.protocol.level import MOST_POW_BITS, Level
from graphprover.protocol.parameters import FAST, KECCAK, RATES
from graphprover.prover.peak_memory import memory_plan
from graphprover.prover.prepare import Prepared, PreparedShards, ready
from graphprover.prover.smallest import Candidate, PlannedDevice, candidates, smallest
from graphprover.vm.statement.shape import COMPACT, DEFAULT, policy_at
from tests.graphs.test_proof_graph import example
from tests.prover.test_autoshard import DATA, FIB, in_memory

PACE = 2.0
FEW = Level(security=80, hash=KECCAK)


@pytest.fixture(autouse=True)
def _pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "pace_of", lambda threads, hash: PACE)


def prepare(level: Level) -> Prepared | PreparedShards:
    return ready(example(memory), level)


def no_policy(rate: int) -> None:
    """Return the same for all rates: the statement has one layout."""


def test_the_least_bytes_within_the_time(caplog: pytest.LogCaptureFixture) -> None:
    """Compare the choice for several times with a search over all rates and bits of work."""
    device = CpuDevice(1)
    planned = PlannedDevice(On.of(device), assumed("cpu", 1).roofline, None)
    options = [
        found
        for bits in range(20, MOST_POW_BITS + 1)
        for found in candidates(prepare, replace(FEW, pow_bits=bits), no_policy, planned)
    ]
    assert {(found.rate, found.pow_bits) for found in options} == {(r, b) for r in RATES for b in range(20, 31)}

    def seconds(option: Candidate) -> float:
        return expected_seconds(PACE, option.seconds)

    chosen = set()
    for limit in (0.08, 0.2, 1.0, 5.0, 60.0):
        caplog.clear()
        found = smallest(prepare, FEW, limit, device, no_policy)
        assert found is not None
        least = min(option.bytes for option in options if seconds(option) <= limit)
        parameters = found.shards[0].layout.parameters
        (own,) = [
            option
            for option in options
            if (RATES[option.rate], option.pow_bits) == (parameters.log_blowup, parameters.query_pow_bits)
        ]
        assert own.bytes == least and seconds(own) <= limit and own.prepared.shards[0].layout == found.shards[0].layout
        said = f"small: rate 1/{own.rate} and {own.pow_bits} bits of work: {least / 1000:,.0f} kB expected in "
        assert said in caplog.text and f"(limit {limit:g} s)" in caplog.text
        chosen.add((own.rate, own.pow_bits))
    assert len(chosen) > 3


def test_work_is_at_least_what_was_asked_for() -> None:
    device = CpuDevice(1)
    found = smallest(prepare, replace(FEW, pow_bits=MOST_POW_BITS), 1e9, device, no_policy)
    assert found and found.shards[0].layout.parameters.query_pow_bits == MOST_POW_BITS


def test_what_fits_neither_time_nor_memory_is_not_chosen(caplog: pytest.LogCaptureFixture) -> None:
    device = CpuDevice(1)
    assert smallest(prepare, FEW, 1e-9, device, no_policy) is None
    assert "no rate is expected to fit 1e-09 s and the memory" in caplog.text
    peaks = {rate: memory_plan(prepare(replace(FEW, rate=rate)), device).bytes for rate in RATES}
    for rate, peak in peaks.items():
        with in_memory(peak):
            found = smallest(prepare, FEW, 1e9, device, no_policy)
            assert found and found.shards[0].layout.parameters.log_blowup <= RATES[rate]
    with in_memory(peaks[FAST] - 1):
        assert smallest(prepare, FEW, 1e9, device, no_policy) is None


def test_a_run_is_laid_out_for_the_chosen_rate() -> None:
    """Prepare a run once for each layout policy; without a rate that fits, take the fastest in several shards."""
    device, seen = CpuDevice(), list[Level]()
    prover = Prover(FIB, small=1e9, security=80)
    job = prover.job(DATA)
    found = job.prepared(device)
    assert isinstance(found, Prepared)
    log_blowup = found.layout.parameters.log_blowup
    assert log_blowup > 3
    compact = Prover(FIB, rate=1 << log_blowup, security=80).job(DATA).prepared(device)
    assert compact.shards[0].layout.log_heights == found.layout.log_heights

    def counted(level: Level) -> Prepared | PreparedShards:
        seen.append(level)
        return prepare(level)

    assert smallest(counted, FEW, 1e9, device, policy_at)
    assert [policy_at(level.rate) for level in seen] == [DEFAULT, COMPACT]
    with in_memory(1):  # the least that a proof in one shard takes
        least = memory_plan(Prover(FIB, rate=FAST, security=80).job(DATA).prepared(), device).bytes
    with in_memory(int(0.7 * least)):
        cut = job.prepared(device)
        assert isinstance(cut, PreparedShards) and cut.shards[0].layout.parameters.log_blowup == RATES[FAST]


def test_more_shards_for_a_lower_rate() -> None:
    """Cut a run by the memory of its own rate: half the rate needs more."""
    device, counts = CpuDevice(), list[int]()
    with in_memory(1):  # the least that a proof in one shard takes
        budget = memory_plan(Prover(FIB, rate=16, security=80).job(DATA).prepared(), device).bytes - 1
    for rate in (8, 16):
        with in_memory(budget):
            found = Prover(FIB, rate=rate, security=80).job(DATA).prepared(device)
            assert memory_plan(found, device).bytes <= budget
        counts.append(len(found.shards))
    assert counts[0] == 1 < counts[1]


def test_options_that_exclude_each_other() -> None:
    for options, message in (
        ({"small": 9, "rate": 8}, "small chooses the rate"),
        ({"rate": 3}, "rate 1/3: choose 1/2, 1/4, 1/8, 1/16, 1/32 or 1/64"),
        ({"hash": "md5"}, "hash 'md5': choose keccak or blake3"),
        ({"pow_bits": 31}, "31 bits of proof of work: choose a number from 0 to 30"),
    ):
        with pytest.raises(ValueError, match=message):
            Prover(FIB, **options)


def test_workers_that_share_a_proof_do_not_choose(tmp_path: Path) -> None:
    job = Prover(FIB, small=9, shards=2).job(DATA)
    with pytest.raises(ValueError, match="give a rate instead of small"), job.for_workers():
        pytest.fail("it began")
