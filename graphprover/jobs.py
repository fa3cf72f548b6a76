"""Proofs to make, as they are asked for and as they travel: a program to be proved again and again, and runs of it."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from graphprover.device import Device
from graphprover.envelope import Proof
from graphprover.graphs.executor_names import THREADS
from graphprover.programs import Program, open_program
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.prover import Made, Prepared
from graphprover.verifier import Verdict
from graphprover.vm.execute import Execution
from graphprover.vm.guest import Guest, Limits
from graphprover.vm.key import Key

ANY = "any"  # exit code


class Prover:
    """A program and the options of its proofs: loaded once, proved on as many inputs as you like.

    ``program``: what `graphprover prove` takes, a path or ``examples/NAME``, or one that is open. It travels to workers
    as bytes: the ELF file, or the sources of a ``.py`` program.
    """

    def __init__(
        self,
        program: str | os.PathLike[str] | Program | Guest,
        *,
        security: float = 128,
        rate: int = 2,
        proximity: str = JOHNSON_PROXIMITY,
        executor: Any = THREADS,
        device: Device | str = "auto",
    ) -> None:
        self.program = program if isinstance(program, Program | Guest) else open_program(os.fspath(program))
        self.security, self.rate, self.proximity = security, rate, proximity
        self.executor, self.device = executor, device

    def execute(self, data: bytes = b"", **limits: Unpack[Limits]) -> Execution:
        """Run a guest without a proof."""
        raise NotImplementedError

    def prove(
        self,
        data: bytes | None = None,
        *,
        state_input: bool = False,
        exit_code: int | str = 0,
        **limits: Unpack[Limits],
    ) -> Proof:
        """Prove a run on ``data``; by an executor that is a cluster, one of its workers runs the guest, too."""
        raise NotImplementedError

    def verify(self, proof: Proof | bytes) -> Verdict:
        """Verify a proof of this program."""
        raise NotImplementedError

    def key(self) -> Key:
        """The verifying key of a guest."""
        raise NotImplementedError

    def job(self, data: bytes | Path | None = None, name: str = "", **options: Any) -> "Job":
        """A run to be proved later, by `graphprover.prove_many`."""
        return Job(self, data, name, **options)


@dataclass(frozen=True, eq=False)
class Job:
    """A run of a program that is to be proved."""

    prover: Prover
    data: bytes | Path | None = None  # the input, or its file, which is read when the job is sent
    name: str = ""  # for people: in logs and on the dashboard; the program's label if empty
    state_input: bool = False  # the proof of a guest states its input
    exit_code: int | str = 0  # of a guest: another one is an error, unless this is `ANY`
    limits: Limits = field(default_factory=Limits)  # of a guest's run
    existing: Path | None = None  # a proof that is there: where it verifies and says the same, none is made

    def prepared(self) -> Prepared:
        """The statement about this run with its traces: executes the guest."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a job: a proof, verified by whoever made it, or an error."""

    job: Job
    proof: Proof | None
    error: Exception | None
    made: Made | None  # how it was made
    worker: str = ""  # the address of the worker that made it; empty in this process
    tries: int = 1
    kept: bool = False  # the proof was there, and is good

    @property
    def seconds(self) -> Mapping[str, float]:
        """What it took, by stage; empty where there is no proof."""
        return self.made.seconds if self.made else {}
