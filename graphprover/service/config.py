"""The configuration of a service."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """The most that clients may send, and that their jobs may take."""

    program_bytes: int = 32 << 20
    input_bytes: int = 64 << 20
    queued_jobs: int = 100_000
    queued_jobs_per_client: int | None = None  # of one token
    max_cycles: int | None = None  # of the run of a job; None: no limit but the job's own, here and below
    max_memory: int | None = None  # of the run, in MiB
    timeout: float | None = None  # seconds of the job


@dataclass(frozen=True)
class Prover:
    """How a prover process proves: the options of `graphprover.cli.executor`."""

    executor: str
    device: str
    pool: str | float | None = None
    memory_limit: str | float | None = None
    workers: int | None = None
    mps: bool | None = None
    dashboard: str | None = None


@dataclass(frozen=True)
class Config:
    """The configuration of a service."""

    folder: Path  # of files of this host; one service uses it
    database: str  # URL of SQLAlchemy
    store: str  # URL or folder of fsspec
    prover: Prover
    is_local: bool  # whether only this host can connect
    tokens: dict[str, str]  # digests of the tokens by name; none: anybody may do anything
    limits: Limits = Limits()
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
