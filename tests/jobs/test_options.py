"""The table of options: whoever takes an option has it by its name, with its default."""

from dataclasses import fields
from inspect import signature

import pytest

from graphprover.jobs.job import Job
from graphprover.jobs.machine_options import MACHINE_OPTIONS
from graphprover.jobs.option import wrong_value
from graphprover.jobs.options import (
    BY_NAME,
    JOB,
    OPTIONS,
    PROVER,
    RUN,
    OptionsOfProof,
    OptionsOfRun,
    conflict,
    in_keys,
    level_of,
    of_job,
    of_prover,
    of_run,
    options_of,
)
from graphprover.protocol.level import COMPRESSED_POW_BITS, Level
from graphprover.proving.prover import Prover
from graphprover.proving.settings import ProvingSettings
from graphprover.vm.executor.run_options import Limits


def test_a_prover_takes_the_options_of_the_table() -> None:
    assert set(OptionsOfProof.__annotations__) == {option.name for option in options_of(PROVER)}
    assert vars(Level()).items() >= {(name, value) for name, value in of_prover(defaults()).items() if value}
    plain, usual = Prover("examples/memory"), Prover("examples/memory", **of_prover(defaults()))
    assert (plain.level, plain.layers, plain.shards) == (usual.level, usual.layers, usual.shards) == (Level(), (), None)
    assert level_of({"compress": (8,), "rate": None}) == Level(pow_bits=COMPRESSED_POW_BITS)
    with pytest.raises(TypeError, match=r"a Prover has no option 'shard': choose security, rate, .* or shard_size$"):
        Prover("examples/memory", shard=2)  # type: ignore[call-arg]


def test_a_job_has_the_options_of_the_table() -> None:
    own = {field.name: field.default for field in fields(Job)}
    for option in options_of(JOB):
        if option.name not in Limits.__annotations__ and option.name != "name":
            assert own[option.name] == option.default, option.name
    assert set(OptionsOfRun.__annotations__) == {option.name for option in options_of(JOB) if option.group == RUN}
    made = Job(Prover("examples/memory"), **of_job(defaults() | {"max_cycles": 9, "max_memory": 2}))
    assert made.limits == {"max_cycles": 9, "max_memory": 2 << 20}
    assert of_run({"exit_code": 3, "max_memory": 2 << 20}) == {"exit_code": 3, "limits": {"max_memory": 2 << 20}}


def test_the_settings_of_a_process_are_the_options_of_the_machine() -> None:
    own = {field.name: field.default for field in fields(ProvingSettings)}
    assert own == {option.name: option.default or None for option in MACHINE_OPTIONS}
    assert not own.keys() & BY_NAME.keys()
    for option in MACHINE_OPTIONS:
        assert (PROVER in option.where) == (option.name in signature(Prover).parameters)


def test_flags_become_names_but_not_in_commands() -> None:
    assert in_keys("0 with --commit-input; see `graphprover execute --cost`") == (
        "0 with commit_input; see `graphprover execute --cost`"
    )


def defaults() -> dict[str, object]:
    return {option.name: option.default for option in OPTIONS if option.default is not None}


@pytest.mark.parametrize("option", [*OPTIONS, *MACHINE_OPTIONS], ids=lambda option: option.name)
def test_a_row_agrees_with_itself(option: object) -> None:
    row = next(own for own in (*OPTIONS, *MACHINE_OPTIONS) if own is option)
    values = row.values
    for value in (row.default, row.bare, *values.choices):
        assert value is None or wrong_value(row, value) is None
    assert wrong_value(row, {}) and wrong_value(row, [[]]) and row.help.endswith(".")
    assert row.name == row.flag.removeprefix("--").replace("-", "_") and in_keys(row.flag) == row.name
    if row.excludes:
        assert conflict({row.name: 1, row.excludes: 1}) == (
            row.name,
            f"excludes {BY_NAME[row.excludes].flag}: give only one of the two",
        )
    for text in map(str, values.choices):
        assert values.read(text) in values.choices
