"""The run of a job's program with its record, and the statement about the run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from threading import Timer
from typing import TYPE_CHECKING, Any

from graphprover.air.degree import at_rate
from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.jobs.precompile import compile_missing, load_interpreter
from graphprover.jobs.programs import ProgramError
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import FAST, RATES
from graphprover.prover.autoshard import fitting
from graphprover.prover.prepare import Prepared, PreparedShards, ready
from graphprover.prover.smallest import smallest
from graphprover.runtime.deadline import check_deadline
from graphprover.statement.cost import cost_of_tables
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.telemetry.subscribe import observing
from graphprover.vm import kernels
from graphprover.vm.executor.run_options import RunOptions
from graphprover.vm.statement.claim import ANY
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.possible import possible_tables, shared_tables

if TYPE_CHECKING:
    from graphprover.jobs.job import Job

_LONG_RUN = 1.0  # seconds


def record_run(job: "Job", by: Device | None, options: RunOptions) -> Any:
    """Return the run that is to be proved, with its record; ``by``: the device of the proof."""
    program, limited = job.prover.program, job.limits or job.max_cost is not None
    asked = job.commit_input or limited or job.random_seed is not None or job.exit_code not in (0, ANY)
    if asked and not program.has_runs:
        raise ProgramError(
            f"{program.name}: no guest, so it has no input to state, no exit code, no random numbers and no limits"
        )
    data = job.provable_input()
    with compiling(by, program.elf, job.prover.level.rate):
        run = program.record(data, **options)
    if program.has_runs:
        job.check_exit_code(run.exit_code)
    return run


def prepared_about(job: "Job", run: Any, by: Device | None) -> Prepared | PreparedShards:
    """Return the statement about a recorded run, for a proof by this device."""
    prover, program = job.prover, job.prover.program
    if job.max_cost is not None:
        program.cost_about(run, device=by).check(job.max_cost)

    def cut(shards: int, level: Level = prover.level) -> Prepared | PreparedShards:
        statement = statement_at(job, run, shards, level, by)
        return ready(statement, job.level_of(statement, level, by))

    shards = 1 if prover.shards is None else prover.shards
    if prover.small is not None:
        on = by or device_for("auto")
        found = smallest(partial(cut, shards), prover.level, prover.small, on, program.layout_policy)
        if found:
            return found
        # No rate fits time and memory: the cheapest one is left, in more shards if necessary.
        cut = partial(cut, level=replace(prover.level, rate=FAST))
    if by is None or not program.has_runs or prover.shards is not None or prover.shard_size is not None:
        return cut(shards)
    return fitting(cut, run.cycles, by)


def statement_at(
    job: "Job", run: Any, shards: int, level: Level, by: Device | None = None
) -> Statement | ShardedStatement:
    """Return the statement about a recorded run, laid out for a proof at a level.

    Args:
        job: The job.
        run: The run with its record.
        shards: The number of shards, unless the prover has a size of shards.
        level: The level.
        by: The device that makes traces.
    """
    check_deadline()
    return job.prover.program.statement_about(
        run,
        commit_input=job.commit_input,
        shards=shards,
        shard_size=job.prover.shard_size,
        rate=job.layout_rate(level),
        device=by,
    )


def cost_for(job: "Job", run: Any, prepared: Prepared | PreparedShards, by: Device) -> int | None:
    """Return the cost number of a guest's run for reports; None without an observer, if the proof does not give it.

    The proof has the tables that the number is about, unless its options give it others.
    """
    prover, program = job.prover, job.prover.program
    usual = program.layout_policy(job.layout_rate()) == program.layout_policy(None) and prover.small is None
    if usual and not job.commit_input and isinstance(prepared, Prepared):
        layout = prepared.layout
        heights = (1 << log_height for log_height in layout.log_heights)
        return cost_of_tables(zip(layout.tables, heights, strict=True), run.cycles).value
    return program.cost_about(run, device=by).value if observing() else None


@contextmanager
def compiling(device: Device | None, machine: Machine | None, rate: int | None) -> Iterator[None]:
    """Have kernels compiled during a run: the ones of every proof, and in a long run the ones that its proof may need.

    After a short run the needed kernels are known almost at once, and every process would compile the guesses anew.

    ``rate``: N of the rate 1/N that the proof is asked to have, if any.
    """
    if device is None or machine is None:
        yield
        return
    kernels.expect(device)
    packed = partial(at_rate, log_blowup=RATES[rate or FAST])
    device.expect(map(packed, shared_tables(machine)), guess=True)  # one or both of which every run needs
    _load_interpreter()
    waiting = Timer(_LONG_RUN, partial(device.expect, map(packed, possible_tables(machine)), guess=True))
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()


@cache
def _load_interpreter() -> None:
    """Load the interpreter in a process's first run; the wait for it does not make the run a long one."""
    compile_missing()
    load_interpreter()
