"""The places in the Python source that state each instruction of the verifier's program."""

import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from graphprover.recursion.program import assembler
from graphprover.recursion.program.verifier import verifier_program

_CALLS = ("_add", "_result")  # of the assembler, that are no methods of programs


@dataclass(frozen=True)
class Site:
    """A call of an assembler's method, in one function of the program."""

    function: str  # of the program
    file: str
    line: int
    code: str  # the Python function that has the line
    method: str  # of the assembler; with the inner one if it states several instructions

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.code}, in {self.function}: {self.method}"


@cache
def sites() -> tuple[Site, ...]:
    """Return the site of each instruction of the verifier's program."""
    stated: list[tuple[assembler.UnlinkedInstruction, Site]] = []

    class Noted(assembler.UnlinkedInstruction):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            stated.append((self, _site(self.source)))

    with mock.patch.object(assembler, "UnlinkedInstruction", Noted):
        linked = verifier_program.__wrapped__()
    found: list[Site | None] = [None] * len(linked.sources)
    for instruction, site in stated:
        found[instruction.address] = site
    assert (linked.fields == verifier_program().fields).all()
    return tuple(site for site in found if site is not None)


def _site(source: str) -> Site:
    methods: list[str] = []
    frame = sys._getframe(2)
    while (path := Path(frame.f_code.co_filename)).name in ("assembler.py", "contextlib.py"):
        name = frame.f_code.co_name
        if path.name == "assembler.py" and name.isidentifier() and name not in _CALLS:
            methods.insert(0, name.strip("_"))
        assert frame.f_back is not None
        frame = frame.f_back
    return Site(source.partition(",")[0], path.name, frame.f_lineno, frame.f_code.co_name, "/".join(methods))


@cache
def by_site() -> Mapping[Site, tuple[int, ...]]:
    """Return the addresses of each site's instructions."""
    found = defaultdict[Site, list[int]](list)
    for pc, site in enumerate(sites()):
        found[site].append(pc)
    return {site: tuple(pcs) for site, pcs in found.items()}


@cache
def at(code: str, method: str, function: str = "") -> tuple[int, ...]:
    """Return the addresses of instructions that a method states in a Python function, of one program's function."""
    found = [
        pc
        for pc, site in enumerate(sites())
        if site.code == code and site.method == method and function in ("", site.function)
    ]
    assert found, f"no {method} in {code}"
    return tuple(found)
