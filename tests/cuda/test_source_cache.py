"""The text generated for a table is cached for other processes, and equals a new one. No GPU is needed here."""

import random

import numpy as np
import pytest

from graphprover.air.bytecode import lookup_bytecode, quotient_bytecode
from graphprover.air.degree import packed
from graphprover.field import P
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cuda import source_cache
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds
from graphprover.vm.tables.chips import CHIPS
from tests.random_statements import random_statement

AIRS = random_statement(3, tables=3, max_width=20, interactions=8)[1].descriptions


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "kept"))
    forget()
    yield tmp_path / "kept"
    forget()


def forget():
    """As a new process knows nothing."""
    for known in (source_cache.lookup_program, source_cache.quotient_program, source_cache._warn_once):
        known.cache_clear()


def counted(monkeypatch):
    """Return the list of tables for which texts are generated from now on."""
    made = []
    for name in ("made_lookups", "made_quotient"):
        make = getattr(source_cache, name)
        monkeypatch.setattr(source_cache, name, lambda air, make=make: made.append(air) or make(air))
    return made


def texts_of(airs):
    forget()
    return [job.text for air in airs for job in source_cache.table_jobs(air)]


def words(bytecode, air):
    """Return the constants of a proof, and all other inputs of kernels from a bytecode."""
    rng = random.Random(1)

    def ext():
        return rng.randrange(P), rng.randrange(P), rng.randrange(P)

    public = [rng.randrange(P) for _ in range(air.num_public_values)]
    values = constants(bytecode, public, [ext() for _ in air.lookups], ext(), ext(), ext())
    return np.concatenate([values, *(array.ravel() for array in (bytecode.inputs, bytecode.instructions))]).tolist()


def test_a_process_takes_what_another_kept(folder, monkeypatch):
    made = counted(monkeypatch)
    airs = (*AIRS, KeccakRounds().describe())
    texts = texts_of(airs)
    assert len(made) == len(list(folder.iterdir())) == 2 * len(airs)
    assert texts_of(airs) == texts and len(made) == 2 * len(airs)
    for air in airs:
        for taken, anew in (
            (source_cache.lookup_program(air), source_cache.made_lookups(air)),
            (source_cache.quotient_program(air), source_cache.made_quotient(air)),
        ):
            assert taken.texts == anew.texts and taken.bytecode is not anew.bytecode
            assert words(taken.bytecode, air) == words(anew.bytecode, air)


def test_another_source_is_another_file(folder, monkeypatch):
    made = counted(monkeypatch)
    texts_of(AIRS)
    before = source_cache._sources()
    monkeypatch.setattr(source_cache, "__version__", "another")
    source_cache._sources.cache_clear()
    assert source_cache._sources() != before
    texts_of(AIRS)
    assert len(made) == len(list(folder.iterdir())) == 4 * len(AIRS)
    source_cache._sources.cache_clear()


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:-1] + b"?"])
def test_a_damaged_file_is_made_again(folder, damage, monkeypatch, caplog):
    texts = texts_of(AIRS)
    path = next(folder.iterdir())
    path.write_bytes(damage(path.read_bytes()))
    made = counted(monkeypatch)
    assert texts_of(AIRS) == texts and len(made) == 1
    assert caplog.messages == [f"graphprover: {path}: damaged, removed and made again"]
    assert texts_of(AIRS) == texts and len(made) == 1


def test_without_a_place_nothing_is_kept_and_a_line_says_so(folder, monkeypatch, caplog):
    folder.write_text("no folder")
    made = counted(monkeypatch)
    assert texts_of(AIRS) == texts_of(AIRS) and len(made) == 4 * len(AIRS)
    assert caplog.messages[0].startswith("graphprover: texts of kernels cannot be kept: [Errno 17] File exists")
    assert len(set(caplog.messages)) == 1


def test_each_packing_has_a_program(folder):
    """Its description is the same, and the columns are not."""
    alike = [packed(CHIPS["add"](1).describe(), log_chunks) for log_chunks in range(4)]
    airs = [air for air in alike if len(air.lookups) < len(alike[0].lookups)]
    assert len(airs) > 1 and len({air.canonical_bytes for air in alike}) == 1
    for air in (alike[0], *airs):
        texts_of([air])
        forget()
        assert words(source_cache.lookup_program(air).bytecode, air) == words(lookup_bytecode(air), air)
        assert words(source_cache.quotient_program(air).bytecode, air) == words(quotient_bytecode(air), air)
