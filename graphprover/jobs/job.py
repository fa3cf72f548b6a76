"""A job: a run of a program that is to be proved. It travels to workers."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.jobs.existing import contents, read_existing, says, to_say, valid_existing
from graphprover.jobs.on_workers import JobOnWorkers, for_workers, guest_run
from graphprover.jobs.opening import PackedCheck
from graphprover.jobs.options import MOST_PRIORITY
from graphprover.jobs.preparing import compiling, cost_for, prepared_about, record_run
from graphprover.jobs.recipe import Recipe
from graphprover.jobs.returned import check_exit_code
from graphprover.proof.compressed import AnyProof
from graphprover.proof.sizes import expected_sizes
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import SMALL
from graphprover.prover.local import make
from graphprover.prover.made import Made
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.runtime.arguments import expect, given
from graphprover.runtime.compiling import compile_seconds
from graphprover.runtime.deadline import check_deadline, within
from graphprover.runtime.display.notebook import html, quoted, short
from graphprover.runtime.files import check_room, read_input
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.telemetry.model import GuestRun
from graphprover.telemetry.subscribe import clock, deliver, stage, with_stages_before
from graphprover.vm.executor.debug import Debug
from graphprover.vm.executor.execute import Execution, half_of_memory
from graphprover.vm.executor.run_options import Limits, RunOptions, seed_for
from graphprover.vm.executor.snapshot import Snapshot
from graphprover.vm.executor.window import Window, record_window
from graphprover.vm.statement.claim import ANY, MAX_STATED_INPUT, Claim
from graphprover.vm.statement.statement import Machine

_log = logging.getLogger(__name__)

_AHEAD = 4  # a run ahead of its turn takes at most this part of the memory that a run may take


@dataclass(frozen=True)
class Started:
    """A job's run, prepared for its proof."""

    prepared: Prepared | PreparedShards
    ran: GuestRun | None  # None for tables
    seconds: float  # since the job started
    compile_seconds: float  # of these, in which kernels were compiled


