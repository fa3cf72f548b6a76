"""Quotients on the device, generated and interpreted, against the CPU's register machine."""

import random

import numpy as np
import pytest

from graphprover.air.bytecode import Source
from graphprover.air.degree import packed
from graphprover.field import P
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cpu import bytecode as cpu
from graphprover.kernels.cpu import domain

cupy = pytest.importorskip("cupy")
from graphprover.kernels.cuda import bytecode as cuda  # noqa: E402
from graphprover.kernels.cuda import generate, source_cache  # noqa: E402
from graphprover.kernels.cuda.launch import launches  # noqa: E402
from graphprover.vm.accelerators.keccak.planes import KeccakPlanes  # noqa: E402
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds  # noqa: E402
from graphprover.vm.tables.chips import CHIPS  # noqa: E402
from tests.cuda.test_inverse import random_words  # noqa: E402
from tests.random_statements import random_statement  # noqa: E402

pytestmark = pytest.mark.gpu

SEEDS = range(12)


def draw_challenges(seed, air):
    """Return public values, prefixes, tau, alpha and terminal."""
    rng = random.Random(seed)

    def ext():
        return (rng.randrange(P), rng.randrange(P), rng.randrange(P))

    public = [rng.randrange(P) for _ in range(air.num_public_values)]
    return public, [ext() for _ in air.lookups], ext(), ext(), ext()


def draw_tables(seed):
    _, statement = random_statement(seed, tables=2, max_width=20, max_degree=1 + seed % 6, interactions=seed % 9)
    return statement.descriptions


def matrices_of(air, rows, seed):
    """Return random main, preprocessed and permutation matrices."""
    widths = (air.main_width, air.preprocessed_width, air.permutation_width)
    return [random_words((width, rows), seed + i) if width else None for i, width in enumerate(widths)]


def on_device(matrices):
    return [None if matrix is None else cupy.asarray(matrix) for matrix in matrices]


def given(words, log_rows, log_chunks):
    """Return a program's constants with the constants of its chunks."""
    return np.concatenate([words, cuda.of_chunks(log_rows, log_chunks, 0)])


def program_of(air, interpreted=False):
    """Return a new program for a quotient."""
    made = source_cache.made_quotient(air)
    return source_cache.Program(made.bytecode, []) if interpreted else made


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_quotient(seed, interpreted):
    for air in draw_tables(seed):
        program, log_chunks = program_of(air, interpreted), air.log_quotient_chunks
        words = constants(program.bytecode, *draw_challenges(seed, air))
        for log_rows in (0, 1, 4, 8):
            size = 1 << (log_rows + log_chunks)
            matrices = matrices_of(air, size << (seed % 2), seed)
            expected = np.empty((3, size), dtype=np.uint64)
            selectors = domain.selectors(log_rows, log_chunks)
            cpu.evaluate(program.bytecode, words, (*matrices, selectors), (expected,), log_rows, True, 0, size)
            before = launches["interpret"]
            quotient = cupy.empty((3, size), dtype=cupy.uint64)
            cuda.evaluate(
                program, given(words, log_rows, log_chunks), on_device(matrices), quotient, log_rows, log_chunks
            )
            np.testing.assert_array_equal(quotient.get(), expected)
            assert launches["interpret"] - before == int(interpreted)


def quotients(air, log_rows, interpreted=False):
    """Return the CPU's and the GPU's quotients of random words."""
    program, log_chunks = program_of(air, interpreted), air.log_quotient_chunks
    words, size = constants(program.bytecode, *draw_challenges(3, air)), 1 << (log_rows + log_chunks)
    matrices, expected = matrices_of(air, size, 3), np.empty((3, size), dtype=np.uint64)
    selectors = domain.selectors(log_rows, log_chunks)
    cpu.evaluate(program.bytecode, words, (*matrices, selectors), (expected,), log_rows, True, 0, size)
    quotient = cupy.empty((3, size), dtype=cupy.uint64)
    cuda.evaluate(program, given(words, log_rows, log_chunks), on_device(matrices), quotient, log_rows, log_chunks)
    return expected, quotient.get()


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("log_chunks", [2, 3])
@pytest.mark.parametrize("name", ["add", "lb", "divw"])
def test_up_to_eight_messages_a_column(name, log_chunks, interpreted):
    air = packed(CHIPS[name](1).describe(), log_chunks)
    assert max(len(lookup.tuples) for lookup in air.lookups) > 1 << log_chunks - 1
    np.testing.assert_array_equal(*quotients(air, 8, interpreted))


# The interpreter has no room for the largest tables.
@pytest.mark.parametrize(("table", "interpreted"), [(KeccakRounds, False), (KeccakPlanes, False), (KeccakPlanes, True)])
def test_a_large_table_is_compiled_as_loops(table, interpreted):
    air = table().describe()
    before = launches["quotient"], launches["interpret"]
    np.testing.assert_array_equal(*quotients(air, 8, interpreted))
    kernels = len(program_of(air).texts)
    assert kernels > (table is KeccakRounds)
    after = launches["quotient"] - before[0], launches["interpret"] - before[1]
    assert after == ((0, 1) if interpreted else (kernels, 0))


@pytest.mark.parametrize("seed", SEEDS)
def test_loops_of_any_table(seed, monkeypatch):
    for name, size in (("WHOLE", 0), ("PART", 1), ("NUMBERS", 20)):
        monkeypatch.setattr(generate, name, size)
    for air in draw_tables(seed):
        np.testing.assert_array_equal(*quotients(air, 5))


def test_constants_too_many_for_parameters(monkeypatch):
    air = next(air for air in draw_tables(8) if air.lookups)
    program, log_chunks = program_of(air), air.log_quotient_chunks
    words = constants(program.bytecode, *draw_challenges(1, air))
    matrices = on_device(matrices_of(air, 16 << log_chunks, 1))
    by_value, by_array = cupy.empty((2, 3, 16 << log_chunks), dtype=cupy.uint64)
    words = given(words, 4, log_chunks)
    cuda.evaluate(program, words, matrices, by_value, 4, log_chunks)
    monkeypatch.setattr(generate, "VALUES", 1)
    cuda.evaluate(program_of(air), words, matrices, by_array, 4, log_chunks)
    np.testing.assert_array_equal(by_array.get(), by_value.get())


def test_what_a_program_reads_must_be_there():
    air = draw_tables(0)[0]
    program, log_chunks = program_of(air), air.log_quotient_chunks
    assert any(matrix == Source.MAIN for matrix, _, _ in program.bytecode.inputs.tolist())
    words = constants(program.bytecode, *draw_challenges(0, air))
    main, preprocessed, permutation = on_device(matrices_of(air, 16 << log_chunks, 0))

    def target(log_rows):
        return cupy.empty((3, 1 << (log_rows + log_chunks)), dtype=cupy.uint64)

    with pytest.raises(ValueError, match="not in the main matrix"):
        cuda.evaluate(program, words, [main, preprocessed, permutation], target(5), 5, log_chunks)
    with pytest.raises(ValueError, match="not in the main matrix"):
        cuda.evaluate(program, words, [None, preprocessed, permutation], target(4), 4, log_chunks)
