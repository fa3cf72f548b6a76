"""Provers and jobs: a program with the options of its proofs, and the runs to prove. They travel to workers."""

import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from math import inf
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Unpack

from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.jobs.made_check import PackedCheck, check_made
from graphprover.jobs.options import MOST_PRIORITY
from graphprover.jobs.precompile import compile_missing, load_interpreter
from graphprover.jobs.programs import Packed, Program, ProgramError, is_packaged, open_program, pack, unpack
from graphprover.proof.compressed import AnyProof, CompressedProof, ShardHeaders, any_proof_from_bytes, check_layers
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import expected_sizes
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.level import LAYER_RATE, Level, default_pow_bits
from graphprover.protocol.parameters import DEFAULT_HASH, FAST, RATES, SMALL
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.prover.autoshard import fitting
from graphprover.prover.delayed import graph_of
from graphprover.prover.executor import Parts, executor_of
from graphprover.prover.local import Made, checksum_of, make, with_verification
from graphprover.prover.prepare import Prepared, PreparedShards, ready
from graphprover.prover.prove import check_headers
from graphprover.prover.smallest import smallest
from graphprover.runtime.deadline import check_deadline, within
from graphprover.runtime.display.notebook import html, quoted, short
from graphprover.runtime.files import FileError, check_room, read_input, read_proof
from graphprover.statement.cells import committed_cells
from graphprover.statement.check import warn
from graphprover.statement.cost import Cost
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.telemetry.model import GuestRun
from graphprover.telemetry.subscribe import clock, deliver, publish, stage, with_stages_before
from graphprover.verifier import Expected, Verdict, check_level, expect
from graphprover.vm import kernels
from graphprover.vm.executor.debug import Debug, to_stderr
from graphprover.vm.executor.execute import Execution, half_of_memory
from graphprover.vm.executor.faults import OtherExitCode
from graphprover.vm.executor.snapshot import Snapshot
from graphprover.vm.executor.window import Window, record_window, rehearse
from graphprover.vm.profile.measure import profile
from graphprover.vm.statement.claim import ANY, MAX_STATED_INPUT, Claim, other_exit_code
from graphprover.vm.statement.guest import Limits, RunOptions, seed_for
from graphprover.vm.statement.key import KEY_RATES, Key
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.possible import possible_tables, shared_tables
from graphprover.vm.traces.shared_run import SharedRun

if TYPE_CHECKING:
    from dask.delayed import Delayed

    from graphprover.prover.join import Joined, ProveLayers
    from graphprover.prover.layers import Layer

_log = logging.getLogger(__name__)

_LONG_RUN = 1.0  # seconds
_AHEAD = 4  # a run ahead of its turn takes at most this part of the memory that a run may take


