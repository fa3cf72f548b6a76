"""Cached descriptions equal the definitions', and count only for their sources."""

import logging
import marshal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphprover.air import Air, described
from graphprover.air.air import run_definition
from graphprover.air.description import AirDescription
from graphprover.air.packed import pack, unpack
from graphprover.recursion.layer_tables import layer_tables, merged_table
from graphprover.recursion.tables.merged import Merged
from graphprover.runtime import files
from graphprover.vm.statement.statement import _same_for_all
from graphprover.vm.statement.table_numbers import CHIP_TABLES, SHARED, TableNumber
from graphprover.vm.tables.fixed import Powers

_PATHS = described._paths  # tests/conftest.py replaces it
NUMBERS = [
    *CHIP_TABLES, *SHARED, TableNumber.BUMP, TableNumber.REGISTERS, TableNumber.KECCAK_PLANES,
    TableNumber.KECCAK_CLASSES, TableNumber.KECCAK_LIMBS,
]  # fmt: skip
# Prints how many tables were described in which way.
COUNT = """
from graphprover.air.described import used
from graphprover.recursion.layer_tables import layer_tables
from graphprover.vm.statement.statement import _same_for_all
for number in (161, 8, 8): _same_for_all(number).describe().lookups
for air in layer_tables(None).values(): air.describe().lookups
print(used["run"], used["loaded"])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of the file, which this process has not read."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(described, "_paths", _PATHS)
    monkeypatch.setattr(described, "_new", {})
    described._loaded.cache_clear()
    yield tmp_path
    described._loaded.cache_clear()


def table() -> Air:
    return described.described("powers", Powers())


def counts(table: Air) -> dict[str, int]:
    """Return how the description of a table was made."""
    before = described.used.copy()
    table.describe()
    return dict(described.used - before)


@pytest.mark.parametrize("part", range(8))
def test_a_packed_description_is_the_definition(part: int) -> None:
    for number in NUMBERS[part::8]:
        check_packed(_same_for_all(number))


def test_a_packed_description_of_a_layer_is_the_definition() -> None:
    for air in layer_tables(None).values():
        check_packed(air)
    check_packed(merged_table(None, 16), Merged.side_by_side)


def check_packed(air: Air, make: Callable[[Any], AirDescription] = run_definition) -> None:
    description = make(air)
    found = unpack(marshal.loads(marshal.dumps(pack(description))))
    computed = set(found.__dict__) - set(description.__dataclass_fields__)
    assert found == description and computed == {"degrees", "depths", "log_quotient_chunks", "lookups"}
    assert all(getattr(found, name) == getattr(description, name) for name in computed)


def test_a_later_process_loads_descriptions(tmp_path: Path) -> None:
    run = [sys.executable, "-X", f"pycache_prefix={tmp_path}", "-c", COUNT]
    found = [subprocess.run(run, check=True, capture_output=True, text=True).stdout.split() for _ in range(2)]
    assert found == [["4", "0"], ["0", "4"]]


def test_a_file_of_other_sources_does_not_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert counts(table()) == {"run": 1}
    described._save()
    described._loaded.cache_clear()
    assert counts(table()) == {"loaded": 1}
    described._loaded.cache_clear()
    monkeypatch.setattr(described, "_stamp", lambda: bytes(32))
    assert counts(table()) == {"run": 1}


def test_sources_that_change_give_another_stamp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stamps = []
    monkeypatch.setattr(described, "_PACKAGE", tmp_path)
    monkeypatch.setattr(described, "_FILES", ("field.py",))
    monkeypatch.setattr(described, "_FOLDERS", ("air",))
    (tmp_path / "air").mkdir()
    for field, bus in ((1, 1), (1, 2), (1, 2), (2, 2)):
        (tmp_path / "field.py").write_text(f"a = {field}")
        (tmp_path / "air" / "bus.py").write_text(f"a = {bus}")
        described._stamp.cache_clear()
        stamps.append(described._stamp())
    described._stamp.cache_clear()
    assert stamps[0] != stamps[1] == stamps[2] != stamps[3]


def test_a_damaged_file_is_replaced(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    table().describe()
    described._save()
    (path,) = (path for path in described._paths() if path.is_file())
    path.write_bytes(path.read_bytes()[:-1])
    described._loaded.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert counts(table()) == {"run": 1}
    assert "damaged" in caplog.text


def test_without_a_writable_place_the_private_folder_has_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", "/dev/null")
    monkeypatch.setattr(described, "private_folder", lambda: tmp_path / "private")
    table().describe()
    described._save()
    assert [path.parent for path in described._paths() if path.is_file()] == [tmp_path / "private"]


def test_without_any_place_tables_are_described_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise files.FileError("no folder")

    monkeypatch.setattr(sys, "pycache_prefix", "/dev/null")
    monkeypatch.setattr(described, "private_folder", refuse)
    assert counts(table()) == {"run": 1}
    described._save()
    described._loaded.cache_clear()
    assert counts(table()) == {"run": 1}
