"""The kernels generated for tables compile for every generation of GPUs, without a GPU, within their registers."""

from collections.abc import Iterable

import pytest

from graphprover.air import Air, Bus
from graphprover.air.bytecode import lookup_bytecode, quotient_bytecode
from graphprover.air.description import AirDescription
from graphprover.jobs.opening import load_packaged
from graphprover.jobs.programs import packaged_names
from graphprover.kernels.cuda import generate
from graphprover.kernels.cuda.source_cache import made_lookups, made_quotient
from graphprover.recursion.layer_tables import possible_tables
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import LANES, TableNumber
from graphprover.vm.tables.chips import CHIPS, IN_PLACE
from tests.cuda import nvrtc
from tests.cuda.nvrtc import ARCHITECTURES, Job
from tests.random_statements import random_statement
from tests.slow import slow_after
from tests.vm.programs import everything

nvrtc.require()

EVERYWHERE = ("add", "ld", "mul")  # tables of the machine that are compiled for every architecture
LANED = ("add", "addi_narrow", "ld", "sw", "ltu", "slli_0", "div")  # ... with several instructions in a row


class Wide(Air):
    """A table with more lookups than one kernel accepts."""

    name = "wide"
    columns = ("flag", "cells[40]")

    def define(self, t):
        t.boolean(t.flag)
        t.transition(t.next.cells[0] - t.cells[1] * t.cells[2])
        for i in range(39):
            t.lookup(Bus(f"bus {i}"), [t.cells[i], t.cells[i + 1] + 3 * t.next.cells[i]], t.flag, weight=1)


def jobs(airs: Iterable[AirDescription], architecture: str) -> list[Job]:
    """Return the kernels of some tables, each text once."""
    titles: dict[str, str] = {}
    for air in airs:
        for code in (*made_lookups(air).texts, *made_quotient(air).texts):
            titles.setdefault(code, f"{air.name}, {air.main_width} columns,")
    return [Job(title, code, architecture) for code, title in titles.items()]


def check(kernels: list[tuple[Job, nvrtc.Kernel]], stack: int) -> None:
    """Assert that there are kernels, all with at most ``stack`` bytes of stack."""
    assert {kernel.name for _, kernel in kernels} == {"quotient", "lookups"}
    for job, kernel in kernels:
        # Four blocks per multiprocessor, which hide the latency of some spills.
        assert 0 < kernel.registers <= 128 and kernel.stack <= stack, (job.title, job.architecture, kernel)


@pytest.mark.parametrize(
    ("architecture", "names"),
    slow_after(1, [("sm_90", ["examples/memory"]), *((name, packaged_names()) for name in ARCHITECTURES)]),
    ids=["some", *ARCHITECTURES],
)
def test_compiles(architecture, names, record_kernels):
    airs = list(random_statement(3, tables=2, max_width=20, max_degree=5, interactions=8)[1].descriptions)
    examples = [air.describe() for name in names for air in load_packaged(name).module.tables()]
    # Keccak-f, which takes 30 s, is compiled with the machine's tables, whose bound on the stack is wider.
    airs += [air for air in examples if not air.name.startswith("keccak_")]
    airs += [Wide().describe(), *(CHIPS[name](1).describe() for name in EVERYWHERE)]
    kernels = nvrtc.compile_all(jobs(airs, architecture))
    record_kernels(kernels)
    check(kernels, stack=1024)


@pytest.mark.slow
def test_some_tables_of_the_machine_compile(record_kernels):
    """A table without chips, one that chips share, and a wide one."""
    machine = Machine(everything(1))
    airs = [
        machine.air(number, tables=100, output_words=1) for number in (0, TableNumber.REGISTERS, TableNumber.COMMON)
    ]
    kernels = nvrtc.compile_all(jobs((air.describe() for air in [*airs, CHIPS["div"](1)]), "sm_90"))
    record_kernels(kernels)
    check(kernels, stack=4096)


@pytest.mark.slow
def test_every_table_of_the_machine_compiles(record_kernels):
    """For one architecture; tables whose rd is rs1 by one example, as they only have one access less."""
    machine = Machine(everything(1))
    airs = [machine.air(number, tables=100, output_words=2, input_words=2) for number in (0, *TableNumber)]
    airs += [make(1) for name, make in CHIPS.items() if not name.endswith(IN_PLACE) or name == f"add{IN_PLACE}"]
    kernels = nvrtc.compile_all(jobs((air.describe() for air in airs), "sm_90"))
    record_kernels(kernels)
    check(kernels, stack=4096)


@pytest.mark.slow
def test_tables_of_several_instructions_a_row_compile(record_kernels):
    kernels = nvrtc.compile_all(jobs((CHIPS[name](LANES[-1]).describe() for name in LANED), "sm_90"))
    record_kernels(kernels)
    check(kernels, stack=4096)


@pytest.mark.slow
def test_tables_of_layers_compile(record_kernels):
    """Of three tables, and the merged one."""
    kernels = nvrtc.compile_all(jobs((air.describe() for air in possible_tables()), "sm_90"))
    record_kernels(kernels)
    check(kernels, stack=4096)


def test_a_table_of_many_lookups_takes_several_kernels():
    air = Wide().describe()
    groups = tuple(len(lookup.tuples) for lookup in air.lookups)
    texts = generate.lookup_sources(lookup_bytecode(air), groups)
    assert len(texts) > 1
    for column in range(len(groups)):
        assert sum(text.count(f"columns + {3 * (column + 1)} * rows") for text in texts) == 1
    assert all(text.count("Ext total = ext::load") == (i > 0) for i, text in enumerate(texts))


def test_sums_deeper_than_the_stack():
    class Deep(Air):
        name = "deep"
        columns = ("cells[3000]",)

        def define(self, t):
            t.every_row(sum(t.cells[1:], start=t.cells[0]))

    (text,) = generate.quotient_sources(quotient_bytecode(Deep().describe()), 1)
    assert "main[2999 * main_rows + row]" in text


def test_the_text_depends_on_the_table_alone():
    first, second = (generate.quotient_sources(quotient_bytecode(Wide().describe()), 2) for _ in range(2))
    assert first == second