class Prover:
    """A program and the options of its proofs: loaded once, proved on as many inputs as you like.

        sha256 = Prover("examples/guests/sha256.elf")
        proof = sha256.prove(b"an input")
        sha256.verify(proof)

    It travels to workers as bytes: the ELF file, or the sources of a ``.py`` program, without executor, device and
    receiver of debug text.
    Columns that no constraint reads are reported in warnings.

    Args:
        program: A path or ``examples/NAME``, as `graphprover prove` takes it, or an open program.
        security: Provable bits, as in `graphprover.prove`.
        rate: The rate is 1/``rate``, as in `graphprover.prove`. With ``compress`` the default is the rate with
            the least work for this proof and its first layer.
        proximity: The soundness analysis, as in `graphprover.prove`.
        hash: The hash of the proofs, as in `graphprover.prove`.
        pow_bits: The proof of work before the queries, as in `graphprover.prove`. By default it is higher with
            ``compress``, for both proofs (`graphprover.compress`).
        small: Seconds. Instead of ``rate``: each proof gets the rate, and the proof of work of ``pow_bits`` or more,
            with the fewest expected bytes whose time is expected to be at most ``small`` and whose memory suffices
            (`graphprover.prover.smallest`).
        executor: The threads of this process or a cluster, as in `graphprover.prove`.
        device: The device of the proofs, as in `graphprover.prove`.
        shards: The number of shards. A guest's shards are cycle ranges of its run. By default a proof has one shard; a
            guest's has more if it does not fit the device otherwise.
        shard_size: The cycles of each shard of a guest, instead of ``shards``.
        compress: Whether to compress each proof, as `graphprover.compress`; a number is N of the layer's rate 1/N, in
            place of 8, and a sequence of numbers gives one layer each, such as ``(8, 64)`` for the smallest proofs. The
            device that has made a proof compresses it. Such a proof has the hash BLAKE3. Several shards have a tree of
            layers at the first of these rates.
        debug: Called with the text that a guest shows on its debug channel, as it shows it: once for each call of a
            method, also if workers run the guest too. By default it is written to standard error; None drops it.

    Raises:
        ProgramError: if there is no such program.
        ValueError: for an option that is not offered, or with which no proof can be compressed.
    """

    def __init__(
        self,
        program: str | os.PathLike[str] | Program,
        *,
        security: float = 128,
        rate: int | None = None,
        proximity: str = JOHNSON_PROXIMITY,
        hash: str = DEFAULT_HASH,
        pow_bits: int | None = None,
        small: float | None = None,
        executor: Any = THREADS,
        device: Device | str = "auto",
        shards: int | None = None,
        shard_size: int | None = None,
        compress: bool | int | Sequence[int] = False,
        debug: Debug | None = to_stderr,
    ) -> None:
        self.program = open_program(os.fspath(program)) if isinstance(program, str | os.PathLike) else program
        work = default_pow_bits(bool(compress)) if pow_bits is None else pow_bits
        self.level = Level(security, rate, proximity, hash, work)
        self.layers = _layer_levels(self.level, compress) if compress else ()
        self.small = small
        self.executor, self.device = executor, device
        self.shards = shards
        self.shard_size = shard_size
        self.debug = debug
        if shard_size is not None and not self.program.has_runs:
            raise ProgramError(f"{self.program.name}: no guest, so it has no cycle range")
        if small is not None and rate is not None:
            raise ValueError("small chooses the rate: give only one of the two")
        if statement := self.program.statement():
            warn(statement)

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        level = self.level
        rate = f"1/{level.rate}" if level.rate else "chosen for each statement"
        if self.small is not None:
            rate = f"of the smallest proof within {self.small:g} s"
        shards: object = self.shards or "1; of a guest more if the device needs it"
        if self.shard_size:
            shards = f"one for each {self.shard_size:,} cycles"
        facts = {"security bits": level.security, "proximity": level.proximity, "rate": rate, "hash": level.hash}
        facts |= {"bits of proof of work": level.pow_bits, "shards": shards}
        if self.layers:
            facts["compressed"] = f"by layers at {_rates_text(layer.rate for layer in self.layers)}"
        return html(self._title, facts | {"executor": short(self.executor), "device": short(self.device)})

    @property
    def _title(self) -> str:
        return f"Prover of {quoted(self._name)} with {self.level.security} bits of security"

    @property
    def _name(self) -> str:
        """The name of the program, which is known before the program is open."""
        name: str = (self.__dict__.get("program") or self._packed).name
        return name

    @cached_property
    def program(self) -> Program:
        """The open program; raises ProgramError if one from another process cannot be opened here."""
        return unpack(self._packed)

    @cached_property
    def _packed(self) -> Packed:
        return pack(self.program)

    def __getstate__(self) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in ("level", "layers", "small", "shards", "shard_size")}
        return options | {"_packed": self._packed, "executor": THREADS, "device": "auto", "debug": None}

    def execute(self, data: bytes = b"", *, random_seed: int | None = None, **limits: Unpack[Limits]) -> Execution:
        """Run a guest without a proof.

        Args:
            data: The input.
            random_seed: The seed of the guest's random numbers, 64 bits. By default it depends on the input.
            limits: The limits of the run, ``max_cycles`` and ``max_memory`` in bytes.

        Raises:
            GuestFault: if the run cannot go on.
            ValueError: if the program is no ELF file.
        """
        return self.program.execute(data, debug=self.debug, random_seed=random_seed, **limits)

    def cost(self, data: bytes = b"", *, random_seed: int | None = None, **limits: Unpack[Limits]) -> Cost:
        """Run a guest without a proof, and return the cost number of a proof of the run.

            cost = Prover("examples/guests/sha256.elf").cost(b"an input")
            print(cost, cost.value)

        Args:
            data: The input.
            random_seed: As in `execute`.
            limits: As in `execute`.

        Raises:
            GuestFault: if the run cannot go on.
            ProgramError: if the program is no ELF file.
        """
        if self.program.elf is None:
            raise ProgramError(f"{self.program.name}: no ELF file, so it has no run with a cost")
        return profile(self.program.elf, data, debug=self.debug, random_seed=random_seed, **limits).cost

    def prepare(
        self,
        data: bytes | None = None,
        *,
        commit_input: bool = False,
        exit_code: int | str = 0,
        random_seed: int | None = None,
        **limits: Unpack[Limits],
    ) -> Prepared | PreparedShards:
        """Return the statement about a run on ``data``, with its traces and the shape of its proof."""
        return Job(self, data, "", commit_input, exit_code, limits, random_seed=random_seed).prepared()

    def prove(
        self,
        data: bytes | None = None,
        *,
        commit_input: bool = False,
        exit_code: int | str = 0,
        random_seed: int | None = None,
        max_cost: int | None = None,
        **limits: Unpack[Limits],
    ) -> AnyProof:
        """Prove a run on ``data``, and verify the proof in this process.

        The workers of a cluster run the guest, too, or record windows of its run. The proof has the same bytes as one
        by `graphprover prove`. It is a `CompressedProof` if the prover compresses.

        Args:
            data: The input.
            commit_input: Whether the proof of a guest states its input.
            exit_code: The exit code of a guest, or ``"any"``; a run with another one is not proved.
            random_seed: As in `execute`; it is 0 with ``commit_input``.
            max_cost: The highest `cost` of a guest's run; a run above it is not proved.
            limits: As in `execute`.

        Raises:
            ProgramError: for an input that the program refuses.
            graphprover.statement.cost.CostLimit: for a run above ``max_cost``.
            GuestFault: if the run cannot go on.
            VerificationError: for another exit code (`graphprover.vm.executor.faults.OtherExitCode`), or a proof that
                does not convince.
            Exception: every exception of `graphprover.prove`.
        """
        job = Job(self, data, "", commit_input, exit_code, limits, random_seed=random_seed, max_cost=max_cost)
        return executor_of(self.executor, self.device).prove(job)[0].proof

    def graph(
        self,
        data: bytes | None = None,
        *,
        commit_input: bool = False,
        exit_code: int | str = 0,
        random_seed: int | None = None,
        **limits: Unpack[Limits],
    ) -> "Delayed":
        """Run the program on ``data``, and return the proof of the run as a Dask collection of tasks.

            graph = Prover("examples/guests/sha256.elf").graph(b"an input")
            graph.visualize("proof.svg")  # draws the tasks; needs graphviz
            proof = graph.compute(scheduler="threads")
            proof = Client("tcp://10.0.0.1:8786").compute(graph).result()  # on any Dask cluster

        The value is the `Proof` that `prove` returns, in the same bytes, but not verified (`graphprover.graph`). The
        device is the prover's. On a cluster each task runs on its worker's device of the same name, and arrays travel
        between workers; `prove` with a cluster as executor gives a proof to one worker.

        Args:
            data: The input.
            commit_input: As in `prove`.
            exit_code: As in `prove`.
            random_seed: As in `prove`.
            limits: As in `execute`.

        Raises:
            ValueError: if the proof is in several shards, which are drawn together between two graphs of each, or
                compressed.
            Exception: every exception of `prove` before the proof.
        """
        if self.layers:
            raise ValueError(f"{self._name}: a compressed proof is no single graph: use prove")
        job = Job(self, data, "", commit_input, exit_code, limits, random_seed=random_seed)
        prepared = job.prepared(self.device)
        if isinstance(prepared, PreparedShards):
            raise ValueError(
                f"{self._name}: the proof is in {len(prepared.shards)} shards, which are no single graph: "
                "use prove, or a Prover with shards=1"
            )
        return graph_of(prepared, self.device)

    def verify(self, proof: AnyProof | bytes, *, exit_code: int | str = 0) -> Verdict:
        """Check that a proof is of this program and has the security of this prover.

        Args:
            proof: The proof, or its bytes.
            exit_code: The exit code that a guest must have ended with, or ``"any"``. By default the proof of a run that
                failed is refused.

        Returns:
            The verdict. Of a guest its ``claim`` has the output, the exit code, the cycles and the stated input; of
            tables ``program.describe`` turns its public values into words.

        Raises:
            VerificationError: if the proof does not convince; for another exit code by the rule ``asked.exit_code``.
            ProgramError: for an exit code of tables.
        """
        proof = any_proof_from_bytes(proof) if isinstance(proof, bytes) else proof
        return self.program.verify(proof, self.level.security, self.level.proximity, exit_code=exit_code)

    def _verify(self, proof: AnyProof, caps: Any) -> Verdict:
        return check_made(self.program, self.level, proof, caps)

    @cached_property
    def check_elsewhere(self) -> PackedCheck | None:
        """The verification of this prover's own proofs by another process of this host.

        It is None for a program that cannot travel, and for tables that are no packaged example: their code is the
        user's, and running it in two processes may have effects.
        """
        try:
            known = self.program.has_runs or is_packaged(self.program.name)
            return PackedCheck(self._packed, self.level) if known else None
        except ProgramError:
            return None

    def _expect(self, headers: Proof | ShardedProof) -> Expected:
        check_level(headers, self.level.security)  # before the statement, which may be expensive to make
        statement = self.program.statement_of(headers, coming=True)
        return expect(headers, statement, self.level.security, self.level.proximity)

    def key(self, hashes: Collection[str] | None = None, rates: Collection[int] | None = None) -> Key:
        """Return the verifying key of a guest.

        Args:
            hashes: The hashes of the proofs to verify; by default this prover's.
            rates: N of their rates 1/N; by default `KEY_RATES` and this prover's.

        Raises:
            ValueError: for tables, which have no key.
        """
        own = {*KEY_RATES, self.level.rate or FAST}
        return self.program.key(hashes or (self.level.hash,), rates or own)

    def _commit(self) -> None:
        """Make the commitment that takes most of the time of the first verification of a guest's proof.

        Without a rate it is the commitment at 1/2, the rate of most long runs. For a proof at another rate the
        verification computes its own commitment.
        """
        self.program.commit(self.level.hash, RATES[self.level.rate or FAST])

    def job(self, data: bytes | Path | None = None, name: str = "", **options: Any) -> "Job":
        """Return a job for `graphprover.prove_many`; the other options are the fields of `Job`."""
        return Job(self, data, name, **options)


