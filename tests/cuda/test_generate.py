"""The kernels generated for tables compile for every generation of GPUs, without a GPU, and keep to their registers."""

import pytest

pytest.importorskip("cuda.core", reason="cuda-core[cu13] is not installed")

from graphprover.air import Air, Bus
from graphprover.air.program import lookup_program, quotient_program
from graphprover.kernels.cuda import generate
from tests.cuda.test_compile import ARCHITECTURES, resources
from tests.random_statements import random_statement


class Wide(Air):
    """A table of more packed lookups than one kernel takes."""

    name = "wide"
    columns = ("flag", "cells[40]")

    def define(self, t):
        t.boolean(t.flag)
        t.transition(t.next.cells[0] - t.cells[1] * t.cells[2])
        for i in range(generate.PART + 1):
            t.lookup(Bus(f"bus {i}"), [t.cells[i], t.cells[i + 1] + 3 * t.next.cells[i]], t.flag, weight=1)


def compiled(code: str, architecture: str) -> tuple[int, int]:
    """Registers and bytes of stack of its one kernel."""
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(arch=architecture, std="c++17")
    ((name, result),) = resources(Program(code, "c++", options).compile("cubin").code).items()
    assert name in ("quotient", "lookups")
    return result


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_compiles(architecture, capsys):
    tables = random_statement(3, tables=2, max_width=20, max_degree=5, interactions=8)[1].descriptions
    for air in (*tables, Wide().describe()):
        codes = [generate.quotient_source(quotient_program(air), 1 << air.log_quotient_chunks)]
        if air.lookups:
            codes += generate.lookup_sources(lookup_program(air), tuple(len(each.tuples) for each in air.lookups))
        for code in codes:
            registers, stack = compiled(code, architecture)
            with capsys.disabled():
                print(f"\n{architecture} {air.name}: {registers} registers, {stack} bytes of stack", end="")
            # Four blocks a multiprocessor, which then hide what is spilled.
            assert 0 < registers <= 128 and stack <= 1024


def test_a_table_of_many_lookups_takes_several_kernels():
    air = Wide().describe()
    assert len(air.lookups) == generate.PART + 1
    assert len(generate.lookup_sources(lookup_program(air), (1,) * len(air.lookups))) == 2


def test_sums_deeper_than_the_stack():
    class Deep(Air):
        name = "deep"
        columns = ("cells[3000]",)

        def define(self, t):
            t.every_row(sum(t.cells[1:], start=t.cells[0]))

    assert "main[2999 * main_rows + row]" in generate.quotient_source(quotient_program(Deep().describe()), 1)


def test_the_text_depends_on_the_table_alone():
    first, second = (generate.quotient_source(quotient_program(Wide().describe()), 2) for _ in range(2))
    assert first == second
