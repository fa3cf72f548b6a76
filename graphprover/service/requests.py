"""The JSON of requests and answers, which OpenAPI describes."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from sqlalchemy import Row

from graphprover.jobs.option import Option, wrong_value
from graphprover.jobs.options import BY_NAME, QUEUE, SERVICE, conflict, in_keys, options_of
from graphprover.protocol.goal import FAST_WORD
from graphprover.service.config import ServiceLimits
from graphprover.service.problems import Problem

_CAPPED = {"max_cycles": "--max-cycles", "max_memory": "--max-memory", "timeout": "--max-seconds"}
_HASH = r"^[0-9a-f]{64}$"
_LINE = r"^[^\x00-\x1f\x7f-\x9f]*$"  # without control characters


def _field(option: Option) -> tuple[Any, Any]:
    """Return the type and the description of an option's field."""
    default = f" Default: {in_keys(option.usual)}." if option.usual else ""
    only = "Guests only. " * option.guests
    described = f"{only}{in_keys(option.help)}{default}"
    choices: dict[str, Any] = {"enum": [*option.values.choices, None]} if option.values.choices else {}
    return option.values.type | None, Field(None, description=described, json_schema_extra=choices)


if TYPE_CHECKING:

    class _Options(BaseModel):
        """The fields of the options, of which the code here names two."""

        priority: int | None
        timeout: float | None

else:
    _Options = create_model("_Options", **{option.name: _field(option) for option in options_of(SERVICE)})


class JobRequest(_Options):
    """A job: the options are the keys of a [[job]] in a batch file, with the same meaning."""

    model_config = ConfigDict(extra="forbid", strict=True)

    program: str = Field(pattern=_HASH, description="Hash of an uploaded program.")
    input: str | None = Field(None, pattern=_HASH, description="SHA-256 of an uploaded input. None: no input.")
    name: str | None = Field(None, max_length=200, pattern=_LINE, description=BY_NAME["name"].help)
    callback: str | None = Field(None, max_length=2000, description=BY_NAME["callback"].help)

    def check_limits(self, limits: ServiceLimits) -> None:
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
        given = self.model_dump(include=set(BY_NAME), exclude_none=True)
        for name, value in given.items():
            if error := wrong_value(BY_NAME[name], value):
                raise Problem(422, error, "correct the option; docs/options.md has its values")
        if found := conflict(given):
            raise Problem(422, in_keys(": ".join(found)), "give only options that fit each other")
        if layers := given.get("compress"):
            given["compress"] = FAST_WORD if layers is True else [layers] if isinstance(layers, int) else layers
        return {
            option.name: given[option.name]
            for option in options_of(SERVICE)
            if option.group != QUEUE and given.get(option.name, option.default) != option.default
        }


class Uploaded(BaseModel):
    """A program or an input in the store."""

    hash: str = Field(description="By which a job names it.")
    size: int = Field(description="Bytes.")


class JobStatus(BaseModel):
    """A job and its state. Times are seconds since 1970."""

    id: str
    state: str = Field(description="queued, running, done, failed or cancelled.")
    name: str
    program: str = Field(description="Hash of the program.")
    program_name: str
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


class JobCounts(BaseModel):
    """The number of your jobs by state."""

    queued: int
    running: int
    done: int
    failed: int
    cancelled: int


class JobPosition(BaseModel):
    """The place of a job in the queue."""

    jobs_before: int = Field(description="Jobs of all clients that wait and are next before this one.")


class Bytes(BaseModel):
    """Some bytes."""

    hex: str
    bytes: int


class StatedRun(BaseModel):
    """What a proof states: some input makes the program end like this."""

    output: Bytes
    exit_code: int
    cycles: int
    input: Bytes | None = Field(description="Of a job with commit_input.")


class JobClaim(BaseModel):
    """The public statement of a proof, and the facts of the proof."""

    program: str = Field(description="Hash of the program.")
    label: str = Field(description="Name of the program in the proof.")
    says: StatedRun
    security_bits: float = Field(description="Provable bits, as the job asked for.")
    parameters: dict[str, int | str]
    shards: int = Field(description="1 of a proof that is not in shards.")
    layers: list[dict[str, int | str]] = Field(description="Parameters of each layer of a compressed proof.")
    proof_bytes: int
    proof_sha256: str


class JobReport(BaseModel):
    """How a proof was made."""

    seconds: dict[str, float] = Field(description="By stage: prepare, wait, prove, compress, verify.")
    compile_seconds: float = Field(description="Of prepare and prove, in which kernels were compiled.")
    cycles: int | None
    cycles_per_second: float | None = Field(description="Of prepare and prove, without compile_seconds.")
    misaligned_accesses: int | None
    cells: int = Field(description="Committed cells.")
    cost: int | None = Field(description="Cost number of the run; null if the layout of the proof does not give it.")
    peak_bytes: int = Field(description="Planned memory of the device.")
    base_bytes: int | None = Field(description="Of the proof that was compressed.")
    shards: list[dict[str, float]] = Field(description="Seconds of each shard by stage, if they were made in turn.")
    worker: str | None
    attempts: int


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