@dataclass(frozen=True)
class Started:
    """A job's run, prepared for its proof."""

    prepared: Prepared | PreparedShards
    ran: GuestRun | None  # None for tables
    seconds: float  # since the job started


@dataclass(frozen=True, eq=False)
class Job:
    """A run of a program that is to be proved. It travels with the contents of its files, which are read then."""

    prover: Prover
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
    max_cost: int | None = None  # the highest `Prover.cost` of a guest's run; one above it is not proved
    priority: int = 0  # of the jobs that wait, the one with the highest is next; from -1000 to 1000
    # Seconds in which the job must be proved, from its start in the process that proves it, without the verification.
    # The process checks it during the run and between the tasks of the proof, and does not interrupt a task.
    timeout: float | None = None
    # Called with the progress of a proof by this process, if `make` has no other receiver; an exception ends the job.
    progress: Tell | None = None
    # Called as often as the timeout is checked, in this process; an exception ends the job.
    interrupt: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.prover, str | Path):
            raise TypeError(f"{self.prover!r} is a file, not a Prover: Prover({str(self.prover)!r}).job(...)")
        if isinstance(self.data, str):
            raise TypeError(f"the input {self.data!r:.40} is text: give bytes, or a Path to a file")
        if not -MOST_PRIORITY <= self.priority <= MOST_PRIORITY:
            raise ValueError(f"priority {self.priority}: expected a number from -{MOST_PRIORITY} to {MOST_PRIORITY}")
        if self.timeout is not None and not 0 < self.timeout < inf:
            raise ValueError(f"timeout {self.timeout}: expected a positive number of seconds")

    def __getstate__(self) -> dict[str, Any]:
        here = dict.fromkeys(("output", "debug", "progress", "interrupt"))
        return self.__dict__ | here | {"data": self.input(), "existing": self._existing()}

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
            "proof that is there": _contents(self.existing),
            "output": _contents(self.output),
        }
        return html(self._title, facts)

    @property
    def _title(self) -> str:
        name = f" {quoted(self.name)}" if self.name else ""
        return f"Job{name} of {quoted(self.prover._name)}, input: {_contents(self.data)}"

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
        by = device_for(device) if isinstance(device, str) else device
        return self._prepared(self._recorded(by, self._run_options()), by)

    def _recorded(self, by: Device | None, options: RunOptions) -> Any:
        """Return the run that is to be proved, with its record."""
        program, limited = self.prover.program, self.limits or self.max_cost is not None
        asked = self.commit_input or limited or self.random_seed is not None or self.exit_code not in (0, ANY)
        if asked and not program.has_runs:
            raise ProgramError(
                f"{program.name}: no guest, so it has no input to state, no exit code, no random numbers and no limits"
            )
        data = self._provable_input()
        with _compiling(by, program.elf):
            run = program.record(data, **options)
        if program.has_runs:
            self._check_exit_code(run.exit_code)
        return run

    def _prepared(self, run: Any, by: Device | None) -> Prepared | PreparedShards:
        """Return the statement about a recorded run, for a proof by this device."""
        prover, program = self.prover, self.prover.program
        if self.max_cost is not None:
            program.cost_about(run, device=by).check(self.max_cost)

        def cut(shards: int, level: Level = prover.level) -> Prepared | PreparedShards:
            check_deadline()
            statement = program.statement_about(
                run,
                commit_input=self.commit_input,
                shards=shards,
                shard_size=prover.shard_size,
                rate=self.layout_rate(level),
                device=by,
            )
            return ready(statement, self.level_of(statement, level))

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

    def level_of(self, statement: Statement | ShardedStatement, level: Level | None = None) -> Level:
        """Return the level of the proof of a statement about the job's run; the base of a compressed one has a rate.

        Args:
            statement: The statement with the traces of all its shards, or with their shapes.
            level: The requested level; by default the prover's.
        """
        level = level or self.prover.level
        if not self.prover.layers or level.rate is not None:
            return level
        from graphprover.prover.layers import base_rate  # here, because other proofs need no layers

        return replace(level, rate=base_rate(sum(committed_cells(statement).values())))

    def make(
        self,
        executor: str = THREADS,
        device: Device | str = "auto",
        progress: bool | Tell = False,
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
        unchecked = self.prove_started(started, executor, device, progress)
        return self.delivered(self.check(unchecked) if verified else unchecked)

    def start(self, device: Device | str = "auto", run: Any = None) -> "Made | Started":
        """Run the program and prepare the proof, the first stage of `make`; return a proof that is there already.

        Args:
            device: As in `make`.
            run: The run with its record if `run_ahead` has made it, which was not silent.

        Raises:
            Exception: every exception of `Prover.prove` before the proof.
        """
        began = time.perf_counter()

        def kept(proof: AnyProof) -> Made:
            seconds = {"verify": time.perf_counter() - began}
            return Made(proof, None, seconds, 0, kept=True, run=guest_run(rehearsed))

        proof = self.valid()
        rehearsed = self.rehearse() if proof else None
        claim = self.claim_about(rehearsed)
        if proof and claim and self.prover.program.claim_in(proof.header) == claim:
            return kept(proof)
        with stage("prepare"), within(self.timeout, self.label, interrupt=self.interrupt):
            by = device_for(device) if isinstance(device, str) else device
            if run is None:
                silent = RunOptions(debug=None) if rehearsed else RunOptions()  # its text has been shown
                run = self._recorded(by, self._run_options() | silent)
            check_deadline()
            prepared = self._prepared(run, by)
        if proof and not claim and _says(proof.header) == _to_say(prepared):
            return kept(proof)
        if self.prover.layers:
            from graphprover.prover.layers import check_prepared  # here, because other proofs need no layers

            check_prepared(prepared)
        else:
            self.check_room(prepared)
        ran = guest_run(run) if self.prover.program.has_runs else None
        return Started(prepared, ran, time.perf_counter() - began)

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
            options = self._run_options() | RunOptions(debug=debug)
            most = half_of_memory() // _AHEAD
            options |= RunOptions(max_memory=min(most, options.get("max_memory", most)))
            with within(self.timeout, self.label, interrupt=self.interrupt):
                return self._recorded(device, options)
        except Exception as error:
            _log.info("%s: its run ahead of its turn failed, so it is repeated then: %s", self.label, error)
            return None

    def prove_started(
        self,
        started: "Started",
        executor: str = THREADS,
        device: Device | str = "auto",
        progress: bool | Tell = False,
    ) -> Made:
        """Prove what `start` has prepared, the second stage of `make`; arguments as there.

        The proof is not verified, but the base of a compressed proof is.
        """
        progress = progress or self.progress or False
        with within(self.timeout, self.label, started.seconds, self.interrupt):
            result = make(started.prepared, executor, device, progress, verified=False)
            seen = with_stages_before(result.observation).of_run(started.ran) if result.observation else None
            seconds = {"prepare": started.seconds, **result.seconds}
            made = replace(result, seconds=seconds, run=started.ran, observation=seen)
            return self._compressed(made, executor, device, progress) if self.prover.layers else made

    def _compressed(self, made: Made, executor: str, device: Device | str, progress: bool | Tell) -> Made:
        from graphprover.prover.compress import compress_made  # here, because other proofs need no layers

        assert not isinstance(made.proof, CompressedProof)
        statement = self.prover.program.statement_of(made.proof)
        return compress_made(made, statement, self.prover.layers, executor, device, progress, self.check_room)

    def check(self, made: Made) -> Made:
        """Verify the proof of `prove_started` against the program, the third stage of `make`.

        Raises:
            VerificationError: if it does not convince.
        """
        began = clock()
        self.prover._verify(made.proof, made.preprocessed_caps)
        return with_verification(made, began, clock())

    @property
    def check_elsewhere(self) -> PackedCheck | None:
        """What `check` does, for another process; None if only this process can do it."""
        return self.prover.check_elsewhere

    def delivered(self, made: Made) -> Made:
        """Give the observation of the job's proof to its observers, the last stage of `make`; return the proof."""
        seen = made.observation
        return replace(made, observation=deliver(seen.named(self.label) if self.label else seen)) if seen else made

    @contextmanager
    def for_workers(self) -> Iterator[Parts]:
        """Return the parts of the proof that workers make, and how their proof is verified.

        This process runs a guest without a record, which takes a small part of the time of a proof. For a proof in one
        shard, a worker runs the guest with its record meanwhile. For several shards this process runs the guest first,
        and each worker records windows of the run (`graphprover.vm.traces.shared_run`). If the job has a highest cost,
        which depends on the whole record, all workers run the whole guest. Tables in several shards are prepared here.
        """
        program, shard_size = self.prover.program, self.prover.shard_size
        several = shard_size is not None or (self.prover.shards or 1) > 1
        if self.prover.small is not None and several and program.has_runs:
            raise ValueError("workers that share a proof would choose different rates: give a rate instead of small")
        with ThreadPoolExecutor(2) as meanwhile:
            committed = meanwhile.submit(self.prover._commit)
            shared = self._shared_run() if several and program.has_runs and self.max_cost is None else None
            execution = (lambda: shared.execution) if shared else meanwhile.submit(self.rehearse).result
            count = self.count(self.claim_about(execution()) if shard_size is not None else None) or 1
            prepared = self.prepared() if count > 1 and not program.has_runs else None
            if prepared:
                self.check_room(prepared)

            def verified(proof: AnyProof) -> Verdict:
                committed.result()
                verdict = self.prover._verify(proof, None)
                self.check_returned(proof, self.claim_about(execution()))
                return verdict

            def expected(headers: Proof | ShardedProof) -> Expected:
                committed.result()
                against = self.prover._expect(headers)
                self.check_returned(headers, self.claim_about(execution()), base=True)
                if prepared:
                    check_headers(headers, prepared)
                return against

            subjects = prepared.on_host().shards if prepared else [self] * count
            compress = self._compress_by if self.prover.layers else None
            yield Parts(subjects, expected, verified, lambda: guest_run(execution()), shared, compress)

    def _compress_by(self, proof: ShardedProof, prove: "ProveLayers", memory: int) -> "Joined":
        """Compress a proof of the job with all its layers.

        Args:
            proof: The proof, which is verified, or its headers.
            prove: Proves layers.
            memory: The bytes of the memory that the proof of a layer may have.
        """
        from graphprover.prover.join import joined, nodes_of  # here, because other proofs need no layers

        levels = self.prover.layers
        statement = self.prover.program.statement_of(proof, coming=isinstance(proof, ShardHeaders))
        nodes = nodes_of([proof], [statement], levels[0], [""])
        return joined(nodes, levels, prove, memory)

    def check_room(self, prepared: Prepared | PreparedShards) -> None:
        """Raise FileError if the file for the proof has too little space for it, as far as its size is foreseen."""
        if self.output:
            sizes = (sum(expected_sizes(shard.layout).values()) for shard in prepared.shards)
            check_room(self.output, sum(sizes))

    def _shared_run(self) -> SharedRun:
        """Run a guest whose windows workers record, one a shard."""
        rehearsal = rehearse(self.machine.image, self._provable_input() or b"", **self._run_options())
        self._check_exit_code(rehearsal.execution.exit_code)
        ranges = cycle_ranges_of(rehearsal.execution.cycles, self.prover.shards or 1, self.prover.shard_size)
        return SharedRun(self, rehearsal, ranges, commit_input=self.commit_input)

    def record_window(self, cycles: range, total: int, snapshots: Sequence[Snapshot], device: Device | None) -> Window:
        """Record a window of a guest's run, as `graphprover.vm.executor.window.record_window`.

        ``device``: of the proof, whose kernels may be compiled meanwhile.
        """
        machine, seed = self.machine, seed_for(self.random_seed, commit_input=self.commit_input)
        with _compiling(device, machine):
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
            run = self.prover.program.rehearse(self._provable_input(), **self._run_options())
        if run:
            self._check_exit_code(run.exit_code)
        return run

    def claim_about(self, run: Execution | None) -> Claim | None:
        """Return the claim of a proof of a run by `rehearse`."""
        return self.prover.program.claim_about(run, commit_input=self.commit_input) if run else None

    def _run_options(self) -> RunOptions:
        seed = seed_for(self.random_seed, commit_input=self.commit_input)
        return RunOptions(**self.limits, random_seed=seed, debug=self.receiver)

    @property
    def receiver(self) -> Debug | None:
        """The receiver of the guest's debug text, if there is one."""
        return self.debug or self.prover.debug

    def valid(self) -> AnyProof | None:
        """Return the existing proof if it is a valid one of this program, perhaps of another run."""
        try:
            return self.check_existing()
        except VerificationError as error:
            _log.info("%s: the proof that is there is not good enough, so it is made again: %s", self.label, error)
            return None

    def check_existing(self) -> AnyProof | None:
        """Verify the existing proof, perhaps of another run, and return it; None if there is none.

        Raises:
            VerificationError: if it is not valid, or is compressed although the job asks for another proof, or the
                reverse.
        """
        data = self._existing()
        if data is None:
            return None
        proof = any_proof_from_bytes(data)
        self._check_kind(proof)
        self.prover.verify(proof, exit_code=self.exit_code)
        return proof

    def _check_kind(self, proof: AnyProof) -> None:
        """Raise VerificationError unless a proof is compressed as the job asks for it."""
        found, asked = isinstance(proof, CompressedProof), bool(self.prover.layers)
        if found != asked:
            what = "compressed, which was not asked for" if found else "not compressed"
            raise VerificationError("asked.compressed", f"the proof is {what}")

    def check_claim(self, proof: AnyProof) -> None:
        """Raise VerificationError if a guest's proof has another exit code or input than the job asks for."""
        if claim := self.prover.program.claim_in(proof.header):
            self._check_exit_code(claim.exit_code)
            if claim.input != self._stated():
                raise VerificationError(
                    "asked.input", f"{self.label}: the proof states another input, or states one or none unasked"
                )

    def check_returned(self, proof: AnyProof, claim: Claim | None, *, kept: bool = False, base: bool = False) -> None:
        """Raise VerificationError unless the header of a worker's proof is what the job asks for.

        Level and tables are left to `Prover.verify`.

        Args:
            claim: Of the guest's run in this process, with which the proof must agree; None for a program of tables.
            kept: The proof was there before, possibly by another hash, at another rate and in other shards.
            base: The proof is to be compressed if the job asks for it.
        """
        if not base:
            self._check_kind(proof)
        self.check_claim(proof)
        level, count, found = self.prover.level, self.count(claim), len(proof.header.proofs)
        if isinstance(proof, CompressedProof) and not kept:
            self._check_layers(proof)
        if not kept and level.rate is not None and proof.parameters.log_blowup != RATES[level.rate]:
            raise VerificationError(
                "asked.rate", f"{self.label}: the proof is not at the rate 1/{level.rate}, which was asked for"
            )
        if not kept and proof.parameters.hash != level.hash:
            raise VerificationError(
                "asked.hash",
                f"{self.label}: the proof is by {proof.parameters.hash}, not by {level.hash}, which was asked for",
            )
        if not kept and count is not None and count != found:
            raise VerificationError(
                "asked.shards", f"{self.label}: the proof is in {found} shards; {count} were asked for"
            )
        if claim and self.prover.program.claim_in(proof.header) != claim:
            what = f"{self.label}: the proof is of another run than the program's on this input"
            error = VerificationError("asked.run", what)
            raise shard_error(0, error) if found > 1 else error  # the first shard states the run

    def _check_layers(self, proof: CompressedProof) -> None:
        """Raise VerificationError unless a new compressed proof has the layers that the job asks for."""
        rates = [layer.rate for layer in self.prover.layers]
        first, *others = [RATES[rate] for rate in rates if rate]
        found = [layer.parameters.log_blowup for layer in proof.layers]
        several = len(found) - len(others) if proof.header.joint else 1  # layers about shards and about these layers
        if several < 1 or found != [first] * several + others:
            what = f"the layers at {_rates_text(rates)}, which were asked for"
            raise VerificationError("asked.compressed", f"{self.label}: the proof has not {what}")

    def _stated(self) -> bytes | None:
        """Return the input that the proof states, or None."""
        return self.input() or b"" if self.commit_input else None

    def _check_exit_code(self, code: int) -> None:
        wrong = other_exit_code(code, self.exit_code)
        if wrong:
            name = self.prover.program.name
            raise OtherExitCode(
                "asked.exit_code",
                f"{name}: {wrong}: not proven (--exit-code {code} or {ANY} proves it as well; in Python exit_code)",
            )

    def input(self) -> bytes | None:
        """Return the input, read from its file if it has one."""
        return read_input(self.data) if isinstance(self.data, Path) else self.data

    def _provable_input(self) -> bytes | None:
        """Return the input; raises ValueError if the proof cannot state it, before the run."""
        data = self.input()
        if self.commit_input and data and len(data) > MAX_STATED_INPUT:
            raise ValueError(f"an input of {len(data):,} bytes: a proof states at most {MAX_STATED_INPUT:,}")
        return data

    def _existing(self) -> bytes | None:
        if not isinstance(self.existing, Path):
            return self.existing
        try:
            return read_proof(self.existing)
        except FileError:  # usually it does not exist; writing the new proof reports other errors
            return None


def _contents(data: bytes | Path | None) -> str:
    """Return what to show of a file or its contents."""
    if data is None:
        return "none"
    return short(data) if isinstance(data, Path) else f"{len(data):,} bytes"


@contextmanager
def _compiling(device: Device | None, machine: Machine | None) -> Iterator[None]:
    """Have kernels compiled during a run: the ones of every proof, and in a long run the ones that its proof may need.

    After a short run the needed kernels are known almost at once, and every process would compile the guesses anew.
    """
    if device is None or machine is None:
        yield
        return
    kernels.expect(device)
    device.expect(shared_tables(machine), guess=True)  # one or both of which every run needs
    _load_interpreter()
    waiting = Timer(_LONG_RUN, partial(device.expect, possible_tables(machine), guess=True))
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


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a job: a proof, verified by its maker, or an error, which a `Made` alone cannot hold."""

    job: Job
    made: Made | None  # the proof, and how it was made
    error: Exception | None = None
    worker: str = ""  # the address of the worker that made it; empty in this process
    attempts: int = 1

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        facts = {"worker": short(self.worker or "this process"), "attempts": self.attempts}
        rows = [(stage, f"{seconds:.3f}") for stage, seconds in self.seconds.items()]
        return html(self._title, facts, [("stage", "seconds"), *rows] if rows else [])

    @property
    def _title(self) -> str:
        came = f"{type(self.error).__name__}: {short(self.error)}"
        if self.proof:
            came = f"a proof of {self.proof.size:,} bytes, {'kept' if self.kept else 'made'}"
        return f"Result of {quoted(self.job.name or self.job.prover._name)}: {came}"

    @property
    def proof(self) -> AnyProof | None:
        """The proof, or None if there is an error."""
        return self.made.proof if self.made else None

    @property
    def kept(self) -> bool:
        """Whether the proof existed before and is good enough."""
        return self.made is not None and self.made.kept

    @property
    def seconds(self) -> Mapping[str, float]:
        """The seconds of each stage; empty if there is no proof."""
        return self.made.seconds if self.made else {}


def made(
    subject: "Job | Layer | Prepared | PreparedShards",
    executor: str = THREADS,
    device: Device | str = "auto",
    verified: bool = True,
) -> Made:
    """Prove a job, a layer or a prepared statement by a device of this process, for a worker's task.

    `Job.make` describes arguments and errors. A job's verified proof gets its checksum, which the client compares.
    """
    if isinstance(subject, Job):
        result = subject.make(executor, device, verified=verified)
        return replace(result, checksum=checksum_of(result.proof)) if verified else result
    if isinstance(subject, Prepared | PreparedShards):
        result = make(subject, executor, device, verified=verified)
    else:
        result = subject.make(executor, device, progress=False, verified=verified)
    return replace(result, observation=publish(result.observation)) if result.observation else result


def _layer_levels(level: Level, compress: bool | int | Sequence[int]) -> tuple[Level, ...]:
    """Return the level of each layer of a prover that compresses; ``compress``: as `Prover` has it.

    Raises:
        ValueError: for a rate that is not offered, or proofs that cannot be compressed.
    """
    from graphprover.prover.layers import check_hash  # here, because other proofs need no layers

    check_hash(level.hash)
    rates = (compress,) if isinstance(compress, int) else tuple(compress)
    check_layers(len(rates))
    return tuple(replace(level, rate=LAYER_RATE if rate is True else rate) for rate in rates)


def _rates_text(rates: Iterable[int | None]) -> str:
    """Return rates as a text: 1/8, 1/64."""
    return ", ".join(f"1/{rate}" for rate in rates)


def guest_run(run: Execution | None) -> GuestRun | None:
    """Return the figures of a guest's run for reports."""
    return GuestRun(run.cycles, run.misaligned) if run else None


Says = list[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]]  # of each shard, as in a `Verdict`


def _says(proof: Proof | ShardedProof) -> Says:
    """Return the claim of a proof of tables."""
    return [(shard.public_values, shard.log_heights) for shard in proof.proofs]


def _to_say(prepared: Prepared | PreparedShards) -> Says:
    """Return the claim of a proof that is yet to be made."""
    return [(shard.public_values, shard.layout.log_heights) for shard in prepared.shards]
