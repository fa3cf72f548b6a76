"""Jobs of the queue as the prover takes them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphprover.device import Device
from graphprover.graphs.progress import Tell
from graphprover.jobs.job import Job
from graphprover.jobs.opening import Packed, unpack
from graphprover.jobs.options import of_job, of_prover
from graphprover.jobs.programs import ProgramError
from graphprover.proving.prover import Prover
from graphprover.service.config import ServiceLimits
from graphprover.service.store import PROGRAMS, Store
from graphprover.vm.executor.debug import LastText
from graphprover.vm.executor.execute import DEFAULT_CYCLES, half_of_memory
from graphprover.vm.executor.faults import GuestFault, OtherExitCode
from graphprover.vm.executor.run_options import RunOptions

DAMAGED = "is damaged in the store: upload it and submit the job again"
CACHED_PROVERS = 16  # of the last programs with their options


class DamagedUpload(Exception):
    """A program or an input of the store that is not the one that was uploaded."""


@dataclass(frozen=True, eq=False)
class QueuedJob(Job):
    """A job with its place in the queue."""

    number: int = 0
    id: str = ""
    proof_key: str = ""

    @property
    def log_fields(self) -> Mapping[str, str]:
        """The id of the job."""
        return {"job": self.id}

    def recorded(self, by: Device | None, options: RunOptions) -> Any:
        """Return the run with its record; the error of one that failed has the end of the guest's debug text."""
        text = LastText()
        try:
            return super().recorded(by, options | RunOptions(debug=text))
        except (GuestFault, OtherExitCode) as error:
            if shown := text.shown():
                error.add_note(f"end of the debug text: {shown}")
            raise

    @property
    def weight(self) -> int:
        """Zero: jobs of equal priority run in order of submission, so none starves."""
        return 0


class Provers:
    """The provers of the last programs and options, each loaded once from the store."""

    def __init__(self, store: Store, limits: ServiceLimits) -> None:
        self._store, self._limits = store, limits
        self._prover = lru_cache(CACHED_PROVERS)(self._loaded)

    def job(
        self, row: Any, input: Path | None, progress: Tell | None = None, interrupt: Callable[[], None] | None = None
    ) -> QueuedJob:
        """Return the job of a row of the queue.

        Args:
            row: The row.
            input: The file of the input.
            progress: Called with the progress of a proof by this process.
            interrupt: Called between the steps of a job in this process; an exception ends it.

        Raises:
            FileNotFoundError: The program is not in the store.
            DamagedUpload: Program or input are damaged.
            ProgramError: The program is invalid.
            ValueError: An option is invalid.
        """
        if input and not _has_digest(input, row.input):
            raise DamagedUpload(f"its input {DAMAGED}")
        options: Mapping[str, Any] = row.options
        own = {name: tuple(value) if isinstance(value, list) else value for name, value in of_prover(options).items()}
        return QueuedJob(
            self._prover(row.program, row.program_name, tuple(own.items())),
            input,
            row.name,
            **of_job({**options, **self._of_run(options)}),
            priority=row.priority,
            timeout=min(filter(None, (row.timeout, self._limits.timeout)), default=None),
            progress=progress,
            interrupt=interrupt,
            number=row.number,
            id=row.id,
            proof_key=row.proof_key,
        )

    def _of_run(self, options: Mapping[str, Any]) -> dict[str, int]:
        """Return the limits of a job's run, within the ones of the service; without one it has the usual limit."""
        usual = {"max_cycles": DEFAULT_CYCLES, "max_memory": half_of_memory() >> 20}
        most = {name: getattr(self._limits, name) for name in usual}
        return {name: min(options.get(name, usual[name]), most[name]) for name in usual if most[name] is not None}

    def _loaded(self, program: str, name: str, options: tuple[tuple[str, Any], ...]) -> Prover:
        packed = Packed(name, f"{name} {program}", (("", self._store.upload(PROGRAMS, program)),))
        try:
            found = unpack(packed)
        except ProgramError as error:  # it was a program when it was uploaded
            raise DamagedUpload(f"its program {DAMAGED}: {error}") from error
        if found.program_hash != program:
            raise DamagedUpload(f"its program {DAMAGED}")
        return Prover(found, debug=None, **dict(options))


def _has_digest(path: Path, digest: str) -> bool:
    """Return whether a file has this SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest
