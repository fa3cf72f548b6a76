"""LogUp columns on the device against the CPU's."""

import numpy as np
import pytest

from graphprover.air.bytecode import lookup_bytecode
from graphprover.air.degree import packed
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cpu import bytecode as cpu_bytecode
from graphprover.kernels.cpu import domain
from graphprover.kernels.cpu import logup as cpu
from graphprover.kernels.cuda import generate, source_cache
from graphprover.kernels.operands import Operands

cupy = pytest.importorskip("cupy")
from graphprover.kernels.cuda import bytecode as cuda_bytecode  # noqa: E402
from graphprover.kernels.cuda import logup as cuda  # noqa: E402
from graphprover.kernels.cuda.launch import launches  # noqa: E402
from graphprover.vm.accelerators.keccak.planes import KeccakPlanes  # noqa: E402
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds  # noqa: E402
from graphprover.vm.tables.chips import CHIPS  # noqa: E402
from tests.cuda.test_bytecode import SEEDS, draw_challenges, draw_tables, matrices_of, on_device  # noqa: E402

pytestmark = pytest.mark.gpu


def lookup_tables(seed):
    return [air for air in draw_tables(seed) if air.lookups]


def expected_columns(air, bytecode, words, main, preprocessed):
    rows = main.shape[1]
    groups = [len(lookup.tuples) for lookup in air.lookups]
    denominators = np.empty((3 * sum(groups), rows), dtype=np.uint64)
    multiplicities = np.empty((sum(groups), rows), dtype=np.uint64)
    matrices = (main, preprocessed, None, domain.indicators(rows))
    log_rows = rows.bit_length() - 1
    cpu_bytecode.evaluate(bytecode, words, matrices, (denominators, multiplicities), log_rows, False, 0, rows)
    columns = np.empty((3 * (len(groups) + 1), rows), dtype=np.uint64)
    cpu.fractions(denominators, multiplicities, groups, columns, 0, rows)
    return columns, cpu.accumulate(columns)


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if seed % 9])
@pytest.mark.parametrize("part", [1, generate.PART])
def test_lookup_columns(seed, part, monkeypatch):
    """Also in several kernels, which add to the sums of rows one after another."""
    monkeypatch.setattr(generate, "PART", part)
    monkeypatch.setattr(source_cache, "lookup_program", source_cache.made_lookups)
    for air in lookup_tables(seed):
        bytecode = lookup_bytecode(air)
        public, prefixes, tau, _, _ = draw_challenges(seed, air)
        words = constants(bytecode, public, prefixes, tau)
        for rows in (1, 2, 16, 256, 1024):
            main, preprocessed, _ = matrices_of(air, rows, seed)
            expected, terminal = expected_columns(air, bytecode, words, main, preprocessed)
            trace = on_device((main, preprocessed))
            [(columns, total)] = cuda.lookup_columns([Operands(air, *trace, public, prefixes)], tau)
            np.testing.assert_array_equal(columns.get(), expected)
            assert total == terminal
            with monkeypatch.context() as patch:  # a known terminal is not read again
                patch.setattr(cuda, "to_host", None)
                [(again, known)] = cuda.lookup_columns([Operands(air, *trace, public, prefixes, None, total)], tau)
            np.testing.assert_array_equal(again.get(), expected)
            assert known == terminal


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if seed % 9])
def test_interpreted_lookup_columns(seed, monkeypatch):
    """The interpreter's columns are the CPU's and the generated kernels'."""
    for air in lookup_tables(seed):
        check_interpreted(air, (1, 2, 16, 128, 256, 1024), seed, monkeypatch)


@pytest.mark.parametrize("name", ["add", "lb", "divw", "sh_crossing", "srl_3"])
def test_interpreted_lookup_columns_of_the_machine(name, monkeypatch):
    check_interpreted(CHIPS[name](1).describe(), (8, 4096), 3, monkeypatch)


@pytest.mark.parametrize("log_chunks", [2, 3])
@pytest.mark.parametrize("name", ["add", "lb", "divw"])
def test_columns_of_up_to_eight_messages(name, log_chunks, monkeypatch):
    """Interpreted and generated."""
    check_interpreted(packed(CHIPS[name](1).describe(), log_chunks), (8, 4096), 3, monkeypatch)


@pytest.mark.parametrize("table", [KeccakRounds, KeccakPlanes])
def test_interpreted_lookup_columns_of_large_tables(table, monkeypatch):
    check_interpreted(table().describe(), (512,), 3, monkeypatch, compiles=False)  # for half a minute


def check_interpreted(air, heights, seed, monkeypatch, compiles=True):
    """Compare the columns that are interpreted while kernels are compiled with the CPU's and the kernels'."""
    bytecode = lookup_bytecode(air)
    public, prefixes, tau, _, _ = draw_challenges(seed, air)
    words = constants(bytecode, public, prefixes, tau)
    for rows in heights:
        main, preprocessed, _ = matrices_of(air, rows, seed)
        expected, terminal = expected_columns(air, bytecode, words, main, preprocessed)
        table = Operands(air, *on_device((main, preprocessed)), public, prefixes)
        before = launches["interpret_lookups"], launches["lookups"]
        with monkeypatch.context() as patch:
            patch.setattr(cuda_bytecode, "_is_late", lambda program, rows: True)
            [(columns, total)] = cuda.lookup_columns([table], tau)
        assert (launches["interpret_lookups"], launches["lookups"]) == (before[0] + 1, before[1])
        np.testing.assert_array_equal(columns.get(), expected)
        assert total == terminal
        if compiles:
            [(compiled, again)] = cuda.lookup_columns([table], tau)
            assert launches["interpret_lookups"] == before[0] + 1 and launches["lookups"] > before[1]
            np.testing.assert_array_equal(compiled.get(), expected)
            assert again == terminal


@pytest.mark.parametrize("count", [3, 64, 70])
def test_many_tables(count):
    """All tables at once, more than one launch accepts."""
    some = [(seed, air) for seed in SEEDS for air in lookup_tables(seed)]
    tau, tables, expected = (5, 6, 7), [], []
    for i in range(count):
        seed, air = some[i % len(some)]
        main, preprocessed, _ = matrices_of(air, 1 << i % 12, seed)
        public, prefixes, *_ = draw_challenges(seed, air)
        bytecode = lookup_bytecode(air)
        words = constants(bytecode, public, prefixes, tau)
        expected.append(expected_columns(air, bytecode, words, main, preprocessed))
        tables.append(Operands(air, *on_device((main, preprocessed)), public, prefixes))
    for ours, (columns, terminal) in zip(cuda.lookup_columns(tables, tau), expected, strict=True):
        np.testing.assert_array_equal(ours[0].get(), columns)
        assert ours[1] == terminal


@pytest.mark.parametrize("late", [False, True])
def test_a_zero_denominator_is_reported(late, monkeypatch):
    """Whether the lookups are interpreted or not:
    prefix - sum of field * tau^i is zero if tau is zero and the last field is the prefix."""
    from graphprover.air import Air, Bus

    class Sender(Air):
        name = "sender"
        columns = ("value",)

        def define(self, t):
            t.send(Bus("bus"), [t.value], 1)

    monkeypatch.setattr(cuda_bytecode, "_is_late", lambda program, rows: late)
    air = Sender().describe()
    main = np.arange(1000, 1256, dtype=np.uint64)[None]
    main[0, 200] = 77
    with pytest.raises(ZeroDivisionError, match="zero in row 200 of sender"):
        cuda.lookup_columns([Operands(air, cupy.asarray(main), None, [], [(77, 0, 0)])], (0, 0, 0))
