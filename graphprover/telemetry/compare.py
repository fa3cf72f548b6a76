"""compare(): two observed proofs, or two batches, side by side."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphprover.runtime.files import MAX_TEXT_BYTES, read_input
from graphprover.telemetry.observation import FORMAT, Observation

Facts = dict[str, Any]
Report = Observation | Mapping[str, Any] | Sequence[Mapping[str, Any]]  # Python, or the JSON of ``--report``

# The sections of a comparison, with the unit of their figures.
SECTIONS = {"run": "", "stages": "s", "rounds": "s", "tables": "s", "cells": "", "memory": "B", "sizes": "B"}
_SETTINGS = ("machine", "parameters", "versions")  # objects that full reports have
_NAMES = ("label", "executor", "device")


def compare(first: Report, second: Report) -> Facts:
    """Compare the figures of two proofs, or the sums over two batches.

        with observed() as seen:
            prover.prove(b"one")
            prover.prove(b"another")
        print(compare(*seen)["rounds"])

    Args:
        first: An observation, or the JSON that ``--report FILE.json`` writes: an object, or a list of a batch.
        second: The other one.

    Returns:
        For each of `SECTIONS` a list of rows with ``name``, ``first``, ``second`` and ``ratio`` (of the second to the
        first). A figure that one report lacks is None. ``differs`` lists the settings of both, such as the program, the
        machine, the device and the parameters, that are not the same, with ``name``, ``first`` and ``second``.

    Raises:
        ValueError: One of the two is no report.
    """
    one, two = _proofs(first), _proofs(second)
    try:
        figures, others = _figures(one), _figures(two)
        settings, other_settings = _settings(one), _settings(two)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"not a report of this version: {error!r}") from error
    differs = [
        {"name": name, "first": settings[name], "second": other_settings[name]}
        for name in settings
        if name in other_settings and settings[name] != other_settings[name]
    ]
    return {"differs": differs} | {name: _rows(figures[name], others[name]) for name in SECTIONS}


def read_report(path: Path) -> Report:
    """Return the JSON report in a file.

    Raises:
        FileError: The file cannot be read.
        ValueError: It is no report.
    """
    try:
        found: Report = json.loads(read_input(path, MAX_TEXT_BYTES))
    except (ValueError, RecursionError) as error:
        raise ValueError("no JSON") from error
    _proofs(found)
    return found


def _proofs(report: Report) -> list[Mapping[str, Any]]:
    """Return the proofs of a report as JSON."""
    found: Any = report.to_json() if isinstance(report, Observation) else report
    proofs = list(found) if isinstance(found, list | tuple) else [found]
    needed = {"name", "seconds", "stages", "rounds", "memory"}
    if not proofs or not all(isinstance(one, Mapping) and needed <= one.keys() for one in proofs):
        raise ValueError("not a report of a proof or a batch")
    if any(one.get("format", FORMAT) != FORMAT for one in proofs):
        raise ValueError(f"a report of another format than {FORMAT}")
    return proofs


def _parts(proofs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the proofs and their layers, with the beginning of the names of their figures."""
    for one in proofs:
        yield "", one
        for layer in one.get("layers", ()):
            yield f"layer {layer['layer']}: ", layer


def _figures(proofs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the sums over proofs, by section and name; of memory the peak."""
    found: dict[str, dict[str, float]] = {name: {} for name in SECTIONS}

    def add(section: str, name: str, value: float | None) -> None:
        if value is not None:
            found[section][name] = found[section].get(name, 0) + value

    for one in proofs:
        add("run", "seconds", one["seconds"])
        for name in ("cycles", "cost"):
            add("run", name, (one.get("run") or {}).get(name))
    for before, one in _parts(proofs):
        for stage in one["stages"]:
            add("stages", before + stage["name"], stage["seconds"])
        for part in one["rounds"]:
            add("rounds", before + part["round"], part["seconds"])
        tables = [before + _kind(table["name"]) for table in one.get("tables", ())]
        for name, table in zip(tables, one.get("tables", ()), strict=True):
            add("cells", name, table["rows"] * table["columns"])
        for time in one.get("table_times", ()):
            add("tables", tables[time["table"]], time["seconds"])
        for name, size in one.get("sizes", {}).items():
            add("sizes", before + name, size)
        peaks = found["memory"]
        for name in ("peak", "planned"):
            peaks[name] = max(peaks.get(name, 0), one["memory"][name])
    return found


def _kind(table: str) -> str:
    """Return the name of a table without its number, which depends on the other tables."""
    number, _, name = table.partition(".")
    return name if number.isdecimal() and name else table


def _settings(proofs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of the first proof, by name, and the number of proofs."""
    first = proofs[0]
    found = {f"{kind}: {name}": value for kind in _SETTINGS for name, value in first.get(kind, {}).items()}
    return {"proofs": len(proofs)} | {name: first.get(name) for name in _NAMES} | found


def _rows(first: Mapping[str, float], second: Mapping[str, float]) -> list[Facts]:
    """Return the figures of both reports, the largest change first."""
    rows = []
    for name in dict.fromkeys([*first, *second]):
        one, two = first.get(name), second.get(name)
        ratio = two / one if one and two is not None else None
        rows.append({"name": name, "first": one, "second": two, "ratio": ratio})
    return sorted(rows, key=lambda row: -abs((row["second"] or 0) - (row["first"] or 0)))