@dataclass(frozen=True, eq=False)
class Job:
    """A run of a program that is to be proved. It travels with the contents of its files, which are read then."""

    prover: Recipe  # the program and the options of the proof, such as a `graphprover.Prover`
    data: bytes | Path | None = None  # the input, or its file, which is read when the job is sent
    name: str = ""  # for people: in logs and on the dashboard; the program's if empty
    commit_input: bool = False  # the proof of a guest states its input
    exit_code: int | str = 0  # of a guest: another one is an error, unless this is `ANY`
    limits: Limits = field(default_factory=Limits)  # of a guest's run
    # A proof, or its file: if `Prover.verify` accepts it and its claim is the new proof's, no new proof is made.
    existing: bytes | Path | None = None
    output: Path | None = None  # the file for the proof: too little space there is an error before this process proves
    random_seed: int | None = None  # of a guest's random numbers; by default it depends on the input
    debug: Debug | None = None  # called with the guest's debug text, instead of the prover's function
    drop_debug: bool = False  # the guest's debug text has no receiver
    max_cost: int | None = None  # the highest `Prover.cost` of a guest's run; one above it is not proved
    priority: int = 0  # of the jobs that wait, the one with the highest is next; from -1000 to 1000
    # Seconds in which the job must be proved, from its start in the process that proves it, without the verification.
    # The process checks it during the run and between the tasks of the proof, and does not interrupt a task.
    timeout: float | None = None
    # Called with the progress of a proof by this process, if `make` has no other receiver; an exception ends the job.
    progress: Tell | None = None
    # Called in this process before each task, or about once a second if a worker proves; an exception ends the job.
    interrupt: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.prover, str | Path):
            raise TypeError(f"{self.prover!r} is a file, not a Prover: Prover({str(self.prover)!r}).job(...)")
        expect(self.prover, Recipe, "Job: the prover", "give a Prover")
        if self.prover.mock:
            raise ValueError("mock=True: such a Prover makes mock proofs by its method prove, and has no jobs")
        if self.data is not None:
            expect(self.data, (bytes, bytearray, memoryview, Path), "the input", "give bytes, or a Path to a file")
        if type(self.exit_code) is not int and self.exit_code != ANY:
            raise TypeError(f"exit_code is {given(self.exit_code)}: give an integer, or {ANY!r}")
        if not -MOST_PRIORITY <= self.priority <= MOST_PRIORITY:
            raise ValueError(f"priority {self.priority}: expected a number from -{MOST_PRIORITY} to {MOST_PRIORITY}")
        if self.timeout is not None and not 0 < self.timeout < inf:
            raise ValueError(f"timeout {self.timeout}: expected a positive number of seconds")

    def __getstate__(self) -> dict[str, Any]:
        sent = {"prover": self.prover.alone, "data": self.input(), "existing": read_existing(self.existing)}
        return self.__dict__ | dict.fromkeys(("output", "debug", "progress", "interrupt")) | sent

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        facts = {
            "security bits": self.prover.level.security,
            "exit code": self.exit_code,
            "limits": short(", ".join(f"{name} {most:,}" for name, most in self.limits.items()) or "none"),
            "random seed": "by the input" if self.random_seed is None else self.random_seed,
            "highest cost": "any" if self.max_cost is None else self.max_cost,
            "priority": self.priority,
            "timeout": "none" if self.timeout is None else f"{self.timeout:g} s",
            "states its input": "yes" if self.commit_input else "no",
            "proof that is there": contents(self.existing),
            "output": contents(self.output),
        }
        return html(self._title, facts)

    @property
    def _title(self) -> str:
        name = f" {quoted(self.name)}" if self.name else ""
        return f"Job{name} of {quoted(self.prover.name)}, input: {contents(self.data)}"

    @property
    def label(self) -> str:
        """The name of the job, or of its program without the hash."""
        return self.name or self.prover.program.label.split(" ")[0]

    @property
    def log_fields(self) -> Mapping[str, str]:
        """The fields that name the job in lines of a log, beside its label: none."""
        return {}

    @property
    def weight(self) -> int:
        """The bytes of the input, which stand for the weight of the job: its cycles are known only after its run."""
        if not isinstance(self.data, Path):
            return len(self.data or b"")
        try:
            return self.data.stat().st_size
        except OSError:  # reported when it is read
            return 0

    def count(self, claim: Claim | None = None) -> int | None:
        """Return in how many shards the proof was asked for; None if the worker decides.

        ``claim``: of the guest's run, which cycle ranges need.
        """
        if self.prover.shard_size is not None and claim:
            return -(-claim.cycles // self.prover.shard_size)
        return self.prover.shards

    def prepared(self, device: Device | str | None = None) -> Prepared | PreparedShards:
        """Run the program, and return the statement about the run with its traces.

        Args:
            device: The device of the proof. A guest's run is cut so that its proof fits, unless the prover has a number
                or a size of shards.

        Raises:
            Exception: every exception of `Prover.prove` before the proof.
        """
        by = None if device is None else device_for(device)
        return prepared_about(self, self.recorded(by, self.run_options()), by)

    def recorded(self, by: Device | None, options: RunOptions) -> Any:
        """Return the run that is to be proved, with its record; ``by``: the device of the proof."""
        return record_run(self, by, options)

    def level_of(
        self, statement: Statement | ShardedStatement, level: Level | None = None, by: Device | None = None
    ) -> Level:
        """Return the level of the proof of a statement about the job's run; the base of a compressed one has a rate.

        Args:
            statement: The statement with the traces of all its shards, or with their shapes.
            level: The requested level; by default the prover's.
            by: The device of the proof; by default the one that this process would take.
        """
        level = level or self.prover.level
        if not self.prover.layers:
            return level
        from graphprover.prover.tree_choice import base_level  # here, because other proofs need no layers

        return base_level(statement, level, self.prover.layers, by or device_for("auto"))

    def make(
        self,
        executor: str = THREADS,
        device: Device | str = "auto",
        progress: bool | Tell | None = False,
        verified: bool = True,
    ) -> Made:
        """Prove the run by a device of this process, or return the proof that is there already.

        The proof is verified against the program, as `graphprover prove` does it.

        Args:
            executor: ``"threads"`` or ``"sync"``.
            device: As in `graphprover.prove`.
            progress: As in `graphprover.prove`.
            verified: False leaves the verification of a new proof to the caller.

        Raises:
            FileError: for an input that cannot be read.
            Exception: every exception of `Prover.prove`.
        """
        started = self.start(device)
        if isinstance(started, Made):
            return started
        base = self.prove_started(started, executor, device, progress)
        unchecked = self.compressed(base, executor, device, progress)
        return self.delivered(self.check(unchecked) if verified else unchecked)

    def start(self, device: Device | str = "auto", run: Any = None) -> "Made | Started":
        """Run the program and prepare the proof, the first stage of `make`; return a proof that is there already.

        ``device``: as in `make`; ``run``: the run with its record if `run_ahead` has made it, which was not silent.

        Raises:
            Exception: every exception of `Prover.prove` before the proof.
        """
        began, compiled = time.perf_counter(), compile_seconds()

        def kept(proof: AnyProof) -> Made:
            seconds = {"verify": time.perf_counter() - began}
            return Made(proof, None, seconds, kept=True, run=guest_run(rehearsed))

        proof = valid_existing(self)
        rehearsed = self.rehearse() if proof else None
        claim = self.claim_about(rehearsed)
        if proof and claim and self.prover.program.claim_in(proof.header) == claim:
            return kept(proof)
        with stage("prepare"), within(self.timeout, self.label, interrupt=self.interrupt):
            by = device_for(device)
            if run is None:
                silent = RunOptions(debug=None) if rehearsed else RunOptions()  # its text has been shown
                run = self.recorded(by, self.run_options() | silent)
            check_deadline()
            prepared = prepared_about(self, run, by)
        if proof and not claim and says(proof.header) == to_say(prepared):
            return kept(proof)
        if self.prover.layers:
            from graphprover.prover.layers import check_prepared  # here, because other proofs need no layers

            check_prepared(prepared)
        else:
            self.check_room(prepared)
        ran = guest_run(run, cost_for(self, run, prepared, by)) if self.prover.program.has_runs else None
        return Started(prepared, ran, time.perf_counter() - began, compile_seconds() - compiled)

    def run_ahead(self, device: Device, debug: Debug | None) -> Any:
        """Return the run for `start` with its record, made in a thread beside another proof; None leaves it to `start`.

        Whatever fails is left to `start` too, which reports it at the job's turn. The run has only a part of the memory
        that a run may take, because the record of the other proof is still there.

        Args:
            device: The device of the proof.
            debug: Called with the guest's debug text, instead of the job's receiver.
        """
        if isinstance(self.data, Path) and not self.data.is_file():
            return None  # a pipe, which can be read only once
        try:
            if self.existing is not None or not self.prover.program.has_runs:
                return None
            options = self.run_options() | RunOptions(debug=debug)
            most = half_of_memory() // _AHEAD
            options |= RunOptions(max_memory=min(most, options.get("max_memory", most)))
            with within(self.timeout, self.label, interrupt=self.interrupt):
                return self.recorded(device, options)
        except Exception as error:
            _log.info("%s: its run ahead of its turn failed, so it is repeated then: %s", self.label, error)
            return None

    def prove_started(
        self,
        started: "Started",
        executor: str = THREADS,
        device: Device | str = "auto",
        progress: bool | Tell | None = False,
    ) -> Made:
        """Prove the prepared statement of `start`, the second stage of `make`; arguments as there.

        The proof is not verified.
        """
        progress = progress or self.progress or progress
        with within(self.timeout, self.label, started.seconds, self.interrupt):
            result = make(started.prepared, executor, device, progress, verified=False)
            seconds = {"prepare": started.seconds, **result.seconds}
            made = replace(result, seconds=seconds, run=started.ran)
            made = replace(made, compile_seconds=started.compile_seconds + made.compile_seconds)
            if seen := made.observation:
                seen = with_stages_before(seen).of_run(made.run, made.compile_seconds)
                made = replace(made, observation=seen)
            return made

    def compressed(
        self, made: Made, executor: str = THREADS, device: Device | str = "auto", progress: bool | Tell | None = False
    ) -> Made:
        """Compress the proof of `prove_started`, the third stage of `make`; return it as it is without layers to make.

        The layers verify the proof, but nothing verifies the last layer. The stage may have a thread of its own.
        """
        if not self.prover.layers:
            return made
        from graphprover.prover.layer_tree import layers_by  # here, because other proofs need no layers
        from graphprover.prover.tree_choice import target_of

        own, progress = device_for(device), progress or self.progress or progress
        with within(self.timeout, self.label, sum(made.seconds.values()), self.interrupt):
            return self.prover.compressed(made, layers_by(executor, own, progress, self.check_room), target_of(own))

    def check(self, made: Made) -> Made:
        """Verify the proof of `compressed` against the program, the fourth stage of `make`.

        Raises:
            VerificationError: if it does not convince.
        """
        began = clock()
        self.prover.verify_made(made.proof, made.preprocessed_caps)
        return made.with_stage("verify", began, clock())

    @property
    def check_elsewhere(self) -> PackedCheck | None:
        """The verification of `check` for another process; None if only this process can do it."""
        return self.prover.check_elsewhere

    def delivered(self, made: Made) -> Made:
        """Give the observation of the job's proof to its observers, the last stage of `make`; return the proof."""
        seen = made.observation
        return replace(made, observation=deliver(seen.named(self.label) if self.label else seen)) if seen else made

    def for_workers(self) -> AbstractContextManager[JobOnWorkers]:
        """Return the job as workers prove it."""
        return for_workers(self)

    def check_room(self, prepared: Prepared | PreparedShards) -> None:
        """Raise FileError if the file for the proof has too little space for it, as far as its size is foreseen."""
        if self.output:
            sizes = (sum(expected_sizes(shard.layout).values()) for shard in prepared.shards)
            check_room(self.output, sum(sizes))

    def record_window(self, cycles: range, total: int, snapshots: Sequence[Snapshot], device: Device | None) -> Window:
        """Record a window of a guest's run, as `graphprover.vm.executor.window.record_window`.

        ``device``: of the proof, whose kernels may be compiled meanwhile.
        """
        machine, seed = self.machine, seed_for(self.random_seed, commit_input=self.commit_input)
        with compiling(device, machine, self.prover.level.rate):
            return record_window(
                machine.image, self.input() or b"", cycles, total, snapshots, random_seed=seed, **self.limits
            )

    @property
    def machine(self) -> Machine:
        """The machine with a guest's program."""
        assert self.prover.program.elf
        return self.prover.program.elf

    @property
    def program_label(self) -> str:
        """The label of the program's proofs."""
        return self.prover.program.label

    def layout_rate(self, level: Level | None = None) -> int | None:
        """Return the rate for which the run is laid out in tables; a layer hashes every opened word of its base.

        ``level``: the requested level; by default the prover's.
        """
        return SMALL if self.prover.layers else (level or self.prover.level).rate

    def rehearse(self) -> Execution | None:
        """Run a guest without a record, to know the claim of its proof; None for tables.

        The claim of tables follows from their traces, which are expensive to make. The run has the job's timeout.
        """
        with within(self.timeout, self.label, interrupt=self.interrupt):
            run = self.prover.program.rehearse(self.provable_input(), **self.run_options())
        if run:
            self.check_exit_code(run.exit_code)
        return run

    def claim_about(self, run: Execution | None) -> Claim | None:
        """Return the claim of a proof of a run by `rehearse`."""
        return self.prover.program.claim_about(run, commit_input=self.commit_input) if run else None

    def run_options(self) -> RunOptions:
        """Return the options of the guest's run."""
        seed = seed_for(self.random_seed, commit_input=self.commit_input)
        return RunOptions(**self.limits, random_seed=seed, debug=self.receiver)

    @property
    def receiver(self) -> Debug | None:
        """The receiver of the guest's debug text, if there is one."""
        return None if self.drop_debug else self.debug or self.prover.debug

    def stated(self) -> bytes | None:
        """Return the input that the proof states, or None."""
        return self.input() or b"" if self.commit_input else None

    def check_exit_code(self, code: int) -> None:
        """Raise OtherExitCode if the guest ended with another exit code than the job asks for."""
        check_exit_code(self.prover.program.name, code, self.exit_code)

    def input(self) -> bytes | None:
        """Return the input, read from its file if it has one."""
        return read_input(self.data) if isinstance(self.data, Path) else self.data

    def provable_input(self) -> bytes | None:
        """Return the input; raises ValueError if the proof cannot state it, before the run."""
        data = self.input()
        if self.commit_input and data and len(data) > MAX_STATED_INPUT:
            raise ValueError(f"an input of {len(data):,} bytes: a proof states at most {MAX_STATED_INPUT:,}")
        return data
