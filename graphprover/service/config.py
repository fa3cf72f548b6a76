"""The configuration of a service."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from graphprover.proving.settings import ProvingSettings


@dataclass(frozen=True)
class ServiceLimits:
    """The most that clients may send, and that their jobs may take."""

    program_bytes: int = 32 << 20
    input_bytes: int = 64 << 20
    queued_jobs: int = 100_000
    queued_jobs_per_client: int | None = None  # of one token
    max_cycles: int | None = None  # of the run of a job; None: no limit but the job's own, here and below
    max_memory: int | None = None  # of the run, in MiB
    timeout: float | None = None  # seconds of the job


@dataclass(frozen=True)
class ProverConfig:
    """The configuration of a prover process, which `supervisor` sends it as a line of JSON."""

    id: str
    database: str  # as of `Config`, and so are the others
    store: str
    inputs: str
    proving: ProvingSettings
    limits: ServiceLimits
    umask: int

    def to_json(self) -> str:
        """Return the line."""
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, line: bytes) -> "ProverConfig":
        """Return the configuration of a line."""
        given = json.loads(line)
        nested = {"proving": ProvingSettings(**given["proving"]), "limits": ServiceLimits(**given["limits"])}
        return cls(**given | nested)


@dataclass(frozen=True)
class Config:
    """The configuration of a service."""

    folder: Path  # of files of this host; one service uses it
    database: str  # URL of SQLAlchemy
    store: str  # URL or folder of fsspec
    proving: ProvingSettings  # of the prover process
    is_local: bool  # whether only this host can connect
    tokens: dict[str, str]  # digests of the tokens by name; none: anybody may do anything
    limits: ServiceLimits = ServiceLimits()
    attempts: int = 3  # starts of a job whose prover process dies
    keep_days: float | None = None  # how long ended jobs and their proofs stay; None: for ever
    callback_hosts: frozenset[str] = frozenset()  # HOST or HOST:PORT of callbacks
    umask: int = 0o077  # of the prover process, whose compiled kernels are for other users, too

    @property
    def inputs(self) -> Path:
        """The folder for the inputs of jobs that the prover process has taken."""
        return self.folder / "taken"

    @property
    def received(self) -> Path:
        """The folder for uploads that are arriving."""
        return self.folder / "received"

    def of_prover(self, id: str) -> ProverConfig:
        """Return the configuration of a prover process with this id."""
        inputs = str(self.inputs)
        return ProverConfig(id, self.database, self.store, inputs, self.proving, self.limits, self.umask)
