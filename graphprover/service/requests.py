"""The JSON of requests and answers, which OpenAPI describes."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Row

from graphprover.cli.batch_keys import conflict, wrong_value
from graphprover.protocol.level import LAYER_RATE
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.service.config import Limits
from graphprover.service.problems import Problem

# Options that neither decide the proof nor whether there is one.
_OF_QUEUE = ("priority", "timeout")
_DEFAULTS = {
    "security": 128,
    "proximity": JOHNSON_PROXIMITY,
    "hash": DEFAULT_HASH,
    "compress": False,
    "exit_code": 0,
    "commit_input": False,
}
_CAPPED = {"max_cycles": "--max-cycles", "max_memory": "--max-memory", "timeout": "--max-seconds"}
_HASH = r"^[0-9a-f]{64}$"
_LINE = r"^[^\x00-\x1f\x7f-\x9f]*$"  # without control characters


class JobRequest(BaseModel):
    """A job: the options are the keys of a [[job]] in a batch file, with the same meaning."""

    model_config = ConfigDict(extra="forbid", strict=True)

    program: str = Field(pattern=_HASH, description="Hash of an uploaded program.")
    input: str | None = Field(None, pattern=_HASH, description="SHA-256 of an uploaded input. None: no input.")
    name: str | None = Field(
        None, max_length=200, pattern=_LINE, description="A name for people. Default: the program's."
    )
    callback: str | None = Field(
        None, max_length=2000, description="URL that gets a POST with the job when it has ended; see --callback-host."
    )
    priority: int | None = Field(None, description="From -1000 to 1000. Jobs with a higher one are next. Default: 0.")
    timeout: float | None = Field(None, description="Seconds in which the job must be proved, from its start.")
    security: float | None = Field(None, description="Provable security in bits. Default: 128.")
    proximity: str | None = Field(None, description="johnson (default) or unique: the soundness analysis.")
    hash: str | None = Field(None, description="blake3 (default) or keccak.")
    rate: int | None = Field(None, description="N of the rate 1/N: 2, 4, 8, 16, 32 or 64. Default: chosen.")
    pow_bits: int | None = Field(None, description="Bits of proof of work before the queries, from 0 to 28.")
    small: float | None = Field(None, description="Seconds for the smallest proof, instead of a rate.")
    shards: int | None = Field(None, description="Number of shards. Default: as many as fit the device.")
    shard_size: int | None = Field(None, description="Cycles of a shard, instead of shards.")
    compress: bool | int | list[int] | None = Field(
        None, description="true, N of the layer's rate 1/N, or a list with one N for each layer."
    )
    exit_code: int | str | None = Field(None, description='Exit code that the run must have, or "any". Default: 0.')
    commit_input: bool | None = Field(None, description="Whether the proof states the input (at most 64 KiB).")
    random_seed: int | None = Field(None, description="Seed of the guest's random numbers. Default: by the input.")
    max_cycles: int | None = Field(None, description="Most cycles of the run. Default: 2^30.")
    max_memory: int | None = Field(None, description="Most MiB of the run. Default: half of the host's memory.")
    max_cost: int | None = Field(None, description="Highest cost number of the run.")

    def check_limits(self, limits: Limits) -> None:
        """Raise Problem if the job may take more than the operator permits."""
        for name, option in _CAPPED.items():
            given, most = getattr(self, name), getattr(limits, name)
            if None not in (given, most) and given > most:
                problem = f"{name}: {given:,} is more than {most:,}, the limit of this service ({option})"
                raise Problem(422, problem, "give at most that, or leave it out")

    def options(self) -> dict[str, Any]:
        """Return the options that decide the proof, without defaults, so that equal proofs have equal options.

        Raises:
            Problem: An option is invalid, or two exclude each other.
        """
        given = self.model_dump(exclude={"program", "input", "callback", "name"}, exclude_none=True)
        for key, value in given.items():
            if error := wrong_value(key, value):
                raise Problem(422, error, "correct the option; docs/cli.md#batch has its values")
        if found := conflict(given):
            raise Problem(422, ": ".join(found), "give only options that fit each other")
        if layers := given.get("compress"):
            given["compress"] = layers if isinstance(layers, list) else [LAYER_RATE if layers is True else layers]
        return {key: value for key, value in given.items() if key not in _OF_QUEUE and value != _DEFAULTS.get(key)}


class Uploaded(BaseModel):
    """A program or an input in the store."""

    hash: str = Field(description="By which a job names it.")
    size: int = Field(description="Bytes.")


class JobStatus(BaseModel):
    """A job and its state. Times are seconds since 1970."""

    id: str
    state: str = Field(description="queued, running, done, failed or cancelled.")
    name: str
    program: str
    input: str | None
    options: dict[str, Any]
    priority: int
    timeout: float | None
    created: float
    started: float | None
    ended: float | None
    attempts: int = Field(description="Starts by a prover process.")
    worker: str | None = Field(description="Address of the cluster's worker.")
    progress: dict[str, Any] | None = Field(description="tasks_ended, tasks and task; null on a cluster.")
    problem: str | None = Field(description="Why the job failed.")
    from_store: bool = Field(description="Whether the proof was in the store before.")
    callback: str | None


class JobList(BaseModel):
    """Jobs, the newest first."""

    jobs: list[JobStatus]
    next: int | None = Field(description="The query parameter before for the next page.")


class LimitsBody(BaseModel):
    """The limits of the service. Null is no limit."""

    program_bytes: int = Field(description="Of an uploaded program.")
    input_bytes: int = Field(description="Of an uploaded input.")
    queued_jobs: int = Field(description="Of all clients.")
    queued_jobs_per_client: int | None = Field(description="Of one token.")
    max_cycles: int | None = Field(description="Of a job, also of one that gives none.")
    max_memory: int | None = Field(description="MiB of a job, also of one that gives none.")
    timeout: float | None = Field(description="Seconds of a job, also of one that gives none.")


class ProblemBody(BaseModel):
    """An error."""

    problem: str
    remedy: str


def status_of(row: Row[Any]) -> dict[str, Any]:
    """Return a job as `JobStatus` describes it."""
    fields = row._mapping
    return {name: fields[name] for name in JobStatus.model_fields}
