"""Prover: a program and the options of its proofs, with the executor and device that make them."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.jobs.job import Job
from graphprover.jobs.mocking import mock_proof
from graphprover.jobs.opening import open_program
from graphprover.jobs.options import OptionsOfProof, OptionsOfRun, level_of, of_run
from graphprover.jobs.programs import Program, ProgramError
from graphprover.jobs.recipe import Recipe
from graphprover.proof.compressed import AnyProof, check_layers
from graphprover.proof.mock import MOCK, MockProof
from graphprover.protocol.goal import FAST_WORD, Goal, goal_of
from graphprover.protocol.level import LayerLevel, Level, one_of
from graphprover.protocol.parameters import FAST
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.proving.delayed import graph_of
from graphprover.proving.executor import executor_of
from graphprover.proving.plan import ProofPlan, plan_of_job
from graphprover.runtime.arguments import expect, given
from graphprover.runtime.display.notebook import html, quoted, short
from graphprover.statement.check import warn
from graphprover.statement.cost import Cost
from graphprover.vm.executor.debug import Debug, to_stderr
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.run_options import Limits
from graphprover.vm.profile.measure import profile
from graphprover.vm.statement.key import KEY_RATES, Key

if TYPE_CHECKING:
    from dask.delayed import Delayed


class Prover(Recipe):
    """A program and the options of its proofs: loaded once, proved on as many inputs as you like.

        sha256 = Prover("examples/guests/sha256.elf")
        proof = sha256.prove(b"an input")
        sha256.verify(proof)

    It travels to workers as bytes: the ELF file, or the sources of a ``.py`` program, without executor, device and
    receiver of debug text. Columns that no constraint reads are reported in warnings.

    Args:
        program: A path or ``examples/NAME``, as `graphprover prove` takes it, or an open program.
        executor: The threads of this process or a cluster, as in `graphprover.prove`.
        device: The device of the proofs, as in `graphprover.prove`.
        debug: Called with the text that a guest shows on its debug channel, as it shows it: once for each call of a
            method, also if workers run the guest too. By default it is written to standard error; None drops it.
        options: The options of the proofs: `graphprover.jobs.options.OptionsOfProof`.

    Raises:
        ProgramError: if there is no such program.
        ValueError: for an option that is not offered, or with which no proof can be compressed.
    """

    def __init__(
        self,
        program: str | os.PathLike[str] | Program,
        *,
        executor: Any = THREADS,
        device: Device | str = "auto",
        debug: Debug | None = to_stderr,
        **options: Unpack[OptionsOfProof],
    ) -> None:
        if unknown := options.keys() - OptionsOfProof.__annotations__.keys():
            raise TypeError(f"a Prover has no option {min(unknown)!r}: choose {one_of(OptionsOfProof.__annotations__)}")
        if not isinstance(program, str | os.PathLike) and not hasattr(program, "statement_about"):
            raise TypeError(f"Prover: the program is {given(program)}: give a path; prove() takes a statement")
        opened = open_program(os.fspath(program)) if isinstance(program, str | os.PathLike) else program
        level, compress = level_of(options), options.get("compress", False)
        layers = layers_of(level, compress, options.get("pow_bits")) if compress else ()
        own = {*vars(level), "compress", "mock"}
        others = {name: value for name, value in options.items() if name not in own}
        super().__init__(opened, level, layers, debug=debug, **others)  # type: ignore[arg-type]
        self.executor, self.device, self.mock = executor, device, options.get("mock", False)
        if self.shard_size is not None and not self.program.has_runs:
            raise ProgramError(f"{self.program.name}: no guest, so it has no cycle range")
        if self.small is not None and level.rate is not None:
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
            facts["compressed"] = f"by {self.layers_text}"
        return html(self._title, facts | {"executor": short(self.executor), "device": short(self.device)})

    @property
    def _title(self) -> str:
        return f"Prover of {quoted(self.name)} with {MOCK if self.mock else f'{self.level.security} bits of security'}"

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"executor": THREADS, "device": "auto", "mock": self.mock}

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
        expect(data, (bytes, bytearray, memoryview), "the input", "give bytes")
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
        expect(data, (bytes, bytearray, memoryview), "the input", "give bytes")
        return profile(self.program.elf, data, debug=self.debug, random_seed=random_seed, **limits).cost

    def plan(self, data: bytes | None = None, **options: Unpack[OptionsOfRun]) -> ProofPlan:
        """Run the program on ``data``, and return what ``graphprover plan`` prints of a proof of the run.

            plan = Prover("examples/guests/sha256.elf").plan(b"an input")
            print(plan, plan.proof.bytes, plan.proof.expected_seconds)

        The proof is planned in one shard, unless the prover has a number or a size of shards. The plan of a prover that
        compresses is of the base, with the best trees of layers beside.

        Args:
            data: The input.
            options: As in `prove`.

        Raises:
            Exception: every exception of `prove` before the proof.
        """
        return plan_of_job(Job(self, data, **of_run(options)), self.device)

    def prepare(self, data: bytes | None = None, **options: Unpack[OptionsOfRun]) -> Prepared | PreparedShards:
        """Return the statement about a run on ``data``, with its traces and the shape of its proof.

        ``options`` and errors: as in `prove`.
        """
        return Job(self, data, **of_run(options)).prepared()

    def prove(self, data: bytes | None = None, **options: Unpack[OptionsOfRun]) -> AnyProof | MockProof:
        """Prove a run on ``data``, and verify the proof in this process.

        The workers of a cluster run the guest, too, or record windows of its run. The proof has the same bytes as one
        by `graphprover prove`. It is a `CompressedProof` if the prover compresses, and a mock proof, which proves
        nothing, of a prover with ``mock=True``. A notebook shows the progress below the cell.

        Args:
            data: The input.
            options: For a guest. ``commit_input``: whether the proof states the input. ``exit_code``: the exit code of
                the run, by default 0, or ``"any"``; a run with another one is not proved. ``max_cost``: the highest
                `cost` of the run; a run above it is not proved. ``random_seed``, ``max_cycles`` and ``max_memory``: as
                in `execute`; the seed is 0 with ``commit_input``.

        Raises:
            ProgramError: for an input that the program refuses.
            graphprover.statement.cost.CostLimit: for a run above ``max_cost``.
            GuestFault: if the run cannot go on.
            VerificationError: for another exit code (`graphprover.vm.executor.faults.OtherExitCode`), or a proof that
                does not convince.
            Exception: every exception of `graphprover.prove`.
        """
        if self.mock:
            return mock_proof(self, data, **of_run(options))
        return executor_of(self.executor, self.device).prove(Job(self, data, **of_run(options)), None)[0].proof

    def graph(self, data: bytes | None = None, **options: Unpack[OptionsOfRun]) -> "Delayed":
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
            options: As in `prove`.

        Raises:
            ValueError: if the proof is in several shards, which are drawn together between two graphs of each, or
                compressed.
            Exception: every exception of `prove` before the proof.
        """
        if self.layers:
            raise ValueError(f"{self.name}: a compressed proof is no single graph: use prove")
        prepared = Job(self, data, **of_run(options)).prepared(self.device)
        if isinstance(prepared, PreparedShards):
            raise ValueError(
                f"{self.name}: the proof is in {len(prepared.shards)} shards, which are no single graph: "
                "use prove, or a Prover with shards=1"
            )
        return graph_of(prepared, self.device)

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

    def job(self, data: bytes | Path | None = None, name: str = "", **options: Any) -> Job:
        """Return a job for `graphprover.prove_many`; the other options are the fields of `Job`."""
        return Job(self, data, name, **options)


def layers_of(
    level: Level, compress: bool | int | str | Sequence[int], pow_bits: int | None
) -> tuple[LayerLevel, ...] | Goal:
    """Return the level of each layer of a prover that compresses, or the goal for which they are chosen.

    Args:
        level: The level of the prover.
        compress: As `Prover` has it.
        pow_bits: The proof of work that is asked for, if one is.

    Raises:
        ValueError: for a rate or a goal that is not offered, or proofs that cannot be compressed.
    """
    from graphprover.prover.layers import check_hash  # here, because other proofs need no layers

    check_hash(level.hash)
    if compress is True or isinstance(compress, str):
        return goal_of(FAST_WORD if compress is True else compress, pow_bits)
    rates = (compress,) if isinstance(compress, int) else tuple(compress)
    check_layers(len(rates))
    return tuple(level.of_layer(rate=rate) for rate in rates)
